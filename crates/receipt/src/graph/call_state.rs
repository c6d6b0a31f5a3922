//! What is known of tool calls while they are under way.

use std::collections::{BTreeSet, HashMap};

use r1_event::cbor;

use super::artifacts::Pending;
use super::content::Content;
use crate::json::{Object, Value};
use crate::node::NodeId;

/// Every call that was proposed, asked about or made.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The place of each among them.
    places: HashMap<String, usize>,
    /// The call that each request for approval is about.
    approvals: HashMap<String, String>,
}

/// One call and its attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) tool: String,
    /// `None` if nobody recorded them.
    pub(super) args: Option<Content>,
    pub(super) turn_id: Option<String>,
    /// The thought that asked for it.
    pub(super) proposer: Option<NodeId>,
    pub(super) approval: Option<Approval>,
    /// The attempt that is under way, and the seq of its schedule.
    pub(super) open: Option<(u32, u64)>,
    /// What it read and wrote in memory.
    pub(super) memory: Vec<NodeId>,
    /// The node of its last attempt.
    pub(super) last: Option<NodeId>,
    /// What it has made so far.
    pub(super) artifacts: Vec<Pending>,
    /// Attempts that have their node.
    pub(super) ended: BTreeSet<u32>,
}

/// Why a call could run, or could not.
#[derive(Clone, Debug)]
pub(super) struct Approval {
    pub(super) approved: bool,
    pub(super) by: String,
    pub(super) id: Option<String>,
    pub(super) rule: Option<String>,
}

impl Approval {
    pub(super) fn to_value(&self) -> Value<'static> {
        let mut object = Object::default();
        object.put_text("decision", if self.approved { "approved" } else { "denied" });
        object.put_text("by", self.by.clone());
        object.put_some("id", self.id.clone().map(Value::text));
        object.put_some("rule", self.rule.clone().map(Value::text));
        Value::Object(object)
    }
}

impl Calls {
    /// The state of a call; an empty one if nothing is known of it.
    pub(super) fn entry(&mut self, call_id: &str) -> &mut Call {
        let place = self.places.get(call_id).copied().unwrap_or_else(|| {
            self.places.insert(call_id.to_owned(), self.calls.len());
            self.calls.push(Call::default());
            self.calls.len() - 1
        });
        &mut self.calls[place]
    }

    pub(super) fn get(&self, call_id: &str) -> Option<&Call> {
        self.places.get(call_id).map(|place| &self.calls[*place])
    }

    pub(super) fn proposer(&self, call_id: &str) -> Option<NodeId> {
        self.get(call_id).and_then(|call| call.proposer)
    }

    /// The call that a request for approval is about.
    pub(super) fn of_approval(&self, approval_id: &str) -> Option<&str> {
        self.approvals.get(approval_id).map(String::as_str)
    }

    /// A model asks for a call. An id that was used before begins anew.
    pub(super) fn proposed(&mut self, call_id: &str, tool: &str, args: Content, turn_id: &str, thought: NodeId) {
        let call = self.entry(call_id);
        if call.open.is_some() {
            call.proposer.get_or_insert(thought);
            return;
        }
        *call = Call {
            tool: tool.into(),
            args: Some(args),
            turn_id: Some(turn_id.into()),
            proposer: Some(thought),
            ended: std::mem::take(&mut call.ended),
            ..Call::default()
        };
    }

    pub(super) fn approval_requested(&mut self, data: &cbor::Value) {
        let (Some(approval_id), Some(call_id)) = (text(data, "approval_id"), text(data, "tool_call_id")) else {
            return;
        };
        self.approvals.insert(approval_id.into(), call_id.into());
        let call = self.entry(call_id);
        if call.args.is_none() && call.last.is_none() {
            call.tool = text(data, "tool_name").unwrap_or_default().into();
            call.args = data.get("input").map(|input| Content::of(&input.into()));
        }
    }

    pub(super) fn allowed_by_rule(&mut self, data: &cbor::Value) {
        let Some(call_id) = text(data, "tool_call_id") else { return };
        self.entry(call_id).approval = Some(Approval {
            approved: true,
            by: "rule".into(),
            id: text(data, "grant_approval_id").map(Into::into),
            rule: text(data, "policy_id").map(Into::into),
        });
    }

    /// A schedule whose content is gone.
    pub(super) fn scheduled_blindly(
        &mut self,
        call_id: &str,
        attempt: u32,
        seq: u64,
        turn_id: Option<String>,
        proposer: Option<NodeId>,
    ) {
        let call = self.entry(call_id);
        call.open = Some((attempt, seq));
        call.turn_id = turn_id.or_else(|| call.turn_id.take());
        call.proposer = proposer.or(call.proposer);
    }

    /// The calls that are under way, in order of schedule.
    pub(super) fn open(&self) -> Vec<(String, u32)> {
        let open_at = |place: usize| self.calls[place].open;
        let open = self.places.iter().filter_map(|(id, place)| Some((id, open_at(*place)?)));
        let mut open: Vec<_> = open.map(|(id, (attempt, seq))| (seq, id.clone(), attempt)).collect();
        open.sort_unstable();
        open.into_iter().map(|(_, id, attempt)| (id, attempt)).collect()
    }

    /// The proposers of the calls that are under way.
    pub(super) fn open_proposers(&self) -> Vec<(String, u32, NodeId)> {
        self.open().into_iter().filter_map(|(id, attempt)| self.proposer(&id).map(|node| (id, attempt, node))).collect()
    }
}

/// The text under a key.
pub(super) fn text<'a>(data: &'a cbor::Value, key: &str) -> Option<&'a str> {
    data.get(key).and_then(cbor::Value::as_text)
}
