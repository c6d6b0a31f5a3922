//! What a gate says.

use std::fmt;

use r1_protocol::data::GateVerdict;
use r1_protocol::review::Review;

/// The answer of one gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether the task may go on.
    pub verdict: GateVerdict,
    /// Why.
    pub reason: Reason,
    /// 0 to 1000, where something was measured.
    pub score: Option<u64>,
    /// All that it saw, without secrets. Empty if there is nothing to show.
    pub evidence: String,
    /// SHA-256 of what it was asked about: gate, version, configuration and tree.
    pub inputs_hash: String,
    /// How long it took.
    pub duration_ms: u64,
    /// What it ran, without secrets.
    pub command: Option<String>,
    /// What that returned; absent if it did not end by itself.
    pub exit_code: Option<i64>,
    /// Of the composite: gates that have no score.
    pub excluded: Vec<String>,
    /// What a model has used that was asked for it.
    pub review: Option<Review>,
}

/// Why a gate says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It found enough.
    Passed,
    /// It found too little, and is no blocker.
    Advisory,
    /// It found too little.
    BelowThreshold,
    /// There is nothing that it could judge.
    NothingToCheck,
    /// It has not been told what to run.
    NotConfigured,
    /// Its command ran no test.
    NoTestsRan,
    /// Its command took too long.
    Timeout,
    /// There is a secret.
    Finding,
    /// A rule forbids what comes next.
    DeniedByPolicy,
    /// A rule wants a person to decide.
    AskByPolicy,
    /// No model of another family is there to review.
    NoCrossFamilyReviewer,
    /// The reviewer is of the author's family.
    SameFamily,
    /// The files are not those that were looked at.
    TreeChanged,
    /// A protected file would be changed.
    ProtectedPath,
    /// A file outside of the scope would be changed.
    OutOfScope,
    /// All gates together found too little.
    CompositeBelow,
    /// The gate itself failed.
    GateError,
    /// A person decided otherwise.
    Overridden,
}

impl Reason {
    /// The `reason_code` in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Advisory => "advisory",
            Self::BelowThreshold => "below_threshold",
            Self::NothingToCheck => "nothing_to_check",
            Self::NotConfigured => "not_configured",
            Self::NoTestsRan => "no_tests_ran",
            Self::Timeout => "timeout",
            Self::Finding => "finding",
            Self::DeniedByPolicy => "denied_by_policy",
            Self::AskByPolicy => "ask_by_policy",
            Self::NoCrossFamilyReviewer => "no_cross_family_reviewer",
            Self::SameFamily => "same_family",
            Self::TreeChanged => "tree_changed",
            Self::ProtectedPath => "protected_path",
            Self::OutOfScope => "out_of_scope",
            Self::CompositeBelow => "composite_below",
            Self::GateError => "gate_error",
            Self::Overridden => "overridden",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
