//! Calls that the model proposed and questions about them, until they are settled.

use std::collections::{BTreeMap, HashMap};

use r1_event::payload::Typed;
use serde_json::{Value, json};

use crate::data::{
    ApprovalRequested, ApprovalResolved, ApprovalTimedOut, AssistantToolCallProposed, Decision, EventData as _, Object,
    PolicyToolBlocked,
};

/// What is known of the calls of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// Calls that were neither scheduled nor refused yet.
    proposed: BTreeMap<String, Proposed>,
    /// The calls that open questions are about.
    questions: HashMap<String, String>,
    /// Calls that were refused, as `result` lists them.
    denials: Vec<Value>,
}

#[derive(Clone, Debug)]
struct Proposed {
    tool: String,
    input: Value,
}

/// A call that will not be made.
pub(super) struct Refusal {
    pub(super) call_id: String,
    pub(super) why: String,
}

impl Calls {
    pub(super) fn proposed(&mut self, call: &AssistantToolCallProposed) {
        let proposed = Proposed { tool: call.tool_name.clone(), input: call.input.clone().into() };
        self.proposed.insert(call.tool_call_id.clone(), proposed);
    }

    pub(super) fn scheduled(&mut self, call_id: &str) {
        self.proposed.remove(call_id);
    }

    pub(super) fn asked(&mut self, request: &ApprovalRequested) {
        if let Some(call_id) = &request.tool_call_id {
            self.questions.insert(request.approval_id.clone(), call_id.clone());
        }
    }

    /// The call that this event refuses before it was scheduled, if it refuses one.
    pub(super) fn refused(&mut self, typed: &Typed) -> Option<Refusal> {
        let (call_id, why, is_denial) = match typed.r#type.as_str() {
            PolicyToolBlocked::TYPE => {
                let blocked = PolicyToolBlocked::read(typed)?;
                (blocked.tool_call_id, blocked.reason, true)
            }
            ApprovalResolved::TYPE => {
                let resolved = ApprovalResolved::read(typed)?;
                let call_id = self.questions.remove(&resolved.approval_id);
                let why = match resolved.decision {
                    Decision::Approved => return None,
                    Decision::Rejected if resolved.comment.is_empty() => "refused".to_owned(),
                    Decision::Rejected => resolved.comment,
                    Decision::Cancelled | Decision::Other(_) => "the request for approval was withdrawn".to_owned(),
                };
                (call_id?, why, resolved.decision == Decision::Rejected)
            }
            ApprovalTimedOut::TYPE => {
                let lapsed = ApprovalTimedOut::read(typed)?;
                let call_id = self.questions.remove(&lapsed.approval_id)?;
                (call_id, "nobody answered the request for approval in time".to_owned(), true)
            }
            _ => return None,
        };
        // A call that runs already is closed by its own event.
        let Proposed { tool, input } = self.proposed.remove(&call_id)?;
        if is_denial {
            self.denials.push(json!({ "tool_name": tool, "tool_use_id": call_id, "tool_input": input }));
        }
        Some(Refusal { call_id, why })
    }

    pub(super) fn denials(&self) -> Vec<Value> {
        self.denials.clone()
    }
}

/// What the `user` line of a refused call says.
pub(super) fn denied(refusal: &Refusal) -> (Value, Option<Value>) {
    (refusal.why.as_str().into(), None)
}

/// Text as the content of a tool's result; what is no text is told as JSON, and beside it as it is.
pub(super) fn content(result: Value, otherwise: Option<String>) -> (Value, Option<Value>) {
    match result {
        Value::String(_) => (result, None),
        Value::Null => (otherwise.unwrap_or_default().into(), None),
        result => {
            let text = crate::canonical::to_vec(&result);
            (String::from_utf8_lossy(&text).into_owned().into(), Some(result))
        }
    }
}

/// The `message` of a `user` line with a tool's result.
pub(super) fn result_message(call_id: &str, content: Value, is_error: bool) -> Object {
    let block = json!({ "type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error });
    Object::from_iter([("role".to_owned(), "user".into()), ("content".to_owned(), json!([block]))])
}
