//! Models, wherever they are served.
//!
//! [`open()`] turns a [`ProviderSpec`] into a [`Provider`]. Four wire formats and a [`Scenario`] that is
//! played from a file; each makes one attempt, and none of them keeps a key where it could be seen.

mod answer;
mod anthropic;
mod conversation;
mod gemini;
mod http;
mod key;
mod open;
mod openai_chat;
mod openai_responses;
mod params;
mod remote;
mod scripted;
mod spec;
pub mod sse;

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::model::{Delta, ModelRequest, ModelResponse};

pub use http::HttpError;
pub use key::{Environment, KeyError, KeySource, Secret};
pub use open::{OpenError, open};
pub use scripted::{
    Failure, Scenario, ScenarioError, Scripted, ScriptedCall, ScriptedStop, ScriptedTurn, ScriptedUsage,
};
pub use spec::{HeaderSource, ProviderSpec, Timeouts, Wire};

/// Speaks one vendor's wire format.
pub trait Provider: Send + Sync {
    /// Its name in logs and settings: `anthropic`, `openai`, `scripted`, …
    fn id(&self) -> &str;

    /// Whether an attachment of this type reaches the model as what it is. Otherwise the model is told its
    /// name and, if it is text, its content.
    fn takes(&self, mime: &str) -> bool {
        mime.starts_with("text/")
            || matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf")
    }

    /// Makes one call and streams it: pieces go to `deltas` as they come, the whole answer is returned.
    ///
    /// One attempt: retrying is the loop's, because each failed attempt is an event. Dropping the
    /// future ends the call.
    fn call<'a>(
        &'a self,
        request: ModelRequest,
        deltas: mpsc::Sender<Delta>,
    ) -> BoxFuture<'a, Result<ModelResponse, ProviderError>>;
}

/// A model call that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure.
    pub kind: ProviderFailure,
    /// HTTP status; 0 if there was no answer.
    pub status: u16,
    /// What the provider said, or what went wrong on the way. Never holds a key.
    pub message: String,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// Why a model call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFailure {
    /// No connection, or one that was cut in the middle of the answer.
    Unreachable,
    /// Nothing came for too long.
    Timeout,
    /// Asked too much or too often, or the provider is in trouble: try again later.
    Overloaded,
    /// The request will never be taken as it is.
    Rejected,
    /// No key, or one that is not accepted.
    Unauthorized,
    /// The answer makes no sense.
    Malformed,
}

impl ProviderFailure {
    /// Whether the same request may succeed later.
    #[must_use]
    pub const fn is_retriable(self) -> bool {
        match self {
            Self::Unreachable | Self::Timeout | Self::Overloaded | Self::Malformed => true,
            Self::Rejected | Self::Unauthorized => false,
        }
    }

    /// The code of a run that fails with it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unreachable => "model_unreachable",
            Self::Timeout => "model_timeout",
            Self::Overloaded | Self::Rejected | Self::Unauthorized | Self::Malformed => "model_error",
        }
    }
}
