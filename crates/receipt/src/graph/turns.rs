//! Thoughts: what a model was asked, and what became of it.

use std::collections::HashMap;

use r1_event::payload::{AssistantMessageCompleted, BudgetExceeded, ReasoningEmitted, TurnFailed, TurnStarted};
use sha2::Digest as _;

use super::Graph;
use super::content::{Content, micros};
use super::event::LogEvent;
use crate::json::{Object, Value};
use crate::node::{NodeId, NodeType, sha256_hex};

/// Turns, and what was said to the model since the last one ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    open: Option<OpenTurn>,
    thoughts: HashMap<String, NodeId>,
    /// Hashes of the user's messages since the last thought.
    heard: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct OpenTurn {
    turn_id: String,
    model: Option<String>,
    prompt_blake3: Option<String>,
    reasoning: Option<sha2::Sha256>,
}

impl Turns {
    pub(super) fn heard(&mut self, text: &str) {
        self.heard.push(sha256_hex(text));
    }

    pub(super) fn started(&mut self, turn: &TurnStarted) {
        let prompt = turn.prompt_hash.as_ref().filter(|hash| hash.len() == 32);
        self.open = Some(OpenTurn {
            turn_id: turn.turn_id.clone(),
            model: turn.model.clone(),
            prompt_blake3: prompt.map(|hash| r1_event::id::to_hex(hash)),
            reasoning: None,
        });
    }

    pub(super) fn reasoned(&mut self, reasoning: &ReasoningEmitted) {
        if let Some(turn) = self.open.as_mut().filter(|turn| turn.turn_id == reasoning.turn_id) {
            turn.reasoning.get_or_insert_default().update(&reasoning.content);
        }
    }

    /// The process that had the turn open is gone.
    pub(super) fn dropped(&mut self) {
        self.open = None;
    }

    pub(super) fn closed(&mut self, turn_id: Option<String>, thought: NodeId) {
        self.open = None;
        self.heard.clear();
        if let Some(turn_id) = turn_id {
            self.thoughts.insert(turn_id, thought);
        }
    }

    /// The thought that a turn came to.
    pub(super) fn thought(&self, turn_id: &str) -> Option<NodeId> {
        self.thoughts.get(turn_id).copied()
    }
}

impl Graph {
    pub(super) fn answered(&mut self, event: &LogEvent<'_>, answer: &AssistantMessageCompleted) {
        let planned = answer.tool_uses.as_deref().unwrap_or_default();
        let mut body = event.body();
        body.put_text("status", "complete");
        body.put("calls", Value::Array(planned.iter().map(|call| Value::text(call.call_id.clone())).collect()));
        put_tokens(&mut body, answer.input_tokens, answer.output_tokens);
        let cost = answer.cost_micros_usd.unwrap_or_else(|| micros(answer.cost_usd));
        body.put("cost_micros_usd", Value::uint(cost));
        put_text_hash(&mut body, &answer.text);
        if !answer.stop_reason.is_empty() {
            body.put_text("stop_reason", answer.stop_reason.clone());
        }
        let thought = self.think(&answer.turn_id, body);
        for call in planned {
            self.calls.proposed(&call.call_id, &call.tool, Content::of(&call.args), &answer.turn_id, thought);
        }
    }

    pub(super) fn turn_failed(&mut self, event: &LogEvent<'_>, failed: &TurnFailed) {
        let mut body = event.body();
        body.put_text("status", "failed");
        body.put("calls", Value::Array(Vec::new()));
        put_tokens(&mut body, 0, 0);
        body.put("cost_micros_usd", Value::Int(0));
        let open = self.turns.open.clone();
        let open_id = open.as_ref().map(|turn| turn.turn_id.clone()).unwrap_or_default();
        self.think(&failed.turn_id.clone().unwrap_or(open_id), body);
        if failed.will_retry == Some(true) {
            // Another attempt at the same question: it is open as before, without what was thought in vain.
            self.turns.open = open.map(|turn| OpenTurn { reasoning: None, ..turn });
        }
    }

    /// A trip of the budget closes the turn that is open; between turns it says nothing of a model.
    pub(super) fn budget_exceeded(&mut self, event: &LogEvent<'_>, trip: &BudgetExceeded) {
        let Some(open) = &self.turns.open else { return };
        let turn_id = if trip.turn_id.is_empty() { open.turn_id.clone() } else { trip.turn_id.clone() };
        let mut body = event.body();
        body.put_text("status", "cut");
        body.put("calls", Value::Array(Vec::new()));
        put_tokens(&mut body, 0, trip.partial_tokens);
        body.put("cost_micros_usd", Value::Int(0));
        put_text_hash(&mut body, &trip.partial_text);
        self.think(&turn_id, body);
    }

    fn think(&mut self, turn_id: &str, mut body: Object<'static>) -> NodeId {
        let open = self.turns.open.take().filter(|open| open.turn_id == turn_id).unwrap_or_default();
        body.put_text("turn_id", turn_id.to_owned());
        body.put_text("model", open.model.unwrap_or_else(|| self.model.clone()));
        body.put_some("prompt_blake3", open.prompt_blake3.map(Value::text));
        let reasoning = open.reasoning.map(|hash| r1_event::id::to_hex(&hash.finalize()));
        body.put_some("reasoning_hash", reasoning.map(Value::text));
        let heard = std::mem::take(&mut self.turns.heard);
        if !heard.is_empty() {
            body.put("user_input_hashes", Value::Array(heard.into_iter().map(Value::text).collect()));
        }
        let thought = self.add(NodeType::Thought, self.context(), &body);
        self.turns.closed(Some(turn_id.to_owned()), thought);
        self.anchor = Some(thought);
        thought
    }
}

fn put_tokens(body: &mut Object<'static>, input: i64, output: i64) {
    body.put("input_tokens", Value::uint(u64::try_from(input).unwrap_or(0)));
    body.put("output_tokens", Value::uint(u64::try_from(output).unwrap_or(0)));
}

fn put_text_hash(body: &mut Object<'static>, text: &str) {
    if !text.is_empty() {
        body.put_text("text_hash", sha256_hex(text));
    }
}
