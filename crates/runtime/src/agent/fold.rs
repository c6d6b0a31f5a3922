//! How each event changes what is known of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use r1_event::payload::{self, Typed};
use r1_event::{Digest, Payload, Record, RunId, Seq, UnixNanos};
use r1_protocol::data::{self, EventData};
use r1_protocol::{event_id, json};
use serde_json::Value;

use super::answer;
use super::budget::Spent;
use super::call::{Call, Stage};
use super::conversation::Conversation;
use super::spec::RunSpec;
use super::state::{Checkpoint, FailedTurn, Lease, Origin, Phase, RunState, Turn};
use crate::memory::Tiers;
use crate::model::{Block, Message, Role, Thinking, ToolResult, ToolUse};
use crate::policy::{Grant, Grants};
use crate::tool::Prepared;

/// Where an event stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its seq.
    pub seq: Seq,
    /// Its time.
    pub ts: UnixNanos,
    /// Its hash.
    pub hash: Digest,
}

/// Why a log cannot be folded.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// A log begins with RunStarted.
    #[error("the log does not begin with an event that says what the run is")]
    NotStarted,
    /// The run was made by another R1.
    #[error("the run was made with settings that this r1 does not know: use a newer r1")]
    UnknownSpec,
    /// An event that cannot be read.
    #[error("event {seq} cannot be read: {reason}")]
    Unreadable {
        /// Which.
        seq: u64,
        /// Why.
        reason: String,
    },
    /// A payload that the loop needs was erased.
    #[error("event {seq} was erased; what came after it cannot be worked out")]
    Erased {
        /// Which.
        seq: Seq,
    },
    /// Starling's log.
    #[error("the run was written by Starling; R1's loop cannot go on with it")]
    Foreign,
}

impl RunState {
    /// The state after a run's first event.
    pub fn begin(place: Place, run: RunId, payload: &Payload) -> Result<Self, FoldError> {
        let Payload::RunStarted(started) = payload else { return Err(FoldError::NotStarted) };
        let spec = RunSpec::from_raw(started.spec.as_ref()).ok_or(FoldError::UnknownSpec)?;
        let preamble = preamble(started);
        let workspace = started.workspace.as_ref().and_then(json::read::<Value>).unwrap_or_default();
        let text = |key: &str| workspace.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let origin = started.resumed_from.as_ref().or(started.forked_from.as_ref()).and_then(origin);
        let mut state = Self {
            run,
            goal: started.goal.clone(),
            model: started.model_id.clone(),
            model_was_rewritten: false,
            missing_capabilities: Vec::new(),
            provider: started.provider_id.clone(),
            system: started.system_prompt.as_str().into(),
            identity: String::new(),
            memory: Tiers::default(),
            conversation: Conversation::new(&slices(&preamble)),
            preamble,
            task_id: started.task_id.clone(),
            session_id: started.session_id.clone(),
            run_kind: started.run_kind.clone().unwrap_or_else(|| "agent_loop".into()),
            number: started.number.unwrap_or(1),
            title: started.title.clone().unwrap_or_default(),
            trace_parent: started.trace_parent.clone(),
            instance_id: started.instance_id.clone(),
            priority: started.priority.clone().unwrap_or_else(|| "normal".into()),
            workspace_path: text("path"),
            workspace_mode: text("mode"),
            origin,
            created_at: place.ts,
            last_at: place.ts,
            last: place.seq,
            head: place.hash,
            phase: if started.held == Some(true) { Phase::Held } else { Phase::Queued },
            lease: None,
            takeovers: 0,
            inbox: Vec::new(),
            needs_turn: false,
            unanswered: false,
            turn: None,
            last_turn_id: String::new(),
            failed_turn: None,
            ticked: true,
            calls: super::plan::calls(&spec.plan, &event_id(place.ts, place.hash)),
            grants: Grants::default(),
            rejections: BTreeMap::new(),
            spent: Spent { prior_cost_micros_usd: started.prior_cost_micros_usd.unwrap_or(0), ..Spent::default() },
            warned: Vec::new(),
            halted: None,
            final_text: String::new(),
            checkpoint: None,
            attachments: BTreeMap::new(),
            changed_files: false,
            client_messages: BTreeMap::new(),
            decisions: BTreeMap::new(),
            phases: None,
            throttled: Vec::new(),
            terminal: None,
            actor: started.extra.get("actor").as_ref().and_then(json::read),
            spec: Arc::new(spec),
        };
        state.begin_phases(place, payload);
        Ok(state)
    }

    /// The state after the first event of a run that goes on from `source`, as that was at the place
    /// which the new run names: it knows what was said, and nothing is open any more.
    pub fn continue_from(mut source: Self, place: Place, run: RunId, payload: &Payload) -> Result<Self, FoldError> {
        for call in &mut source.calls {
            if call.is_open() {
                call.close("the run was left before this call was made or had ended".into(), true);
            }
        }
        source.turn = None;
        source.deliver();
        let mut state = Self::begin(place, run, payload)?;
        let messages = source.conversation.messages().as_ref().clone();
        state.conversation = Conversation::rebuilt(&state.preamble_slices(), messages);
        // Whatever cut the answer short, it is asked for again.
        (state.needs_turn, state.unanswered) = (source.unanswered, source.unanswered);
        state.continue_phases(&source);
        state.attachments = source.attachments;
        state.checkpoint = source.checkpoint;
        state.memory = source.memory.inherited();
        Ok(state)
    }

    /// Reads a stored event of a v2 log.
    pub fn read(record: &Record) -> Result<(Place, Payload), FoldError> {
        let header = record.header().map_err(|err| FoldError::Unreadable { seq: 0, reason: err.to_string() })?;
        let place = Place { seq: header.seq, ts: header.ts, hash: record.hash() };
        let bytes = record.payload.as_ref().ok_or(FoldError::Erased { seq: header.seq })?;
        let payload = Payload::decode(header.kind, bytes)
            .map_err(|err| FoldError::Unreadable { seq: header.seq.get(), reason: err.to_string() })?;
        Ok((place, payload))
    }

    /// Takes the next event.
    pub fn apply(&mut self, place: Place, payload: &Payload) {
        match payload {
            Payload::UserMessageAppended(message) => self.user_message(place, message),
            Payload::TurnStarted(started) => self.turn_started(place, started),
            Payload::ReasoningEmitted(reasoning) => self.reasoning(reasoning),
            Payload::AssistantMessageCompleted(message) => self.turn_completed(message),
            Payload::ToolCallScheduled(scheduled) => self.call_invoked(place, scheduled),
            Payload::ToolCallCompleted(completed) => self.call_completed(completed),
            Payload::ToolCallFailed(failed) => self.call_failed(failed),
            Payload::SideEffectRecorded(effect) => self.side_effect(place, effect),
            Payload::BudgetExceeded(exceeded) => self.budget_exceeded(exceeded),
            Payload::ContextTruncated(_) => self.conversation = self.compacted(),
            Payload::RunCompleted(_) | Payload::RunFailed(_) | Payload::RunCancelled(_) => {
                self.terminal = Some(payload.kind());
            }
            Payload::RunResumed(resumed) => self.resumed(resumed),
            Payload::TurnFailed(failed) => self.turn_failed(failed),
            Payload::Typed(typed) => self.typed(place, typed),
            Payload::RunStarted(_) | Payload::Other(..) => {}
        }
        (self.last, self.last_at, self.head) = (place.seq, place.ts, place.hash);
        self.deliver();
        self.apply_to_phases(place, payload);
    }

    /// Once nothing is open, the model hears the results of its calls and then what people said meanwhile.
    fn deliver(&mut self) {
        // Without a model nobody hears the results, and what people say is only kept.
        if self.is_planned() || self.turn.is_some() || self.calls.iter().any(Call::is_open) {
            return;
        }
        let results: Vec<_> = std::mem::take(&mut self.calls)
            .into_iter()
            .filter_map(|call| {
                let (content, is_error) = call.answer?;
                Some(Block::ToolResult(ToolResult { call_id: call.call_id, content, is_error }))
            })
            .collect();
        self.needs_turn |= !results.is_empty() || !self.inbox.is_empty();
        self.unanswered |= self.needs_turn;
        self.conversation.push(Message { role: Role::User, blocks: results });
        for message in std::mem::take(&mut self.inbox) {
            self.conversation.push(message);
        }
    }

    fn user_message(&mut self, place: Place, message: &payload::UserMessageAppended) {
        if let Some(id) = &message.client_message_id {
            self.client_messages.insert(id.clone(), (place.seq, message.content.clone()));
        }
        self.hear(Block::Text(message.content.clone()));
    }

    fn hear(&mut self, block: Block) {
        self.inbox.push(Message { role: Role::User, blocks: vec![block] });
    }

    fn turn_started(&mut self, place: Place, started: &payload::TurnStarted) {
        self.needs_turn = false;
        self.last_turn_id.clone_from(&started.turn_id);
        self.turn = Some(Turn {
            turn_id: started.turn_id.clone(),
            index: started.turn_index.unwrap_or(self.spent.turns),
            started_at: place.ts,
            failures: 0,
            retry_at: None,
            blocks: BTreeMap::new(),
        });
    }

    fn reasoning(&mut self, reasoning: &payload::ReasoningEmitted) {
        let block = Block::Thinking(Thinking {
            text: reasoning.content.clone(),
            signature: reasoning.signature.clone(),
            redacted: reasoning.redacted,
        });
        self.said(reasoning.block_index, block);
    }

    /// Keeps a block of the open turn; without a number it comes last.
    fn said(&mut self, index: Option<u64>, block: Block) {
        if let Some(turn) = &mut self.turn {
            let last = turn.blocks.last_key_value().map_or(0, |(index, _)| index + 1);
            turn.blocks.insert(index.unwrap_or(last), block);
        }
    }

    fn turn_completed(&mut self, message: &payload::AssistantMessageCompleted) {
        let failed = self.failed_turn.take();
        let Some(turn) = self.turn.take().or_else(|| failed.map(|failed| Turn::closed(failed.turn_id, failed.index)))
        else {
            return;
        };
        let usage = answer::usage(message);
        self.spent.turn(usage, message.cost_micros_usd.unwrap_or(0));
        self.takeovers = 0;
        self.ticked = false;
        if matches!(message.stop_reason.as_str(), "cancelled" | "error") {
            self.calls.clear();
            return;
        }
        self.unanswered = false;
        if !message.text.is_empty() {
            self.final_text.clone_from(&message.text);
        }
        self.conversation.push(Message { role: Role::Assistant, blocks: turn.blocks.into_values().collect() });
        self.conversation.count(usage);
    }

    fn turn_failed(&mut self, failed: &payload::TurnFailed) {
        let Some(turn) = &mut self.turn else { return };
        turn.blocks.clear();
        turn.failures += 1;
        turn.retry_at = None;
        self.calls.clear();
        if failed.will_retry != Some(true) {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let (turn_id, index) = (turn.turn_id.clone(), turn.index);
            let retriable = failed.code.as_deref() != Some("model_error");
            let (code, message) = (text(&failed.code), text(&failed.message));
            self.failed_turn = Some(FailedTurn { turn_id, index, code, message, retriable });
            self.turn = None;
        }
    }

    fn call_invoked(&mut self, place: Place, scheduled: &payload::ToolCallScheduled) {
        let id = event_id(place.ts, place.hash);
        let Some(call) = self.call_mut(&scheduled.call_id) else { return };
        call.stage = Stage::Running { since: place.ts, began: false };
        call.attempts = scheduled.attempt.into();
        call.event_id = id;
        if call.attempts <= 1 {
            self.spent.tool_calls += 1;
        }
    }

    fn call_completed(&mut self, completed: &payload::ToolCallCompleted) {
        self.takeovers = 0;
        let content = json::from_raw(&completed.result);
        if let Some(call) = self.call_mut(&completed.call_id) {
            call.close(content, false);
        }
    }

    fn call_failed(&mut self, failed: &payload::ToolCallFailed) {
        let unknown = failed.outcome.as_deref() == Some("unknown");
        if !unknown {
            self.takeovers = 0;
        }
        let output = failed.result.as_ref().map(json::from_raw).filter(|output| !output.is_null());
        let Some(call) = self.call_mut(&failed.call_id) else { return };
        if unknown && !failed.r#final {
            call.stage = Stage::Reissue;
        } else {
            call.close(error_content(&failed.error, output), true);
        }
    }

    fn side_effect(&mut self, place: Place, effect: &payload::SideEffectRecorded) {
        let value = json::from_raw(&effect.value);
        match effect.name.as_str() {
            super::RETRY_DELAY => {
                if let (Some(turn), Some(delay)) = (&mut self.turn, value.as_i64()) {
                    turn.retry_at = Some(UnixNanos(place.ts.0.saturating_add(delay.saturating_mul(1_000_000))));
                }
            }
            super::TOOL_PREPARED => {
                let call_id = value.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
                if let Some(call) = self.call_mut(call_id) {
                    call.prepared = Some(match value.get("error").and_then(Value::as_str) {
                        Some(error) => Err(error.to_owned()),
                        None => Ok(Prepared::from_json(&value)),
                    });
                }
            }
            _ => {}
        }
    }

    fn budget_exceeded(&mut self, exceeded: &payload::BudgetExceeded) {
        self.halted = Some(super::budget::Axis::from_name(&exceeded.limit).map_or("usd", super::budget::Axis::name));
        self.turn = None;
        self.needs_turn = false;
    }

    fn resumed(&mut self, resumed: &payload::RunResumed) {
        self.phase = Phase::Claimed;
        self.throttled.clear();
        self.lease = resumed.worker_id.clone().map(|worker_id| Lease { worker_id });
        self.learn_instance(resumed.instance_id.clone(), resumed.trace_parent.clone());
        if self.turn.take().is_some() {
            self.needs_turn = true;
        }
        if !resumed.extra_message.is_empty() {
            self.hear(Block::Text(resumed.extra_message.clone()));
        }
    }

    fn learn_instance(&mut self, instance_id: Option<String>, trace_parent: Option<String>) {
        self.instance_id = instance_id.or_else(|| self.instance_id.take());
        self.trace_parent = trace_parent.or_else(|| self.trace_parent.take());
    }

    fn typed(&mut self, place: Place, typed: &Typed) {
        self.remember(typed);
        match typed.r#type.as_str() {
            data::RunStarted::TYPE => {
                self.phase = Phase::Claimed;
                self.throttled.clear();
                if let Some(started) = data::RunStarted::read(typed) {
                    self.lease = Some(Lease { worker_id: started.worker_id });
                    self.learn_instance(started.instance_id, started.trace_parent);
                }
            }
            data::RunThrottled::TYPE => {
                if let Some(throttled) = data::RunThrottled::read(typed) {
                    self.throttled.push(throttled.reason.as_str().to_owned());
                }
            }
            data::RunReleased::TYPE => self.phase = Phase::Queued,
            data::RunHandedOver::TYPE => self.disconnected(),
            data::GapRunDisconnected::TYPE => {
                self.takeovers += 1;
                self.disconnected();
            }
            data::AssistantTextComplete::TYPE => {
                if let Some(block) = data::AssistantTextComplete::read(typed) {
                    self.said(Some(block.block_index), Block::Text(block.text));
                }
            }
            data::AssistantToolCallProposed::TYPE => {
                if let Some(proposed) = data::AssistantToolCallProposed::read(typed) {
                    self.call_proposed(place, proposed);
                }
            }
            data::ApprovalRequested::TYPE => {
                if let Some(requested) = data::ApprovalRequested::read(typed) {
                    self.approval_requested(&requested);
                }
            }
            data::ApprovalResolved::TYPE => {
                if let Some(resolved) = data::ApprovalResolved::read(typed) {
                    self.approval_resolved(place, &resolved);
                }
            }
            data::ApprovalTimedOut::TYPE => {
                if let Some(timed_out) = data::ApprovalTimedOut::read(typed) {
                    if let Some(call) = self.waiting_mut(&timed_out.approval_id) {
                        call.close("nobody answered the request for approval in time".into(), true);
                    }
                    self.decisions.insert(timed_out.approval_id, (place.seq, "timed_out".into()));
                }
            }
            data::PolicyToolBlocked::TYPE => {
                if let Some(blocked) = data::PolicyToolBlocked::read(typed)
                    && let Some(call) = self.call_mut(&blocked.tool_call_id)
                {
                    call.close(format!("not allowed: {}", blocked.reason).into(), true);
                }
            }
            data::PolicyToolAllowed::TYPE => {
                if let Some(allowed) = data::PolicyToolAllowed::read(typed)
                    && let Some(call) = self.call_mut(&allowed.tool_call_id)
                {
                    call.allowed = true;
                }
            }
            data::ToolStarted::TYPE => {
                if let Some(started) = data::ToolStarted::read(typed)
                    && let Some(Call { stage: Stage::Running { began, .. }, .. }) = self.call_mut(&started.tool_call_id)
                {
                    *began = true;
                }
            }
            data::CostTick::TYPE => self.ticked = true,
            data::CostBudgetWarning::TYPE => {
                if let Some(warning) = data::CostBudgetWarning::read(typed) {
                    self.warned.push(warning.threshold_pct);
                }
            }
            data::RunCheckpointSaved::TYPE => {
                if let Some(saved) = data::RunCheckpointSaved::read(typed) {
                    let (seq, at) = (place.seq, place.ts);
                    let (checkpoint_id, workspace_revision) = (saved.checkpoint_id, saved.workspace_revision);
                    self.checkpoint = Some(Checkpoint { checkpoint_id, seq, at, workspace_revision });
                }
            }
            data::ArtifactCreated::TYPE => self.artifact_created(typed),
            data::UserAttachment::TYPE => self.attached(typed),
            data::ToolEditApplied::TYPE | data::ToolMultiEditApplied::TYPE | data::ToolFileWriteApplied::TYPE => {
                self.changed_files = true;
                let call_id = json::from_raw(&typed.data);
                let call_id = call_id.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
                if let Some(Call { prepared: Some(Ok(prepared)), .. }) = self.call_mut(call_id) {
                    prepared.applied = true;
                }
            }
            data::PolicyModelRewrote::TYPE => {
                if let Some(rewrote) = data::PolicyModelRewrote::read(typed) {
                    self.model = rewrote.to_model;
                    self.model_was_rewritten = true;
                }
            }
            data::ErrorModelCapabilityMissing::TYPE => {
                if let Some(missing) = data::ErrorModelCapabilityMissing::read(typed) {
                    self.missing_capabilities.push(missing.missing_capability);
                }
            }
            data::SessionInterrupted::TYPE => (self.needs_turn, self.unanswered) = (false, false),
            data::TaskUpdated::TYPE => self.task_updated(typed),
            _ => {}
        }
    }

    fn disconnected(&mut self) {
        self.phase = if self.spec.interactive && !self.is_idle() { Phase::Paused } else { Phase::Queued };
    }

    fn call_proposed(&mut self, place: Place, proposed: data::AssistantToolCallProposed) {
        let tool_use = ToolUse {
            call_id: proposed.tool_call_id.clone(),
            tool: proposed.tool_name.clone(),
            input: Value::Object(proposed.input.clone()),
        };
        self.said(None, Block::ToolUse(tool_use));
        self.calls.push(Call {
            call_id: proposed.tool_call_id,
            tool: proposed.tool_name,
            input: Value::Object(proposed.input),
            edited: false,
            redacted: proposed.redacted_paths.is_some(),
            event_id: event_id(place.ts, place.hash),
            prepared: None,
            allowed: false,
            attempts: 0,
            stage: Stage::Proposed,
            answer: None,
        });
    }

    fn approval_requested(&mut self, requested: &data::ApprovalRequested) {
        let human_only = requested.approver.as_ref().is_some_and(|approver| approver.as_str() == "human");
        let subject_hash = requested.subject_hash.parse().unwrap_or(Digest::new([0; 32]));
        let expires_at = requested.expires_at.as_ref().and_then(data::Time::nanos);
        let Some(call) = requested.tool_call_id.as_deref().and_then(|id| self.call_mut(id)) else { return };
        call.stage =
            Stage::Waiting { approval_id: requested.approval_id.clone(), subject_hash, expires_at, human_only };
    }

    fn approval_resolved(&mut self, place: Place, resolved: &data::ApprovalResolved) {
        let decision = resolved.decision.as_str().to_owned();
        self.decisions.insert(resolved.approval_id.clone(), (place.seq, decision));
        let Some(call) = self.waiting_mut(&resolved.approval_id) else { return };
        let Stage::Waiting { subject_hash, .. } = call.stage else { return };
        match resolved.decision.as_str() {
            "approved" => {
                call.stage = Stage::Approved;
                if let Some(input) = &resolved.edited_input {
                    call.input = Value::Object(input.clone());
                    call.edited = true;
                    call.redacted = resolved.redacted_paths.is_some();
                    call.prepared = None;
                }
                self.rejections.remove(&subject_hash);
                if let Some(grant) = resolved.grant.as_ref().and_then(Grant::from_json) {
                    self.grants.add(&resolved.approval_id, grant);
                }
            }
            "rejected" => {
                let comment = match resolved.comment.as_str() {
                    "" => "a person refused this call".to_owned(),
                    comment => format!("a person refused this call: {comment}"),
                };
                call.close(comment.into(), true);
                *self.rejections.entry(subject_hash).or_default() += 1;
            }
            _ => call.close("the request for approval was withdrawn".into(), true),
        }
    }

    fn waiting_mut(&mut self, approval_id: &str) -> Option<&mut Call> {
        self.calls
            .iter_mut()
            .find(|call| matches!(&call.stage, Stage::Waiting { approval_id: waiting, .. } if waiting == approval_id))
    }

    fn artifact_created(&mut self, typed: &Typed) {
        let Some(created) = data::ArtifactCreated::read(typed) else { return };
        // Only what came with a message is shown to the model again.
        if created.tool_call_id.is_none()
            && let Some(digest) = created.digest.strip_prefix("blake3:").and_then(|hex| hex.parse().ok())
        {
            let (mime, name) = (created.mime.unwrap_or_default(), created.name.unwrap_or_default());
            self.attachments.insert(created.artifact_id, (digest, mime, name));
        }
    }

    fn attached(&mut self, typed: &Typed) {
        let attachment = data::UserAttachment::read(typed);
        let known = attachment.and_then(|attachment| self.attachments.get(&attachment.artifact_id).cloned());
        if let Some((digest, mime, name)) = known {
            self.hear(Block::Attachment { mime, name, digest });
        }
    }

    fn task_updated(&mut self, typed: &Typed) {
        let Some(updated) = data::TaskUpdated::read(typed) else { return };
        let data::TaskUpdated { title, priority, budget, .. } = updated;
        self.title = title.unwrap_or_else(|| std::mem::take(&mut self.title));
        self.priority = priority.unwrap_or_else(|| std::mem::take(&mut self.priority));
        if let Some(budget) = budget.and_then(|budget| serde_json::from_value(Value::Object(budget)).ok()) {
            Arc::make_mut(&mut self.spec).budget = budget;
        }
    }

    pub(super) fn preamble_slices(&self) -> Vec<&[u8]> {
        slices(&self.preamble)
    }
}

impl Turn {
    fn closed(turn_id: String, index: u64) -> Self {
        let (started_at, blocks) = (UnixNanos(0), BTreeMap::new());
        Self { turn_id, index, started_at, failures: 0, retry_at: None, blocks }
    }
}

/// What the model hears of a failure.
fn error_content(error: &str, output: Option<Value>) -> Value {
    match output {
        None => error.into(),
        Some(Value::String(text)) => format!("{error}\n{text}").into(),
        Some(other) => serde_json::json!({ "error": error, "output": other }),
    }
}

/// How many parts of the preamble a run's first event has.
pub(super) const PREAMBLE: usize = 4;

fn preamble(started: &payload::RunStarted) -> Vec<Vec<u8>> {
    vec![
        started.model_id.as_bytes().to_vec(),
        started.params.bytes().to_vec(),
        started.system_prompt.as_bytes().to_vec(),
        started.tool_registry_hash.clone().unwrap_or_default().to_vec(),
    ]
}

fn slices(parts: &[Vec<u8>]) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}

fn origin(raw: &payload::Raw) -> Option<Origin> {
    let value: Value = json::read(raw)?;
    Some(Origin { run: value.get("run_id")?.as_str()?.parse().ok()?, seq: Seq::new(value.get("seq")?.as_u64()?)? })
}
