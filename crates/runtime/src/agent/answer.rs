//! An answer of the model as its closing event tells it: made when it comes, and made again in a replay.

use r1_event::payload::{AssistantMessageCompleted, PlannedToolUse};
use r1_protocol::json;

use crate::model::{Block, Usage};

/// All that was said, as one text.
pub(crate) fn text<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> String {
    let texts = blocks.into_iter().filter_map(|block| if let Block::Text(text) = block { Some(&**text) } else { None });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The calls that were asked for.
pub(crate) fn tool_uses<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Vec<PlannedToolUse> {
    let planned = |block: &Block| {
        let Block::ToolUse(call) = block else { return None };
        Some(PlannedToolUse {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            args: json::to_raw(&call.input),
            ..Default::default()
        })
    };
    blocks.into_iter().filter_map(planned).collect()
}

/// The tokens it took.
pub(crate) fn usage(message: &AssistantMessageCompleted) -> Usage {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    Usage {
        input_tokens: count(message.input_tokens),
        output_tokens: count(message.output_tokens),
        cache_read_tokens: count(message.cache_read_tokens),
        cache_write_tokens: count(message.cache_create_tokens),
    }
}
