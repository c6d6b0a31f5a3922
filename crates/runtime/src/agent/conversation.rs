//! The conversation as the model sees it, with a hash and a size that grow with it.

use std::sync::Arc;

use r1_event::Digest;

use crate::model::{Block, Message, Role, Usage};

/// Bytes of text that make one token, roughly, for all models.
const BYTES_PER_TOKEN: u64 = 4;

/// Messages in order. Adding one costs the same however many there are: hash and size are not worked
/// out anew.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    messages: Arc<Vec<Message>>,
    hasher: blake3::Hasher,
    bytes: u64,
    counted: Option<Counted>,
}

/// What a provider said of the size of the conversation up to a point.
#[derive(Clone, Copy, Debug)]
struct Counted {
    tokens: u64,
    bytes: u64,
}

impl Conversation {
    /// An empty one, under all that every request of the run says first.
    #[must_use]
    pub fn new(preamble: &[&[u8]]) -> Self {
        let mut conversation = Self::default();
        for part in preamble {
            feed(&mut conversation.hasher, part);
            conversation.bytes += part.len() as u64;
        }
        conversation
    }

    /// The messages.
    #[must_use]
    pub const fn messages(&self) -> &Arc<Vec<Message>> {
        &self.messages
    }

    /// Adds a message; one without blocks is none.
    pub fn push(&mut self, message: Message) {
        if message.blocks.is_empty() {
            return;
        }
        self.bytes += feed_message(&mut self.hasher, &message);
        // Unless a model call still holds it, this changes the list in place.
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Names the request that consists of everything said so far.
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::new(*self.hasher.finalize().as_bytes())
    }

    /// How many tokens a request will have, as far as one can tell before.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        self.counted.map_or(self.bytes.div_ceil(BYTES_PER_TOKEN), |counted| {
            counted.tokens + (self.bytes.saturating_sub(counted.bytes)).div_ceil(BYTES_PER_TOKEN)
        })
    }

    /// Takes what a provider counted for everything said so far, its own answer included.
    pub fn count(&mut self, usage: Usage) {
        let tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens;
        if tokens > 0 {
            self.counted = Some(Counted { tokens, bytes: self.bytes });
        }
    }

    /// The same conversation with other messages, under the same preamble.
    #[must_use]
    pub fn rebuilt(preamble: &[&[u8]], messages: Vec<Message>) -> Self {
        let mut conversation = Self::new(preamble);
        messages.into_iter().for_each(|message| conversation.push(message));
        conversation
    }
}

/// Tokens of a text, roughly.
#[must_use]
pub fn estimated_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

fn feed(hasher: &mut blake3::Hasher, part: &[u8]) -> u64 {
    // With its length before it, no two different lists of parts look alike.
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
    part.len() as u64
}

fn feed_message(hasher: &mut blake3::Hasher, message: &Message) -> u64 {
    let role = match message.role {
        Role::User => b'u',
        Role::Assistant => b'a',
    };
    feed(hasher, &[role]);
    message.blocks.iter().map(|block| feed_block(hasher, block)).sum()
}

fn feed_block(hasher: &mut blake3::Hasher, block: &Block) -> u64 {
    let json = |value| serde_json::to_vec(value).unwrap_or_default();
    match block {
        Block::Text(text) => feed(hasher, b"text") + feed(hasher, text.as_bytes()),
        Block::Thinking(thinking) => {
            feed(hasher, if thinking.redacted { b"opaque" } else { b"thinking" });
            feed(hasher, thinking.text.as_bytes()) + feed(hasher, thinking.signature.as_deref().unwrap_or_default())
        }
        Block::ToolUse(call) => {
            feed(hasher, b"call");
            feed(hasher, call.call_id.as_bytes())
                + feed(hasher, call.tool.as_bytes())
                + feed(hasher, &json(&call.input))
        }
        Block::ToolResult(result) => {
            feed(hasher, if result.is_error { b"error" } else { b"result" });
            feed(hasher, result.call_id.as_bytes()) + feed(hasher, &json(&result.content))
        }
        Block::Attachment { mime, name, digest } => {
            feed(hasher, b"file");
            feed(hasher, mime.as_bytes()) + feed(hasher, name.as_bytes()) + feed(hasher, digest.as_bytes())
        }
    }
}
