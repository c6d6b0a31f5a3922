//! Small logs as Starling writes them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use r1_event::payload::{
    AssistantMessageCompleted, PlannedToolUse, Raw, RunCompleted, RunFailed, RunResumed, RunStarted, ToolCallCompleted,
    ToolCallFailed, ToolCallScheduled, ToolSchemaRef, TurnStarted, UserMessageAppended,
};
use r1_event::v1::request::{Message, Request};
use r1_event::v1::{args_from_json, hashes};
use r1_event::{Batch, Chain, Digest, Payload, Record, RunId, UnixNanos, Version};
use r1_runtime::agent::Toolset;
use r1_runtime::replay::{Report, replay};
use r1_store::{MemoryStore, SharedStore};

const GOAL: &str = "say hi";
const MODEL: &str = "m";
const SYSTEM: &str = "be brief";

/// The events of one run, in order.
pub(super) struct Log {
    payloads: Vec<Payload>,
}

impl<const N: usize> From<[Payload; N]> for Log {
    fn from(payloads: [Payload; N]) -> Self {
        Self { payloads: payloads.into() }
    }
}

impl Log {
    /// The same log with an event changed. Its chain and root are in order again.
    pub(super) fn forged(&self, index: usize, change: impl FnOnce(&mut Payload)) -> Self {
        let mut payloads = self.payloads.clone();
        change(&mut payloads[index]);
        Self { payloads }
    }

    /// The same log with two events in each other's place.
    pub(super) fn swapped(&self, one: usize, other: usize) -> Self {
        let mut payloads = self.payloads.clone();
        payloads.swap(one, other);
        Self { payloads }
    }

    pub(super) async fn replay(&self) -> Report {
        self.replay_ending(|_| {}).await
    }

    /// Replays the log with a change to the bytes of its last event, which nothing else covers.
    pub(super) async fn replay_ending(&self, change: impl FnOnce(&mut Payload)) -> Report {
        let store: SharedStore = Arc::new(MemoryStore::new());
        let run: RunId = "01M7G8HRPXQPK8Y67MQ2D0WH6S".parse().unwrap();
        let mut whole = Batch::new(&Chain::empty(run.clone(), Version::V1));
        for (index, payload) in self.payloads.iter().enumerate() {
            whole.push_v1(UnixNanos(i64::try_from(index).unwrap()), payload.clone()).unwrap();
        }
        let (last, before) = whole.records().split_last().unwrap();
        let kind = self.payloads.last().unwrap().kind();
        let mut end = Payload::decode(kind, last.payload.as_ref().unwrap()).unwrap();
        change(&mut end);
        let end = Record { header: last.header.clone(), payload: Some(end.encode()) };
        let mut batch = Batch::new(&Chain::empty(run.clone(), Version::V1));
        for record in before.iter().chain([&end]) {
            batch.adopt(record.clone()).unwrap();
        }
        let lease = store.acquire(&run, "starling", Duration::from_secs(60)).await.unwrap().lease;
        store.append(&lease, batch).await.unwrap();
        replay(&store, &run, Toolset::recorded).await.unwrap()
    }
}

/// A first event with these tools.
pub(super) fn started(tools: &[&str]) -> Payload {
    let tools: Vec<_> = tools.iter().map(|name| (*name, hashes::schema_hash(b"{}"))).collect();
    Payload::RunStarted(Box::new(RunStarted {
        schema_version: 1,
        goal: GOAL.into(),
        provider_id: "p".into(),
        model_id: MODEL.into(),
        api_version: "v0".into(),
        system_prompt: SYSTEM.into(),
        system_prompt_hash: bytes(hashes::system_prompt_hash(SYSTEM)),
        tool_registry_hash: bytes(hashes::tool_registry_hash(&tools)),
        tool_schemas: Some(
            tools
                .iter()
                .map(|(name, hash)| ToolSchemaRef {
                    name: (*name).into(),
                    schema_hash: bytes(*hash),
                    ..ToolSchemaRef::default()
                })
                .collect(),
        ),
        ..RunStarted::default()
    }))
}

fn user(content: &str) -> Message {
    Message { role: "user".into(), content: content.into(), ..Message::default() }
}

/// A turn that begins with these messages.
pub(super) fn turn_with(id: &str, messages: Vec<Message>) -> Payload {
    let request =
        Request { model: MODEL.into(), system_prompt: SYSTEM.into(), messages: Some(messages), ..Request::default() };
    Payload::TurnStarted(TurnStarted {
        turn_id: id.into(),
        prompt_hash: bytes(Some(request.prompt_hash())),
        input_tokens: i64::try_from(request.estimated_tokens()).unwrap(),
        ..TurnStarted::default()
    })
}

/// A conversation in which the model said hi, and was told something more.
pub(super) fn hi_and(more: &str) -> Vec<Message> {
    let hi =
        Message { role: "assistant".into(), content: "hi".into(), tool_uses: Some(Vec::new()), ..Message::default() };
    vec![user(GOAL), hi, user(more)]
}

/// A turn of a run without tools that says its goal.
pub(super) fn first_turn(id: &str) -> Payload {
    turn_with(id, vec![user(GOAL)])
}

/// A turn of a run with tools: what its hash covers is not in the log.
pub(super) fn turn_with_tools(id: &str) -> Payload {
    Payload::TurnStarted(TurnStarted {
        turn_id: id.into(),
        prompt_hash: bytes(Some(Digest::blake3(b"with texts of tools"))),
        input_tokens: 30,
        ..TurnStarted::default()
    })
}

pub(super) fn args(json: &str) -> Raw {
    Raw::new(args_from_json(json.as_bytes()).unwrap().into()).unwrap()
}

/// An answer that asks for calls: id, tool and arguments of each.
pub(super) fn answer(turn: &str, text: &str, calls: &[(&str, &str, &Raw)]) -> Payload {
    let planned = |(call, tool, args): &(&str, &str, &Raw)| PlannedToolUse {
        call_id: (*call).into(),
        tool: (*tool).into(),
        args: (*args).clone(),
        ..PlannedToolUse::default()
    };
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: turn.into(),
        text: text.into(),
        tool_uses: Some(calls.iter().map(planned).collect()),
        stop_reason: "stop".into(),
        input_tokens: 10,
        output_tokens: 5,
        cost_usd: 0.1,
        ..AssistantMessageCompleted::default()
    }))
}

pub(super) fn call(id: &str, turn: &str, tool: &str, args: &Raw, attempt: u32) -> Payload {
    Payload::ToolCallScheduled(ToolCallScheduled {
        call_id: id.into(),
        turn_id: turn.into(),
        tool: tool.into(),
        args: args.clone(),
        attempt,
        ..ToolCallScheduled::default()
    })
}

pub(super) fn completed(call: &str, attempt: u32) -> Payload {
    let result = args(r#"{"ok": true}"#);
    Payload::ToolCallCompleted(ToolCallCompleted { call_id: call.into(), result, attempt, ..Default::default() })
}

fn failure(call: &str, attempt: u32, error: &str) -> ToolCallFailed {
    let (error, error_type) = (error.into(), "tool".into());
    ToolCallFailed { call_id: call.into(), error, error_type, attempt, ..ToolCallFailed::default() }
}

/// A call that failed for good.
pub(super) fn failed(call: &str, attempt: u32, error: &str) -> Payload {
    Payload::ToolCallFailed(ToolCallFailed { r#final: true, ..failure(call, attempt, error) })
}

/// An attempt that failed, and after which there is another.
pub(super) fn retried(call: &str, attempt: u32) -> Payload {
    Payload::ToolCallFailed(failure(call, attempt, "busy"))
}

/// A call that was stopped.
pub(super) fn cancelled(call: &str, error: &str) -> Payload {
    let stopped = failure(call, 1, error);
    Payload::ToolCallFailed(ToolCallFailed { r#final: true, error_type: "cancelled".into(), ..stopped })
}

pub(super) fn seam(at_seq: u64, extra_message: &str, pending_calls: u32) -> Payload {
    let (extra_message, reissue_tools) = (extra_message.into(), true);
    Payload::RunResumed(RunResumed { at_seq, extra_message, reissue_tools, pending_calls, ..Default::default() })
}

pub(super) fn message(content: &str) -> Payload {
    Payload::UserMessageAppended(UserMessageAppended { content: content.into(), ..Default::default() })
}

/// The end of a run in which every turn was answered, and so many attempts at calls were made.
pub(super) fn finished(text: &str, turns: u32, calls: u32) -> Payload {
    finished_after(text, turns, turns, calls)
}

/// The end of a run whose turns were not all answered; [`answer`] gives the answers.
pub(super) fn finished_after(text: &str, turns: u32, answers: u32, calls: u32) -> Payload {
    Payload::RunCompleted(RunCompleted {
        final_text: text.into(),
        turn_count: turns,
        tool_call_count: calls,
        // As Starling adds: ten times 0.1 is not 1.
        total_cost_usd: (0..answers).fold(0.0, |sum, _| sum + 0.1),
        total_input_tokens: 10 * i64::from(answers),
        total_output_tokens: 5 * i64::from(answers),
        ..RunCompleted::default()
    })
}

pub(super) fn run_failed(error: &str, error_type: &str) -> Payload {
    Payload::RunFailed(RunFailed { error: error.into(), error_type: error_type.into(), ..RunFailed::default() })
}

fn bytes(digest: Option<Digest>) -> Option<Bytes> {
    digest.map(|digest| Bytes::copy_from_slice(digest.as_bytes()))
}
