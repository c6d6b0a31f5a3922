//! One tool call on its way from the model's proposal to its end.

use r1_event::{Digest, UnixNanos};
use serde_json::Value;

use crate::tool::Prepared;

/// A call that the model proposed in its last turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The model's own id of it.
    pub call_id: String,
    /// Which tool.
    pub tool: String,
    /// With what, as the log has it; changed if an approver changed it.
    pub input: Value,
    /// Whether an approver changed it.
    pub edited: bool,
    /// Whether the log's form lacks a secret that the real one has.
    pub redacted: bool,
    /// The event that proposed it, then the one that invoked it.
    pub event_id: String,
    /// What it would do, if it has been worked out; `Err` if that failed.
    pub prepared: Option<Result<Prepared, String>>,
    /// Whether policy let it pass and said so.
    pub allowed: bool,
    /// How often it was invoked.
    pub attempts: u64,
    /// How far it has come.
    pub stage: Stage,
    /// What the model hears, once it is closed.
    pub answer: Option<(Value, bool)>,
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The model asked for it.
    Proposed,
    /// A person is asked.
    Waiting {
        /// The question's id.
        approval_id: String,
        /// What exactly was shown.
        subject_hash: Digest,
        /// When the question lapses.
        expires_at: Option<UnixNanos>,
        /// Whether only a person may answer.
        human_only: bool,
    },
    /// A person said yes.
    Approved,
    /// It was invoked, and nobody knows yet how it ends.
    Running {
        /// When it was invoked.
        since: UnixNanos,
        /// Whether it began: before that, it has done nothing.
        began: bool,
    },
    /// It was cut off by a crash, may be repeated, and will be.
    Reissue,
    /// It is over: `answer` says what the model hears.
    Closed,
}

impl Call {
    /// Whether the loop still waits for it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.stage != Stage::Closed
    }

    /// Ends it with what the model hears.
    pub(super) fn close(&mut self, content: Value, is_error: bool) {
        self.stage = Stage::Closed;
        self.answer = Some((content, is_error));
    }
}
