//! Which event-protocol type each kind of event is served as.

use crate::kind::Kind;
use crate::payload::UnfitPayload;

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

pub(crate) fn refuse_reserved(type_name: &str) -> Result<(), UnfitPayload> {
    match reserved_for(type_name) {
        Some(kind) => Err(UnfitPayload::ReservedType { type_name: type_name.into(), kind }),
        None => Ok(()),
    }
}
