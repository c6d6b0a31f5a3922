//! Which answers of a model are taken in. What a call is named stands in every receipt, and receipts have
//! limits: an answer that would go beyond them is as good as none, and its turn fails.

use r1_protocol::registry::MAX_CALL_ID;

use crate::model::{Block, ModelResponse, ToolUse};
use crate::provider::{ProviderError, ProviderFailure};

/// Calls of one answer. The thought after them follows from each, and from all that they made.
const MAX_CALLS: usize = 256;

/// Bytes of a tool's name; no tool has a longer one.
const MAX_TOOL_NAME: usize = 256;

/// The answer, or why it is none.
pub(super) fn admit(response: ModelResponse) -> Result<ModelResponse, ProviderError> {
    match objection(&response) {
        None => Ok(response),
        Some(objection) => Err(ProviderError {
            kind: ProviderFailure::Malformed,
            status: 0,
            message: format!("the model's answer was not taken: {objection}"),
            retry_after: None,
        }),
    }
}

fn objection(response: &ModelResponse) -> Option<String> {
    let calls = || response.blocks.iter().filter_map(as_call);
    let count = calls().count();
    if count > MAX_CALLS {
        return Some(format!("it has {count} tool calls, and at most {MAX_CALLS} are made at once"));
    }
    let longest = |length: fn(&ToolUse) -> usize| calls().map(length).max().unwrap_or(0);
    let name = longest(|call| call.tool.len());
    if name > MAX_TOOL_NAME {
        return Some(format!("it names a tool with {name} bytes, and no name has more than {MAX_TOOL_NAME}"));
    }
    let id = longest(|call| call.call_id.len());
    (id > MAX_CALL_ID).then(|| format!("a call has an id of {id} bytes, and no id has more than {MAX_CALL_ID}"))
}

fn as_call(block: &Block) -> Option<&ToolUse> {
    if let Block::ToolUse(call) = block { Some(call) } else { None }
}
