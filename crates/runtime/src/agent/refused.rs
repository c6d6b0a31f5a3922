//! What becomes of the patches of a call that is not made after all.

use r1_event::{Payload, UnixNanos};
use r1_protocol::data::{ApprovalResolved, ApprovalTimedOut, By, Decision, EventData as _, PolicyToolBlocked};

use super::call::{Call, Stage};
use super::state::RunState;
use crate::artifact::life::Patches;
use crate::artifact::patches;
use crate::emit::Emission;

/// The events that follow `event` at once: the patches that were prepared for the call it refuses are
/// rejected. `state` is that before the event.
///
/// They are no decision of the loop, since also people refuse calls that nobody works on.
pub(crate) fn rejections(state: &RunState, event: &Payload, now: UnixNanos) -> Vec<Emission> {
    let Some(Refused { call, by, reason }) = refused(state, event) else { return Vec::new() };
    let Some(Ok(prepared)) = &call.prepared else { return Vec::new() };
    // Most tools remember something else than patches, or nothing.
    let members = patches::prepared(&prepared.state).unwrap_or_default();
    if members.is_empty() {
        return Vec::new();
    }
    Patches { tool_call_id: &call.call_id, members: &members }.rejected(&by, &reason, now)
}

struct Refused<'a> {
    call: &'a Call,
    by: By,
    reason: String,
}

fn refused<'a>(state: &'a RunState, event: &Payload) -> Option<Refused<'a>> {
    let Payload::Typed(typed) = event else { return None };
    match typed.r#type.as_str() {
        ApprovalResolved::TYPE => {
            let resolved = ApprovalResolved::read(typed)?;
            let reason = match resolved.decision {
                Decision::Approved if resolved.edited_input.is_some() => "the approver changed what is to be done",
                Decision::Approved => return None,
                Decision::Rejected if resolved.comment.is_empty() => "refused",
                Decision::Rejected => &resolved.comment,
                Decision::Cancelled | Decision::Other(_) => "the request for approval was withdrawn",
            };
            Some(Refused { call: waiting(state, &resolved.approval_id)?, by: resolved.by, reason: reason.into() })
        }
        ApprovalTimedOut::TYPE => {
            let timed_out = ApprovalTimedOut::read(typed)?;
            let reason = "nobody answered the request for approval in time".into();
            Some(Refused { call: waiting(state, &timed_out.approval_id)?, by: By::Timeout, reason })
        }
        PolicyToolBlocked::TYPE => {
            let blocked = PolicyToolBlocked::read(typed)?;
            Some(Refused { call: state.call(&blocked.tool_call_id)?, by: By::Policy, reason: blocked.reason })
        }
        _ => None,
    }
}

fn waiting<'a>(state: &'a RunState, approval_id: &str) -> Option<&'a Call> {
    let is_it =
        |call: &&Call| matches!(&call.stage, Stage::Waiting { approval_id: waiting, .. } if waiting == approval_id);
    state.calls.iter().find(is_it)
}
