//! A conversation as vendors want it: roles that alternate, results right after their calls, files in
//! place of their names.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::Digest;
use serde_json::Value;

use crate::model::{Block, Message, ModelRequest, Role, Thinking, ToolResult};

/// All that one side says before the other speaks again.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub role: Role,
    /// Never empty. Of a user's turn the results of tools come first, whenever they came in.
    pub blocks: Vec<&'a Block>,
}

/// Puts what follows each other from one side into one turn, and drops what says nothing.
pub(super) fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let blocks = message.blocks.iter().filter(|block| says_something(block));
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.blocks.extend(blocks),
            _ => {
                let blocks: Vec<_> = blocks.collect();
                if !blocks.is_empty() {
                    turns.push(Turn { role: message.role, blocks });
                }
            }
        }
    }
    for turn in &mut turns {
        if turn.role == Role::User {
            turn.blocks.sort_by_key(|block| !matches!(block, Block::ToolResult(_)));
        }
    }
    turns
}

/// Blank text is refused by some vendors and means nothing to the others.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) | Block::Attachment { .. } => true,
    }
}

/// The names of the tools that were called, by the ids of the calls.
pub(super) fn called_tools(messages: &[Message]) -> HashMap<&str, &str> {
    let calls = messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block {
        Block::ToolUse(call) => Some((call.call_id.as_str(), call.tool.as_str())),
        Block::Text(_) | Block::Thinking(_) | Block::ToolResult(_) | Block::Attachment { .. } => None,
    });
    calls.collect()
}

/// What a tool gave, as text.
pub(super) fn text_of(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The same, where the wire has no place for "this failed".
pub(super) fn text_of_result(result: &ToolResult) -> Cow<'_, str> {
    let text = text_of(&result.content);
    if result.is_error { Cow::Owned(format!("error: {text}")) } else { text }
}

/// What the provider wants back of its reasoning; nothing if it signed nothing.
pub(super) fn signature_of(thinking: &Thinking) -> Option<&str> {
    thinking.signature.as_deref().and_then(|signature| std::str::from_utf8(signature).ok())
}

/// A file or image that came with a message.
pub(super) enum Attached {
    Image {
        mime: String,
        base64: String,
    },
    Pdf {
        name: String,
        base64: String,
    },
    /// The text itself, or why it is not shown.
    Text(String),
}

impl Attached {
    pub(super) fn find(request: &ModelRequest, mime: &str, name: &str, digest: &Digest) -> Self {
        let Some(content) = request.attachments.get(digest) else {
            return Self::Text(format!("[attachment `{name}` ({mime}): its content is no longer available]"));
        };
        match mime {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
                Self::Image { mime: mime.to_owned(), base64: STANDARD.encode(content) }
            }
            "application/pdf" => Self::Pdf { name: name.to_owned(), base64: STANDARD.encode(content) },
            _ => match std::str::from_utf8(content) {
                Ok(text) => Self::Text(format!("[attachment `{name}` ({mime})]\n{text}")),
                Err(_) => Self::Text(format!(
                    "[attachment `{name}` ({mime}, {} bytes): not shown, it is neither text, image nor PDF]",
                    content.len()
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(blocks: Vec<Block>) -> Message {
        Message { role: Role::User, blocks }
    }

    fn result(call_id: &str) -> Block {
        Block::ToolResult(ToolResult { call_id: call_id.to_owned(), content: json!("ok"), is_error: false })
    }

    fn text(text: &str) -> Block {
        Block::Text(text.to_owned())
    }

    #[test]
    fn one_side_speaks_in_one_turn_and_results_come_first() {
        let messages = [
            user(vec![text("do it")]),
            user(vec![text(" ")]),
            Message { role: Role::Assistant, blocks: vec![text("")] },
            user(vec![text("by the way")]),
            user(vec![result("1")]),
            user(vec![result("2")]),
        ];
        let turns = turns(&messages);
        assert_eq!(turns.len(), 1, "{turns:?}");
        assert_eq!(turns[0].blocks, [&result("1"), &result("2"), &text("do it"), &text("by the way")]);
    }

    #[test]
    fn a_failed_call_reads_as_one() {
        let failed = ToolResult { call_id: "1".to_owned(), content: json!({"code": 1}), is_error: true };
        assert_eq!(text_of_result(&failed), r#"error: {"code":1}"#);
    }
}
