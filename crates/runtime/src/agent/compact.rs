//! Making room in a conversation that has become too long for its model.
//!
//! Pure and therefore the same in a replay: the oldest tool results go first, because the model can
//! get them again; then the oldest exchanges.

use super::conversation::Conversation;
use super::state::RunState;
use crate::model::{Block, Message, Role};

/// What is left of a result that was dropped.
const DROPPED: &str = "[dropped to make room; run the tool again if you need this]";

/// How the log names this way of compacting.
pub(super) const STRATEGY: &str = "drop_oldest_results";

/// Messages at the end that are never touched.
const KEPT: usize = 8;

impl RunState {
    /// Whether the next request would not fit.
    pub(super) fn must_compact(&self) -> bool {
        self.conversation.estimated_tokens() > self.spec.context_tokens
            && self.compacted().estimated_tokens() < self.conversation.estimated_tokens()
    }

    /// The conversation with room for more.
    pub(super) fn compacted(&self) -> Conversation {
        let goal = self.spec.context_tokens / 2;
        let preamble = self.preamble_slices();
        let mut messages = self.conversation.messages().as_ref().clone();
        let touchable = messages.len().saturating_sub(KEPT);
        let mut size = Conversation::rebuilt(&preamble, messages.clone()).estimated_tokens();
        for message in messages.iter_mut().take(touchable) {
            if size <= goal {
                break;
            }
            size = size.saturating_sub(drop_results(message));
        }
        if size > goal {
            drop_exchanges(&mut messages, touchable);
        }
        Conversation::rebuilt(&preamble, messages)
    }
}

/// Empties a message's tool results; tells how many tokens that saves.
fn drop_results(message: &mut Message) -> u64 {
    let mut saved = 0;
    for block in &mut message.blocks {
        if let Block::ToolResult(result) = block {
            let before = result.content.to_string().len();
            if before > DROPPED.len() {
                saved += (before - DROPPED.len()) as u64;
                result.content = DROPPED.into();
            }
        }
    }
    super::conversation::estimated_tokens(saved)
}

/// Drops messages after the first up to a place where a person speaks, so that no call loses its result.
fn drop_exchanges(messages: &mut Vec<Message>, touchable: usize) {
    let is_plain = |message: &Message| {
        message.role == Role::User && message.blocks.iter().all(|block| !matches!(block, Block::ToolResult(_)))
    };
    let cut = (1..=touchable).rev().find(|at| messages.get(*at).is_some_and(is_plain));
    if let Some(cut) = cut {
        messages.drain(1..cut);
    }
}
