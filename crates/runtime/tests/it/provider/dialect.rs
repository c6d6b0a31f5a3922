//! What the suite must know of a wire format to speak it.

use std::collections::HashMap;
use std::sync::Arc;

use r1_protocol::data::ToolKind;
use r1_runtime::model::{Block, Message, ModelRequest, Role, ToolResult, Usage};
use r1_runtime::provider::ProviderSpec;
use r1_runtime::tool::ToolSpec;
use serde_json::{Map, Value, json};

/// The server's side of a wire format.
pub(crate) trait Dialect {
    /// How the provider is set up; the suite puts the address in.
    fn spec() -> ProviderSpec;

    /// The stream of events for an answer, whole.
    fn frames(answer: &Answer) -> Vec<String>;

    /// An event with this data, as the format frames it.
    fn frame(data: &str) -> String {
        format!("data: {data}\n\n")
    }

    /// The path and query that requests go to.
    const URI: &'static str;
    /// The header that shows the key, and how.
    const KEY: (&'static str, &'static str);
    /// What the format calls the signature of reasoning in a request.
    fn sent_signatures(body: &Value) -> Vec<String>;
    /// The ids of the calls whose results a request holds, in order.
    fn sent_results(body: &Value) -> Vec<String>;
    /// Whether usage tells what was written to the cache.
    const COUNTS_CACHE_WRITES: bool;
}

/// An answer in no vendor's words.
#[derive(Default)]
pub(crate) struct Answer {
    pub thinking: Option<(&'static str, &'static str)>,
    pub text: Vec<&'static str>,
    /// Id, tool, and the JSON of the input in pieces.
    pub calls: Vec<(&'static str, &'static str, Vec<&'static str>)>,
    pub usage: Usage,
}

impl Answer {
    pub(crate) fn text(pieces: &[&'static str]) -> Self {
        Self { text: pieces.to_vec(), ..Self::default() }
    }
}

pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    let read = ToolSpec {
        name: "read".to_owned(),
        kind: ToolKind::FileRead,
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        idempotent: true,
        prepares: false,
        mcp: None,
    };
    ModelRequest {
        model: "model-1".to_owned(),
        system: "You are careful.".into(),
        messages: Arc::new(messages),
        tools: vec![read].into(),
        max_output_tokens: 4096,
        params: Map::new(),
        turn_index: 3,
        attempt: 1,
        attachments: Arc::new(HashMap::new()),
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message { role: Role::User, blocks: vec![Block::Text(text.to_owned())] }
}

pub(crate) fn assistant(blocks: Vec<Block>) -> Message {
    Message { role: Role::Assistant, blocks }
}

pub(crate) fn result(call_id: &str, content: Value, is_error: bool) -> Message {
    let result = ToolResult { call_id: call_id.to_owned(), content, is_error };
    Message { role: Role::User, blocks: vec![Block::ToolResult(result)] }
}
