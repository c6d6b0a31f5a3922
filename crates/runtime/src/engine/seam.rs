//! Between a process that is gone and the one that goes on: what was open is closed, and nothing is
//! blindly repeated.

use r1_event::{Payload, payload};
use r1_protocol::data::{self, EventData};
use r1_store::Lease;

use crate::agent::{Call, RunState, Stage};

/// Calls that nobody knows the end of.
pub(super) fn open_calls(state: &RunState) -> impl Iterator<Item = &Call> {
    state.calls.iter().filter(|call| matches!(call.stage, Stage::Running { .. }))
}

/// Whether a call that was cut off is made again: only if it had not begun or doing it twice is as good as
/// once, and if the log holds its whole input.
pub(super) fn will_reissue(state: &RunState, call: &Call) -> bool {
    let spec = state.spec.tools.iter().find(|spec| spec.name == call.tool);
    let began = !matches!(call.stage, Stage::Running { began: false, .. });
    (!began || spec.is_some_and(|spec| spec.idempotent)) && !call.redacted
}

/// The previous worker said nothing before it was gone.
pub(super) fn disconnected(state: &RunState, previous: Option<&Lease>) -> Payload {
    let action = if state.spec.interactive { "paused" } else { "requeued" };
    data::GapRunDisconnected {
        since_sequence: state.last.get() - 1,
        since_at: state.last_at.into(),
        reason: "worker_lease_expired".into(),
        worker_id: previous
            .map(|lease| crate::world::instance_of(&lease.owner).to_owned())
            .or_else(|| state.lease.as_ref().map(|lease| lease.worker_id.clone())),
        action: Some(action.into()),
        ..Default::default()
    }
    .to_payload()
}

/// Ends every call that was under way: as one that will be made again, or as one whose outcome nobody knows.
pub(super) fn close_calls(state: &RunState) -> Vec<Payload> {
    let close = |call: &Call| {
        let again = will_reissue(state, call);
        let error = if again {
            "the process that ran this call is gone; it is made again"
        } else {
            "the process that ran this call is gone, and whether it took effect is not known; \
             look before you repeat it"
        };
        Payload::ToolCallFailed(payload::ToolCallFailed {
            call_id: call.call_id.clone(),
            tool: Some(call.tool.clone()),
            kind: Some(state.kind_of(&call.tool).into()),
            error: error.into(),
            error_type: "outcome_unknown".into(),
            attempt: u32::try_from(call.attempts).unwrap_or(u32::MAX),
            r#final: !again,
            outcome: Some("unknown".into()),
            summary: Some("outcome unknown".into()),
            ..Default::default()
        })
    };
    open_calls(state).map(close).collect()
}

/// Nobody should try again by itself.
pub(super) fn crash_loop(state: &RunState) -> Vec<Payload> {
    let mut events = crate::agent::command::withdraw_questions(state);
    let message = "five workers in a row were lost on this run without any progress";
    events.push(state.failed("crash_loop", message.into(), true));
    events
}
