//! The one shape of every error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiErrorBody {
    /// The error.
    pub error: ErrorObject,
}

/// What went wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorObject {
    /// A word for programs.
    pub code: ErrorCode,
    /// A sentence for people.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Which parts of the request, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<ErrorDetail>,
    /// Whether the same request may work later.
    pub retriable: bool,
    /// Leads to the server's own log.
    pub request_id: String,
}

/// One part of a request that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// A JSON Pointer into the body, or `?name` for a query parameter.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request is not as it must be.
    Validation,
    /// There is no such thing.
    NotFound,
    /// It does not fit the state of things.
    Conflict,
    /// Logs only grow, and finished ones not at all.
    AppendOnlyViolation,
    /// Not with this token, or from this place.
    PermissionDenied,
    /// A budget or quota is used up.
    BudgetExceeded,
    /// It took too long; nothing was done.
    Timeout,
    /// The node starts, recovers or drains.
    CrashRecovery,
    /// A version that this build does not know.
    SchemaVersion,
    /// Our fault.
    Internal,
}

impl ErrorCode {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Validation,
        Self::NotFound,
        Self::Conflict,
        Self::AppendOnlyViolation,
        Self::PermissionDenied,
        Self::BudgetExceeded,
        Self::Timeout,
        Self::CrashRecovery,
        Self::SchemaVersion,
        Self::Internal,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::AppendOnlyViolation => "append_only_violation",
            Self::PermissionDenied => "permission_denied",
            Self::BudgetExceeded => "budget_exceeded",
            Self::Timeout => "timeout",
            Self::CrashRecovery => "crash_recovery",
            Self::SchemaVersion => "schema_version",
            Self::Internal => "internal",
        }
    }

    /// The HTTP status that it has where nothing more exact is known.
    #[must_use]
    pub const fn usual_status(self) -> u16 {
        match self {
            Self::Validation => 400,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::AppendOnlyViolation => 423,
            Self::PermissionDenied => 403,
            Self::BudgetExceeded => 402,
            Self::Timeout => 504,
            Self::CrashRecovery => 503,
            Self::SchemaVersion => 422,
            Self::Internal => 500,
        }
    }
}
