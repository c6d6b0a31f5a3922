//! `assistant.*`, `user.attachment` and `session.*`.

use super::{By, Object};

events! {
    /// A piece of the answer as it streams in.
    "assistant.text_delta" AssistantTextDelta Core {
        required { turn_index: u64, block_index: u64, delta: String, }
    }

    /// A block of the answer is whole: the deltas of the last attempt in one.
    "assistant.text_complete" AssistantTextComplete Core {
        required { turn_index: u64, block_index: u64, text: String, }
    }

    /// A piece of reasoning as it streams in.
    "assistant.thinking_delta" AssistantThinkingDelta Experimental {
        required { turn_index: u64, block_index: u64, delta: String, }
    }

    /// The model asks for a tool.
    "assistant.tool_call_proposed" AssistantToolCallProposed Core {
        identity { tool_call_id: String, }
        required {
            turn_index: u64,
            tool_name: String,
            /// Input that is no JSON object is `{"raw": text}`.
            input: Object,
        }
    }

    /// The model made an image.
    "assistant.image_block" AssistantImageBlock Experimental {
        identity { artifact_id: String, }
        required { turn_index: u64, mime: String, summary: String, }
    }

    /// The last turn's answer, which asks for no tool.
    "assistant.final_answer" AssistantFinalAnswer Core {
        required {
            turn_index: u64,
            /// The whole text.
            summary: String,
        }
    }

    /// A file or image was given with a message.
    "user.attachment" UserAttachment Core {
        identity { artifact_id: String, }
        required { turn_index: u64, kind: String, mime: String, }
    }

    /// The current exchange was stopped; the run stays open.
    "session.interrupted" SessionInterrupted Added {
        required { by: By, reason: String, dropped_partial: bool, }
    }
}

rows! {
    /// A piece of a call's input. R1 never writes it: a secret may span pieces.
    "assistant.tool_call_input_delta" Experimental Typed {
        identity { tool_call_id: String, }
        required { turn_index: u64, delta: String, }
    }
}
