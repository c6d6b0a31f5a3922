//! The `data` of an event, by its kind.
//!
//! Every payload is taken apart whole, so that no new key is overlooked: it is served, or it is bound to
//! `_` as one that stays in the log.

use bytes::Bytes;
use r1_event::exchange::readable_payload;
use r1_event::{Kind, Payload};
use serde_json::Value;

use super::RunFacts;
use super::fields::Fields;
use super::{run_data, tool_data, turn_data};
use crate::data::Object;
use crate::{canonical, json};

/// The `data` of an event of this kind.
pub(super) fn data_of(run: &RunFacts, kind: Kind, bytes: &Bytes) -> Object {
    match fields_of(run, kind, bytes) {
        Ok(fields) => fields.finish(),
        Err(object) => object,
    }
}

/// Appends the `data` of an event of this kind as canonical JSON.
pub(super) fn write_data_of(out: &mut Vec<u8>, run: &RunFacts, kind: Kind, bytes: &Bytes) {
    match fields_of(run, kind, bytes) {
        Ok(fields) => fields.write(out),
        Err(object) => canonical::write_object(out, &object),
    }
}

/// The `data` of an event in parts; as an object where it is one already.
fn fields_of(run: &RunFacts, kind: Kind, bytes: &Bytes) -> Result<Fields, Object> {
    // A payload that is not what its kind says is served as it can be read.
    let Ok(payload) = Payload::decode(kind, bytes) else { return Err(as_it_is(kind, bytes)) };
    let mut data = Fields::default();
    match payload {
        Payload::RunStarted(body) => run_data::run_started(&mut data, run, *body),
        Payload::UserMessageAppended(body) => turn_data::user_message(&mut data, body),
        Payload::TurnStarted(body) => turn_data::turn_started(&mut data, body),
        Payload::ReasoningEmitted(body) => turn_data::thinking_complete(&mut data, body),
        Payload::AssistantMessageCompleted(body) => turn_data::turn_completed(&mut data, run.version, *body),
        Payload::ToolCallScheduled(body) => tool_data::tool_invoked(&mut data, body),
        Payload::ToolCallCompleted(body) => tool_data::tool_completed(&mut data, run.version, body),
        Payload::ToolCallFailed(body) => tool_data::tool_failed(&mut data, body),
        Payload::SideEffectRecorded(body) => run_data::side_effect(&mut data, body),
        Payload::BudgetExceeded(body) => run_data::budget_exceeded(&mut data, body),
        Payload::ContextTruncated(body) => run_data::context_truncated(&mut data, body),
        Payload::RunCompleted(body) => run_data::run_finished(&mut data, body),
        Payload::RunFailed(body) => run_data::run_failed(&mut data, body),
        Payload::RunCancelled(body) => run_data::run_cancelled(&mut data, body),
        Payload::RunResumed(body) => run_data::run_resumed(&mut data, body),
        Payload::TurnFailed(body) => turn_data::turn_failed(&mut data, body),
        Payload::Typed(body) => return Err(as_object(json::from_raw(&body.data)).unwrap_or_default()),
        Payload::Other(..) => return Err(as_it_is(kind, bytes)),
    }
    Ok(data)
}

fn as_it_is(kind: Kind, bytes: &Bytes) -> Object {
    as_object(readable_payload(kind, bytes)).unwrap_or_default()
}

pub(super) fn as_object(value: Value) -> Option<Object> {
    if let Value::Object(object) = value { Some(object) } else { None }
}
