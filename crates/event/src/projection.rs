//! Which event-protocol type each kind of event is served as.

use std::borrow::Cow;

use bytes::Bytes;

use crate::cbor::scan::{self, Rules};
use crate::kind::Kind;
use crate::payload::{Payload, UnfitPayload};
use crate::record::Version;

/// Types that the kinds 2–16 project to. A Typed event may carry none of them, so that no Typed event
/// can pose as a terminal one.
const RESERVED: &[(&str, Kind)] = &[
    ("user.message", Kind::UserMessageAppended),
    ("turn.started", Kind::TurnStarted),
    ("assistant.thinking_complete", Kind::ReasoningEmitted),
    ("turn.completed", Kind::AssistantMessageCompleted),
    ("tool.invoked", Kind::ToolCallScheduled),
    ("tool.completed", Kind::ToolCallCompleted),
    ("tool.failed", Kind::ToolCallFailed),
    ("tool.timed_out", Kind::ToolCallFailed),
    ("tool.cancelled", Kind::ToolCallFailed),
    ("run.side_effect", Kind::SideEffectRecorded),
    ("cost.budget_exceeded", Kind::BudgetExceeded),
    ("run.context_truncated", Kind::ContextTruncated),
    ("run.finished", Kind::RunCompleted),
    ("run.failed", Kind::RunFailed),
    ("run.cancelled", Kind::RunCancelled),
    ("run.resumed", Kind::RunResumed),
    ("turn.failed", Kind::TurnFailed),
];

/// The kind that owns `type_name`, if one of 2–16 does.
#[must_use]
pub fn reserved_for(type_name: &str) -> Option<Kind> {
    RESERVED.iter().find_map(|(name, kind)| (*name == type_name).then_some(*kind))
}

/// Whether an event of this kind in a v2 log can be one that is served as `type_name`.
#[must_use]
pub fn may_be_served_as(kind: Kind, type_name: &str) -> bool {
    match kind {
        Kind::RunStarted => matches!(type_name, "run.queued" | "run.resumed_from_event"),
        Kind::Typed => reserved_for(type_name).is_none(),
        Kind::Other(_) => type_of(Version::V2, kind, None) == type_name,
        Kind::UserMessageAppended
        | Kind::TurnStarted
        | Kind::ReasoningEmitted
        | Kind::AssistantMessageCompleted
        | Kind::ToolCallScheduled
        | Kind::ToolCallCompleted
        | Kind::ToolCallFailed
        | Kind::SideEffectRecorded
        | Kind::BudgetExceeded
        | Kind::ContextTruncated
        | Kind::RunCompleted
        | Kind::RunFailed
        | Kind::RunCancelled
        | Kind::RunResumed
        | Kind::TurnFailed => reserved_for(type_name) == Some(kind),
    }
}

/// The event-protocol type that an event is served as.
///
/// Some kinds have several, which only the payload tells apart; without it they get their plainest.
#[must_use]
pub fn type_of(version: Version, kind: Kind, payload: Option<&Bytes>) -> Cow<'static, str> {
    let decoded = || payload.and_then(|bytes| Payload::decode(kind, bytes).ok());
    Cow::Borrowed(match kind {
        Kind::RunStarted => match (version, decoded()) {
            (Version::V1, _) => "run.started",
            (Version::V2, Some(Payload::RunStarted(body))) if body.resumed_from.is_some() => "run.resumed_from_event",
            (Version::V2, _) => "run.queued",
        },
        Kind::UserMessageAppended => "user.message",
        Kind::TurnStarted => "turn.started",
        Kind::ReasoningEmitted => "assistant.thinking_complete",
        Kind::AssistantMessageCompleted => "turn.completed",
        Kind::ToolCallScheduled => "tool.invoked",
        Kind::ToolCallCompleted => "tool.completed",
        Kind::ToolCallFailed => match decoded() {
            Some(Payload::ToolCallFailed(body)) if body.error_type == "timeout" => "tool.timed_out",
            Some(Payload::ToolCallFailed(body)) if body.error_type == "cancelled" => "tool.cancelled",
            _ => "tool.failed",
        },
        Kind::SideEffectRecorded => "run.side_effect",
        Kind::BudgetExceeded => "cost.budget_exceeded",
        Kind::ContextTruncated => "run.context_truncated",
        Kind::RunCompleted => "run.finished",
        Kind::RunFailed => "run.failed",
        Kind::RunCancelled => "run.cancelled",
        Kind::RunResumed => "run.resumed",
        Kind::TurnFailed => "turn.failed",
        Kind::Typed => match decoded() {
            Some(Payload::Typed(body)) => return Cow::Owned(body.r#type),
            _ => "log.kind_17",
        },
        Kind::Other(number) => return Cow::Owned(format!("log.kind_{number}")),
    })
}

/// The type name in the payload of a Typed event, found without reading what else it says.
#[must_use]
pub fn typed_name(payload: &[u8]) -> Option<&str> {
    let mut name = None;
    let visit = |key: &[u8], item| {
        if key == b"type" {
            name = scan::text_of(item);
        }
    };
    scan::visit_map(payload, Rules::READABLE, visit).ok()?;
    std::str::from_utf8(name?).ok()
}

pub(crate) fn refuse_reserved(type_name: &str) -> Result<(), UnfitPayload> {
    match reserved_for(type_name) {
        Some(kind) => Err(UnfitPayload::ReservedType { type_name: type_name.into(), kind }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Typed;

    #[test]
    fn the_name_that_is_found_is_the_one_that_is_read() {
        for name in ["run.started", "a.name_that_is_longer_than_what_fits_in_a_head", ""] {
            let typed = Typed { r#type: name.into(), ..Typed::default() };
            assert_eq!(typed_name(&Payload::Typed(typed).encode()), Some(name));
        }
        assert_eq!(typed_name(b"\xa1\x61a\x01"), None);
        assert_eq!(typed_name(b"no map"), None);
    }
}
