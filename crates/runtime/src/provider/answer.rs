//! An answer while it is being put together.

use std::collections::HashSet;

use bytes::Bytes;
use r1_protocol::registry::MAX_CALL_ID;
use serde_json::{Map, Value};

use crate::model::{Block, Delta, StopReason, Thinking, ToolUse, Usage};

/// What came so far. A block exists once it holds something, so the positions that deltas name are those
/// of the whole answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    parts: Vec<Part>,
    fresh: Vec<Delta>,
    /// What it took.
    pub usage: Usage,
    /// What the provider says it costs.
    pub cost_micros_usd: Option<u64>,
    /// The provider's own id of it.
    pub id: Option<String>,
    /// Why it ended, in the provider's word for it.
    pub stop: Option<StopReason>,
}

/// Where a block is in its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(usize);

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking { text: String, signature: String, opaque: bool },
    Call { id: String, tool: String, arguments: String },
}

impl Part {
    const fn thinking() -> Self {
        Self::Thinking { text: String::new(), signature: String::new(), opaque: false }
    }
}

impl Answer {
    /// Adds text to the block at `place`, or to a new one. Nothing is no block.
    pub(super) fn text(&mut self, place: Option<Place>, more: &str) -> Option<Place> {
        if more.is_empty() {
            return place;
        }
        let place = place.unwrap_or_else(|| self.open(Part::Text(String::new())));
        if let Some(Part::Text(text)) = self.parts.get_mut(place.0) {
            text.push_str(more);
            self.fresh.push(Delta::Text { block: place.0 as u64, text: more.to_owned() });
        }
        Some(place)
    }

    /// Adds reasoning to the block at `place`, or to a new one.
    pub(super) fn thinking(&mut self, place: Option<Place>, more: &str) -> Option<Place> {
        if more.is_empty() {
            return place;
        }
        let place = place.unwrap_or_else(|| self.open(Part::thinking()));
        if let Some(Part::Thinking { text, .. }) = self.parts.get_mut(place.0) {
            text.push_str(more);
            self.fresh.push(Delta::Thinking { block: place.0 as u64, text: more.to_owned() });
        }
        Some(place)
    }

    /// Adds to the signature of the reasoning at `place`. Reasoning that is nothing but a signature is
    /// redacted: its text is not for us.
    pub(super) fn signature(&mut self, place: Option<Place>, more: &str) -> Option<Place> {
        if more.is_empty() {
            return place;
        }
        let place = place.unwrap_or_else(|| self.open(Part::thinking()));
        if let Some(Part::Thinking { signature, .. }) = self.parts.get_mut(place.0) {
            signature.push_str(more);
        }
        Some(place)
    }

    /// Reasoning that came as an opaque block.
    pub(super) fn redacted_thinking(&mut self, opaque: &str) {
        self.open(Part::Thinking { text: opaque.to_owned(), signature: String::new(), opaque: true });
    }

    /// A call, whose arguments may still be to come.
    pub(super) fn call(&mut self, id: &str, tool: &str) -> Place {
        self.open(Part::Call { id: id.to_owned(), tool: tool.to_owned(), arguments: String::new() })
    }

    /// Adds to the JSON text of a call's arguments.
    pub(super) fn arguments(&mut self, place: Place, more: &str) {
        if let Some(Part::Call { arguments, .. }) = self.parts.get_mut(place.0) {
            arguments.push_str(more);
        }
    }

    /// Gives a call what it still lacks: some servers name it late.
    pub(super) fn name_call(&mut self, place: Place, late_id: &str, late_tool: &str) {
        if let Some(Part::Call { id, tool, .. }) = self.parts.get_mut(place.0) {
            if id.is_empty() {
                late_id.clone_into(id);
            }
            if tool.is_empty() {
                late_tool.clone_into(tool);
            }
        }
    }

    /// Replaces a call's arguments by the whole of them.
    pub(super) fn whole_arguments(&mut self, place: Place, whole: &str) {
        if let Some(Part::Call { arguments, .. }) = self.parts.get_mut(place.0)
            && !whole.is_empty()
        {
            whole.clone_into(arguments);
        }
    }

    /// The last block, if it is text.
    pub(super) fn last_text(&self) -> Option<Place> {
        matches!(self.parts.last(), Some(Part::Text(_))).then(|| Place(self.parts.len() - 1))
    }

    /// The last block, if it is reasoning that nobody signed.
    pub(super) fn last_unsigned_thinking(&self) -> Option<Place> {
        match self.parts.last() {
            Some(Part::Thinking { signature, opaque: false, .. }) if signature.is_empty() => {
                Some(Place(self.parts.len() - 1))
            }
            _ => None,
        }
    }

    /// Whether the model asked for something to be done.
    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }

    /// The pieces that nobody has been told of yet.
    pub(super) fn take_fresh(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.fresh)
    }

    /// All blocks. Calls without an id of their own, with one that another call has, or with one that is too long
    /// for an id, get one made of the turn and their number.
    pub(super) fn into_blocks(self, turn_index: u64) -> Vec<Block> {
        let mut ids = HashSet::new();
        self.parts
            .into_iter()
            .enumerate()
            .map(|(number, part)| match part {
                Part::Text(text) => Block::Text(text),
                Part::Thinking { text, signature, opaque } => Block::Thinking(Thinking {
                    redacted: opaque || text.is_empty(),
                    text,
                    signature: (!signature.is_empty()).then(|| Bytes::from(signature)),
                }),
                Part::Call { id, tool, arguments } => {
                    let usable = (1..=MAX_CALL_ID).contains(&id.len()) && ids.insert(id.clone());
                    let call_id = if usable { id } else { minted_call_id(turn_index, number) };
                    Block::ToolUse(ToolUse { call_id, tool, input: input_of(&arguments) })
                }
            })
            .collect()
    }

    fn open(&mut self, part: Part) -> Place {
        self.parts.push(part);
        Place(self.parts.len() - 1)
    }
}

const MINTED: &str = "r1_call_";

fn minted_call_id(turn_index: u64, number: usize) -> String {
    format!("{MINTED}{turn_index}_{number}")
}

/// Whether the id is ours because the provider gave none.
pub(super) fn is_minted(call_id: &str) -> bool {
    call_id.starts_with(MINTED)
}

fn input_of(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => Value::Object(Map::from_iter([("raw".to_owned(), Value::from(arguments))])),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_that_are_no_object_are_kept_as_text() {
        assert_eq!(input_of(""), json!({}));
        assert_eq!(input_of(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(input_of("[1]"), json!({"raw": "[1]"}));
        assert_eq!(input_of(r#"{"a":"#), json!({"raw": r#"{"a":"#}));
    }

    #[test]
    fn calls_without_an_id_or_with_the_same_one_can_be_told_apart() {
        let mut answer = Answer::default();
        let long = "l".repeat(MAX_CALL_ID + 1);
        for id in ["", "same", "same", "", &long] {
            answer.call(id, "read");
        }
        let blocks = answer.into_blocks(4);
        let ids: HashSet<_> = blocks
            .iter()
            .map(|block| match block {
                Block::ToolUse(call) => call.call_id.clone(),
                other => panic!("not a call: {other:?}"),
            })
            .collect();
        assert_eq!(ids.len(), 5, "{ids:?}");
        assert!(ids.contains("same") && !ids.contains(&long));
    }

    #[test]
    fn deltas_name_the_blocks_of_the_whole_answer() {
        let mut answer = Answer::default();
        let thinking = answer.thinking(None, "hm");
        answer.thinking(thinking, "m");
        assert_eq!(answer.text(None, ""), None, "nothing opens no block");
        let text = answer.text(None, "yes");
        assert_eq!(
            answer.take_fresh(),
            [
                Delta::Thinking { block: 0, text: "hm".to_owned() },
                Delta::Thinking { block: 0, text: "m".to_owned() },
                Delta::Text { block: 1, text: "yes".to_owned() },
            ]
        );
        answer.text(text, "!");
        assert_eq!(answer.into_blocks(0)[1], Block::Text("yes!".to_owned()));
    }
}
