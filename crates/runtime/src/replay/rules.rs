//! Which events are the loop's own, and which may come at any moment.

use r1_event::Payload;
use r1_event::payload::{self, Typed};
use r1_protocol::data::{self, EventData};

use crate::agent::{RunState, Toolset, answer};
use crate::control::create::{hash, registry_hash, tool_schemas};

/// Whether an event may stand where the loop had something else to say: a control action, or a seam.
pub(super) fn cuts_in(payload: &Payload) -> bool {
    match payload {
        Payload::RunCancelled(_) => true,
        Payload::RunFailed(failed) => {
            matches!(failed.error_type.as_str(), "crash_loop" | "workspace_failed" | "sandbox_unavailable" | "internal")
        }
        Payload::ToolCallFailed(failed) => {
            failed.error_type == "cancelled" || failed.outcome.as_deref() == Some("unknown")
        }
        Payload::AssistantMessageCompleted(message) => message.stop_reason == "cancelled",
        Payload::TurnFailed(failed) => failed.code.as_deref() == Some("handed_over"),
        Payload::Typed(typed) => typed_cuts_in(typed),
        _ => false,
    }
}

fn typed_cuts_in(typed: &Typed) -> bool {
    match typed.r#type.as_str() {
        data::GapRunDisconnected::TYPE
        | data::RunHandedOver::TYPE
        | data::SessionInterrupted::TYPE
        | data::ErrorToolUnavailable::TYPE
        | data::ErrorModelCapabilityMissing::TYPE
        // Of a patch whose call was just refused.
        | data::ToolEditRejected::TYPE
        | data::ToolMultiEditRejected::TYPE
        | data::ToolFileWriteRejected::TYPE
        | data::ArtifactUpdated::TYPE => true,
        data::ApprovalResolved::TYPE => {
            data::ApprovalResolved::read(typed).is_some_and(|resolved| resolved.decision == data::Decision::Cancelled)
        }
        _ => false,
    }
}

/// Whether only the loop writes such events.
pub(super) fn is_the_loops(payload: &Payload) -> bool {
    match payload {
        Payload::TurnStarted(_)
        | Payload::ToolCallScheduled(_)
        | Payload::ContextTruncated(_)
        | Payload::RunCompleted(_) => true,
        Payload::BudgetExceeded(exceeded) => exceeded.limit != "wall_clock",
        Payload::RunFailed(_) => !cuts_in(payload),
        Payload::UserMessageAppended(message) => message.by.as_deref() == Some("system"),
        Payload::AssistantMessageCompleted(message) => message.stop_reason == "error",
        Payload::Typed(typed) => matches!(
            typed.r#type.as_str(),
            data::ApprovalRequested::TYPE
                | data::PolicyToolAllowed::TYPE
                | data::PolicyToolBlocked::TYPE
                | data::CostTick::TYPE
                | data::CostBudgetWarning::TYPE
                | data::PolicyModelRewrote::TYPE
                | data::PhaseTransition::TYPE
                | data::PhaseTransitionRefused::TYPE
        ),
        _ => false,
    }
}

/// What an event from outside says of earlier ones, said again from those.
pub(super) fn restated(state: &RunState, payload: &Payload) -> Option<Payload> {
    match payload {
        Payload::AssistantMessageCompleted(message) if message.stop_reason != "cancelled" => {
            let blocks = state.turn.as_ref()?.said();
            let mut expected = message.clone();
            expected.text = answer::text(blocks.iter().copied());
            expected.tool_uses = Some(answer::tool_uses(blocks));
            if message.cost_source.as_deref() == Some("price_book") {
                expected.cost_micros_usd = state.spec.price.as_ref().map(|price| price.cost(&answer::usage(message)));
            }
            Some(Payload::AssistantMessageCompleted(expected))
        }
        Payload::Typed(typed) if typed.r#type == data::AssistantFinalAnswer::TYPE => {
            let mut expected = data::AssistantFinalAnswer::read(typed)?;
            expected.summary = answer::text(state.turn.as_ref()?.said());
            Some(expected.to_payload())
        }
        _ => None,
    }
}

/// A run's first event with all that follows from the rest of it, and from the tools of this R1, worked out anew.
pub(super) fn first_event(payload: &Payload, tools: &Toolset) -> Option<Payload> {
    let Payload::RunStarted(started) = payload else { return None };
    let specs: Vec<_> = tools.specs().cloned().collect();
    let schemas = tool_schemas(&specs);
    let mut expected = started.clone();
    expected.params_hash = Some(hash(started.params.bytes()));
    expected.system_prompt_hash = Some(hash(started.system_prompt.as_bytes()));
    expected.tool_registry_hash = Some(registry_hash(&schemas));
    expected.tool_schemas = Some(schemas);
    Some(Payload::RunStarted(expected))
}

/// Whether a payload has the bytes that `found` was read from, but for what the chain itself puts into a
/// terminal event.
pub(super) fn same_bytes(expected: &Payload, found: &Payload, bytes: &bytes::Bytes) -> bool {
    let encoded = match (expected, found) {
        (Payload::RunCompleted(expected), Payload::RunCompleted(found)) => {
            let (merkle_root, log_size) = (found.merkle_root.clone(), found.log_size);
            Payload::RunCompleted(payload::RunCompleted { merkle_root, log_size, ..expected.clone() }).encode()
        }
        (Payload::RunFailed(expected), Payload::RunFailed(found)) => {
            let (merkle_root, log_size) = (found.merkle_root.clone(), found.log_size);
            Payload::RunFailed(payload::RunFailed { merkle_root, log_size, ..expected.clone() }).encode()
        }
        (expected, _) => expected.encode(),
    };
    encoded == *bytes
}
