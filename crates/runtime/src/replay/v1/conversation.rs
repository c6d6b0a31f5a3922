//! What the model is asked, as far as a v1 log tells.

use bytes::Bytes;
use r1_event::payload::{AssistantMessageCompleted, RunStarted, ToolCallFailed, TurnStarted};
use r1_event::v1::request::{Message, Request, ToolResult, ToolUse};

/// The conversation of a run.
///
/// A process hands the model its own words and its tools' results in the very text they came in, which
/// the log does not keep. A process that resumes a run has no more than the log: it hands on arguments
/// as CBOR, and errors as recorded; only results it spells anew.
pub(super) struct Conversation {
    request: Request,
    /// Whether the run has tools: their texts are nowhere in the log.
    has_tools: bool,
    /// Whether arguments or results were said since the last seam.
    tools_spoke: bool,
    /// Whether there ever was a result.
    has_results: bool,
    /// Grows with all that changes the prompt.
    revision: u64,
    last: Option<Asked>,
}

/// What a turn says of its prompt.
#[derive(Clone)]
pub(super) struct Prompt {
    pub(super) hash: Option<Bytes>,
    pub(super) tokens: i64,
}

struct Asked {
    revision: u64,
    prompt: Prompt,
}

impl Conversation {
    pub(super) fn new(started: &RunStarted) -> Self {
        let request = Request {
            model: started.model_id.clone(),
            system_prompt: started.system_prompt.clone(),
            messages: Some(vec![user(&started.goal)]),
            params: started.params.bytes().to_vec(),
            ..Request::default()
        };
        let has_tools = started.tool_schemas.as_ref().is_none_or(|tools| !tools.is_empty());
        Self { request, has_tools, tools_spoke: false, has_results: false, revision: 0, last: None }
    }

    /// The prompt of the next turn; `None` where the log holds too little to tell.
    pub(super) fn prompt(&self) -> Option<Prompt> {
        let repeated = self.last.as_ref().filter(|asked| asked.revision == self.revision);
        if let Some(Asked { prompt, .. }) = repeated {
            return Some(prompt.clone());
        }
        if self.has_tools || self.tools_spoke || self.has_results {
            return None;
        }
        let hash = Some(Bytes::copy_from_slice(self.request.prompt_hash().as_bytes()));
        Some(Prompt { hash, tokens: i64::try_from(self.request.estimated_tokens()).unwrap_or(i64::MAX) })
    }

    pub(super) fn asked(&mut self, turn: &TurnStarted) {
        let prompt = Prompt { hash: turn.prompt_hash.clone(), tokens: turn.input_tokens };
        self.last = Some(Asked { revision: self.revision, prompt });
    }

    pub(super) fn told(&mut self, content: &str) {
        self.push(user(content));
    }

    pub(super) fn answered(&mut self, message: &AssistantMessageCompleted) {
        let uses = message.tool_uses.iter().flatten();
        let uses: Vec<_> = uses
            .map(|call| ToolUse {
                call_id: call.call_id.clone(),
                name: call.tool.clone(),
                args: Some(call.args.bytes().to_vec()),
            })
            .collect();
        self.tools_spoke |= !uses.is_empty();
        let (role, content) = ("assistant".into(), message.text.clone());
        self.push(Message { role, content, tool_uses: Some(uses), ..Message::default() });
    }

    pub(super) fn call_failed(&mut self, failed: &ToolCallFailed) {
        let result = ToolResult { call_id: failed.call_id.clone(), content: failed.error.clone(), is_error: true };
        self.push(Message { role: "tool".into(), tool_result: Some(result), ..Message::default() });
    }

    pub(super) const fn call_completed(&mut self) {
        self.tools_spoke = true;
        self.has_results = true;
        self.revision += 1;
    }

    /// Another process goes on with what the log says.
    pub(super) const fn resumed(&mut self) {
        if self.tools_spoke {
            self.revision += 1;
        }
        self.tools_spoke = false;
    }

    fn push(&mut self, message: Message) {
        self.revision += 1;
        // Messages of a run with tools are never hashed.
        if !self.has_tools {
            self.request.messages.get_or_insert_default().push(message);
        }
    }
}

fn user(content: &str) -> Message {
    Message { role: "user".into(), content: content.into(), ..Message::default() }
}
