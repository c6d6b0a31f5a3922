//! What a program says on our standard input: a line of JSON each.

use r1_runtime::agent::command::Scope;
use serde::Deserialize;
use serde_json::Value;

/// The longest line.
pub(super) const MAX_LINE: usize = 1 << 20;

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// Something for the agent.
    Message(String),
    /// The answer to a request.
    Reply(Reply),
}

/// The answer to a request for approval.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Reply {
    /// Which request; needless if only one is open.
    pub(super) approval_id: Option<String>,
    /// Yes or no.
    pub(super) decision: bool,
    /// Why.
    #[serde(default)]
    pub(super) reason: String,
    /// Who says so.
    pub(super) decided_by: Option<String>,
    /// For how long a yes holds.
    #[serde(default)]
    pub(super) scope: Scope,
}

/// Reads a line. The error says what is wrong with it.
pub(super) fn parse(line: &[u8]) -> Result<Said, String> {
    let value: Value = serde_json::from_slice(line).map_err(|err| format!("the line is no JSON: {err}"))?;
    if !value.is_object() {
        return Err("the line is no JSON object".into());
    }
    match value.get("type").and_then(Value::as_str) {
        Some("user") => match &value["message"]["role"] {
            Value::Null => message(&value["message"]["content"]).map(Said::Message),
            Value::String(role) if role == "user" => message(&value["message"]["content"]).map(Said::Message),
            role => Err(format!("a message here is said by the user; its `role` is {role}")),
        },
        _ if value.get("decision").is_some() => {
            serde_json::from_value(value).map(Said::Reply).map_err(|err| format!("the answer cannot be read: {err}"))
        }
        _ => Err("the line is neither a message (`type` user) nor an answer (`decision`)".into()),
    }
}

/// A message is a text, or blocks of text.
fn message(content: &Value) -> Result<String, String> {
    let block = |block: &Value| match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => Ok(text.to_owned()),
        _ => Err("a message holds text alone; attach files with `--attach`".to_owned()),
    };
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block).collect::<Result<Vec<_>, _>>()?.join("\n\n"),
        _ => return Err("the message has no `content`".into()),
    };
    if text.trim().is_empty() { Err("the message is empty".into()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Said, String> {
        parse(line.as_bytes())
    }

    #[test]
    fn a_message_is_a_text_or_blocks_of_text() {
        let hello = Ok(Said::Message("hello".into()));
        assert_eq!(said(r#"{"type":"user","message":{"role":"user","content":"hello"}}"#), hello);
        let blocks = r#"{"type":"user","message":{"content":[{"type":"text","text":"hello"}]},"more":1}"#;
        assert_eq!(said(blocks), hello);
        for wrong in [
            r#"{"type":"user","message":{"content":[{"type":"image"}]}}"#,
            r#"{"type":"user","message":{"content":" "}}"#,
            r#"{"type":"user"}"#,
            r#"{"type":"user","message":{"role":"assistant","content":"hello"}}"#,
            r#"{"type":"user","message":{"role":7,"content":"hello"}}"#,
            r#"{"type":"system"}"#,
            "[]",
            "{",
        ] {
            assert!(said(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_says_yes_or_no() {
        let Ok(Said::Reply(reply)) = said(r#"{"approval_id":"a","decision":false,"reason":"no","scope":"session"}"#)
        else {
            panic!("no answer");
        };
        assert_eq!((reply.approval_id.as_deref(), reply.decision), (Some("a"), false));
        assert_eq!((reply.reason.as_str(), reply.scope), ("no", Scope::Session));
        assert!(said(r#"{"approval_id":"a","decision":"yes"}"#).is_err());
        assert!(said(r#"{"decision":true,"scope":"for ever"}"#).is_err());
    }
}
