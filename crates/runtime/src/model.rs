//! What a model is asked and what it answers, in no vendor's words.
//!
//! The agent loop folds the log into [`Message`]s; a [`Provider`](crate::provider::Provider) puts them
//! on its own wire and brings back a [`ModelResponse`].

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use r1_event::Digest;
use serde_json::{Map, Value};

use crate::tool::ToolSpec;

/// One model call.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Which model.
    pub model: String,
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation so far; the roles need not alternate.
    pub messages: Arc<Vec<Message>>,
    /// What the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// The most it may answer.
    pub max_output_tokens: u64,
    /// Parameters of the run, as its creator gave them (`temperature`, `thinking_budget`, …).
    pub params: Map<String, Value>,
    /// Model calls of this run before this one.
    pub turn_index: u64,
    /// From 1: which try at this turn.
    pub attempt: u64,
    /// Content of the attachments that `messages` name.
    pub attachments: Arc<HashMap<Digest, Bytes>>,
}

/// Something said.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// What.
    pub blocks: Vec<Block>,
}

/// Who speaks. Results of tools are said by the user's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person, or a tool.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// The model's reasoning, to be sent back as it came.
    Thinking(Thinking),
    /// A call that the model asks for.
    ToolUse(ToolUse),
    /// What a call gave.
    ToolResult(ToolResult),
    /// A file or image that came with a user's message.
    Attachment {
        /// Its type.
        mime: String,
        /// Its name for people.
        name: String,
        /// Its content's name among the request's attachments.
        digest: Digest,
    },
}

/// A block of reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thinking {
    /// The text, or what the provider gave in its stead if `redacted`.
    pub text: String,
    /// The provider's signature over it, or the opaque state it wants back.
    pub signature: Option<Bytes>,
    /// Whether `text` is opaque.
    pub redacted: bool,
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The model's own id of it.
    pub call_id: String,
    /// Which tool.
    pub tool: String,
    /// With what. A model that sends something else than an object gets `{"raw": text}`.
    pub input: Value,
}

/// What the model hears of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call.
    pub call_id: String,
    /// Text or JSON.
    pub content: Value,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A piece of an answer while it is being given. Blocks are counted from 0, in the order of
/// [`ModelResponse::blocks`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text {
        /// Which block.
        block: u64,
        /// What to add.
        text: String,
    },
    /// More reasoning.
    Thinking {
        /// Which block.
        block: u64,
        /// What to add.
        text: String,
    },
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelResponse {
    /// Text, thinking and tool uses, in the model's order.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What it took.
    pub usage: Usage,
    /// What the provider says it costs, where it says so.
    pub cost_micros_usd: Option<u64>,
    /// The provider's own id of the request.
    pub request_id: Option<String>,
    /// BLAKE3 of the bytes that the provider sent.
    pub raw_response_hash: Digest,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// It may not say more.
    MaxTokens,
    /// It met a stop sequence.
    StopSequence,
    /// It will not answer.
    Refusal,
}

impl StopReason {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::Refusal => "refusal",
        }
    }
}

/// Tokens of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read anew, without the cached ones.
    pub input_tokens: u64,
    /// Said, reasoning included.
    pub output_tokens: u64,
    /// Read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Written to it.
    pub cache_write_tokens: u64,
}
