//! Lines that tell of the process rather than of an event: they are printed live, and no log has them.

use r1_event::UnixNanos;
use serde_json::json;

use super::line::{process_line, timestamp, uuid_v4};
use crate::data::Object;

/// What such a line says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub ts: UnixNanos,
    /// What its id is made of.
    pub random: [u8; 16],
    /// The run, if there is one yet.
    pub session_id: Option<String>,
}

/// What went wrong, as far as a program needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after its word")]
pub enum ErrorKind {
    Usage,
    PlanMissing,
    PlanParse,
    UnsupportedIntent,
    MalformedReply,
    UnknownApproval,
    AlreadyResolved,
    AmbiguousReply,
    BudgetExhausted,
    Upstream,
    ToolUnavailable,
    CapabilityMissing,
    Store,
    Internal,
}

impl ErrorKind {
    /// The word on the line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::PlanMissing => "plan_missing",
            Self::PlanParse => "plan_parse",
            Self::UnsupportedIntent => "unsupported_intent",
            Self::MalformedReply => "malformed_reply",
            Self::UnknownApproval => "unknown_approval",
            Self::AlreadyResolved => "already_resolved",
            Self::AmbiguousReply => "ambiguous_reply",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Upstream => "upstream",
            Self::ToolUnavailable => "tool_unavailable",
            Self::CapabilityMissing => "capability_missing",
            Self::Store => "store",
            Self::Internal => "internal",
        }
    }
}

/// How a process that worked on a run ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Its exit code.
    pub exit_code: u8,
    /// Whether it failed because a criterion or a gate did.
    pub check_failed: bool,
    /// The digest of the run's receipt, if it has one.
    pub receipt_digest: Option<String>,
}

impl Completion {
    /// The same in a word.
    const fn subtype(&self) -> &'static str {
        match self.exit_code {
            0 => "success",
            1 if self.check_failed => "error_ac_failed",
            1 => "error_run_failed",
            2 | 4 => "error_budget_or_usage",
            3 => "error_operator_abort",
            130 => "error_sigint",
            143 => "error_sigterm",
            _ => "error_unknown",
        }
    }
}

/// The last line of all: how the process ends.
#[must_use]
pub fn complete(moment: Moment, completion: Completion) -> Vec<u8> {
    let mut object = Object::new();
    object.insert("subtype".into(), completion.subtype().into());
    object.insert("_stoke.dev/exit_code".into(), completion.exit_code.into());
    if let Some(digest) = completion.receipt_digest {
        object.insert("_stoke.dev/receipt_digest".into(), digest.into());
    }
    stamped(object, "complete", moment)
}

/// Something went wrong that is in no log.
#[must_use]
pub fn error(moment: Moment, kind: ErrorKind, message: &str) -> Vec<u8> {
    stamped(error_body(kind, message), "error", moment)
}

/// Lines were left out for a reader that was too slow.
#[must_use]
pub fn dropped(moment: Moment, count: u64, first_seq: u64, last_seq: u64) -> Vec<u8> {
    let mut object = Object::new();
    object.insert("subtype".into(), "stream.dropped".into());
    object.insert("_stoke.dev/count".into(), count.into());
    object.insert("_stoke.dev/first_seq".into(), first_seq.into());
    object.insert("_stoke.dev/last_seq".into(), last_seq.into());
    stamped(object, "system", moment)
}

pub(super) fn error_body(kind: ErrorKind, message: &str) -> Object {
    let mut object = Object::new();
    if kind == ErrorKind::BudgetExhausted {
        object.insert("subtype".into(), kind.as_str().into());
    }
    object.insert("_stoke.dev/kind".into(), kind.as_str().into());
    if !message.is_empty() {
        object.insert("_stoke.dev/message".into(), message.into());
    }
    object
}

fn stamped(mut object: Object, type_name: &str, moment: Moment) -> Vec<u8> {
    let Moment { ts, random, session_id } = moment;
    object.insert("type".into(), type_name.into());
    object.insert("ts".into(), json!(timestamp(ts)));
    object.insert("uuid".into(), uuid_v4(random).into());
    if let Some(session_id) = session_id {
        object.insert("session_id".into(), session_id.into());
    }
    process_line(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment() -> Moment {
        Moment { ts: UnixNanos(1), random: [0xff; 16], session_id: None }
    }

    #[test]
    fn a_process_says_how_it_ends() {
        let completion = Completion { exit_code: 3, ..Completion::default() };
        let line = String::from_utf8(complete(moment(), completion)).unwrap();
        assert_eq!(
            line,
            "{\"_stoke.dev/exit_code\":3,\"subtype\":\"error_operator_abort\",\
             \"ts\":\"1970-01-01T00:00:00.000000001Z\",\"type\":\"complete\",\
             \"uuid\":\"ffffffff-ffff-4fff-bfff-ffffffffffff\"}\n"
        );
    }

    #[test]
    fn stoke_05_every_exit_code_has_its_word() {
        let words = [
            (0, "success"),
            (1, "error_run_failed"),
            (2, "error_budget_or_usage"),
            (3, "error_operator_abort"),
            (4, "error_budget_or_usage"),
            (130, "error_sigint"),
            (141, "error_unknown"),
            (143, "error_sigterm"),
        ];
        for (exit_code, word) in words {
            assert_eq!(Completion { exit_code, ..Completion::default() }.subtype(), word);
        }
        let failed = Completion { exit_code: 1, check_failed: true, receipt_digest: Some("ab".into()) };
        assert_eq!(failed.subtype(), "error_ac_failed");
        let line = String::from_utf8(complete(moment(), failed)).unwrap();
        assert!(line.contains(r#""_stoke.dev/receipt_digest":"ab""#), "{line}");
    }
}
