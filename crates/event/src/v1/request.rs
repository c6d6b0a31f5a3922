//! What a model is asked, as `prompt_hash` covers it.

use crate::cbor::{Value, write};
use crate::id::Digest;

/// A request to a model. Lists tell "none given" from "empty", as their hash does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Which model.
    pub model: String,
    /// The system prompt.
    pub system_prompt: String,
    /// The conversation.
    pub messages: Option<Vec<Message>>,
    /// The tools it may call.
    pub tools: Option<Vec<Tool>>,
    /// Whether it has to call one.
    pub tool_choice: String,
    /// Where to stop.
    pub stop_sequences: Option<Vec<String>>,
    /// Sampling among so many.
    pub top_k: Option<i64>,
    /// Longest answer.
    pub max_output_tokens: i64,
    /// Other sampling parameters, as CBOR; null if empty.
    pub params: Vec<u8>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// user, assistant, system or tool.
    pub role: String,
    /// What it says.
    pub content: String,
    /// Calls that the model asked for.
    pub tool_uses: Option<Vec<ToolUse>>,
    /// What a call gave.
    pub tool_result: Option<ToolResult>,
    /// Hints for the provider: a map.
    pub annotations: Option<Value>,
}

/// A call that the model asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Arguments: the very bytes of JSON that the model produced.
    pub args: Option<Vec<u8>>,
}

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// The call.
    pub call_id: String,
    /// The result as text.
    pub content: String,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A tool that may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its JSON schema, as spelled.
    pub schema: Option<Vec<u8>>,
}

impl Request {
    /// The `prompt_hash` of a turn that sends this request.
    #[must_use]
    pub fn prompt_hash(&self) -> Digest {
        Digest::blake3(&self.encode())
    }

    /// The bytes that the hash is taken over.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            model,
            system_prompt,
            messages,
            tools,
            tool_choice,
            stop_sequences,
            top_k,
            max_output_tokens,
            params,
        } = self;
        let mut out = Vec::new();
        write::map(&mut out, 9);
        write::text(&mut out, "TopK");
        match top_k {
            Some(k) => write::int(&mut out, *k),
            None => write::null(&mut out),
        }
        text(&mut out, "Model", model);
        list(&mut out, "Tools", tools.as_deref(), Tool::write);
        write::text(&mut out, "Params");
        out.extend_from_slice(if params.is_empty() { &[write::NULL] } else { params });
        list(&mut out, "Messages", messages.as_deref(), Message::write);
        text(&mut out, "ToolChoice", tool_choice);
        text(&mut out, "SystemPrompt", system_prompt);
        list(&mut out, "StopSequences", stop_sequences.as_deref(), |stop, out| write::text(out, stop));
        write::text(&mut out, "MaxOutputTokens");
        write::int(&mut out, *max_output_tokens);
        out
    }

    /// The `input_tokens` of the turn: Starling's guess at three characters to a token.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let message = |message: &Message| {
            let uses = message.tool_uses.iter().flatten().map(|call| call.args.as_ref().map_or(0, Vec::len));
            let result = message.tool_result.as_ref().map_or(0, |result| result.content.chars().count());
            message.content.chars().count() + uses.sum::<usize>() + result
        };
        let messages = self.messages.iter().flatten().map(message);
        let schemas = self.tools.iter().flatten().map(|tool| tool.schema.as_ref().map_or(0, Vec::len));
        let characters = self.system_prompt.chars().count() + messages.chain(schemas).sum::<usize>();
        (characters as u64).div_ceil(3)
    }
}

impl Message {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { role, content, tool_uses, tool_result, annotations } = self;
        write::map(out, 5);
        text(out, "Role", role);
        text(out, "Content", content);
        list(out, "ToolUses", tool_uses.as_deref(), ToolUse::write);
        write::text(out, "ToolResult");
        match tool_result {
            Some(result) => result.write(out),
            None => write::null(out),
        }
        write::text(out, "Annotations");
        annotations.as_ref().unwrap_or(&Value::Null).write(out);
    }
}

impl ToolUse {
    fn write(&self, out: &mut Vec<u8>) {
        write::map(out, 3);
        bytes(out, "Args", self.args.as_deref());
        text(out, "Name", &self.name);
        text(out, "CallID", &self.call_id);
    }
}

impl ToolResult {
    fn write(&self, out: &mut Vec<u8>) {
        write::map(out, 3);
        text(out, "CallID", &self.call_id);
        text(out, "Content", &self.content);
        write::text(out, "IsError");
        write::bool(out, self.is_error);
    }
}

impl Tool {
    fn write(&self, out: &mut Vec<u8>) {
        write::map(out, 3);
        text(out, "Name", &self.name);
        bytes(out, "Schema", self.schema.as_deref());
        text(out, "Description", &self.description);
    }
}

fn text(out: &mut Vec<u8>, key: &str, value: &str) {
    write::text(out, key);
    write::text(out, value);
}

fn bytes(out: &mut Vec<u8>, key: &str, value: Option<&[u8]>) {
    write::text(out, key);
    match value {
        Some(value) => write::bytes(out, value),
        None => write::null(out),
    }
}

fn list<T>(out: &mut Vec<u8>, key: &str, items: Option<&[T]>, write_item: impl Fn(&T, &mut Vec<u8>)) {
    write::text(out, key);
    match items {
        Some(items) => {
            write::array(out, items.len());
            items.iter().for_each(|item| write_item(item, out));
        }
        None => write::null(out),
    }
}
