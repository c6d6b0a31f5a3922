//! The one task that owns a run while it is worked on.
//!
//! It goes round: take what came from outside, let the loop say what follows, append both in one batch,
//! and see that the work the loop waits for is under way. Nothing else writes to the run.

mod commands;
mod leaving;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use r1_event::{Batch, Payload, UnixNanos, payload};
use r1_protocol::api::RunStatus;
use r1_protocol::data::{self, EventData};
use r1_protocol::json;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call::{self, Job};
use super::claim::Claimed;
use super::gate;
use super::keeper::Standing;
use super::room::{self, NoRoom, Room};
use super::stage;
use super::turn::{self, Answered};
use super::{Engine, EngineError, Outcome, Slot};
use crate::agent::command::Response;
use crate::agent::{Effect, RunState, Stage, Toolset};
use crate::artifact::Artifacts;
use crate::control::caller::Caller;
use crate::control::errand::Errand;
use crate::emit::{Emission, EmitRequest, Emitter};
use crate::gate::save_start;
use crate::mcp::Servers;
use crate::memory::{self, Asked, Library, Memory};
use crate::model::{Block, ModelRequest};
use crate::provider::{Provider, ProviderError, ProviderFailure};
use crate::sandbox::Sandbox;
use crate::tool::ToolContext;
use crate::workspace::Workspace;
use crate::world;
use crate::writer::RunWriter;

/// Events that tools may have waiting for the log.
const QUEUE: usize = 256;

/// How often commands are looked for when no wake-up comes.
const POLL: Duration = Duration::from_secs(1);

pub(super) struct Runner<'e> {
    engine: &'e Engine,
    state: RunState,
    writer: RunWriter,
    tools: Toolset,
    tool_names: Arc<[String]>,
    /// End with the runner.
    _servers: Servers,
    provider: Result<Arc<dyn Provider>, ProviderError>,
    workspace: Arc<Workspace>,
    sandbox: Arc<Sandbox>,
    emitter: Emitter,
    requests: mpsc::Receiver<EmitRequest>,
    memory: Memory,
    asked: mpsc::Receiver<Asked>,
    tasks: JoinSet<Work>,
    under_way: BTreeMap<Effect, Task>,
    names: HashMap<Id, Effect>,
    /// Inputs as the model wrote them. The log has them without secrets.
    real_inputs: HashMap<String, Value>,
    /// When the provider wants to be asked again.
    retry_after: Option<Duration>,
    /// A command that ends the exchange or the run, once all work has stopped.
    ending: Option<Ending>,
    /// Whether the run is being handed over: what is under way may end, and nothing follows from it.
    leaving: bool,
    renewed: Instant,
}

struct Task {
    cancel: CancellationToken,
}

struct Ending {
    id: String,
    errand: Errand,
}

/// What a batch answers: it settles the command and tells its caller.
struct Settles<'a> {
    id: &'a str,
    caller: &'a Caller,
    /// The place among the inputs of the one that answers.
    answer: usize,
}

/// What a task brings back.
enum Work {
    Answer(Answered),
    Event(Box<Payload>),
    Decision(Vec<Emission>),
}

impl<'e> Runner<'e> {
    /// Gets everything ready. `None` if the run has just failed because something it needs is not there.
    pub(super) async fn new(engine: &'e Engine, claimed: Claimed) -> Result<Option<Self>, EngineError> {
        let Claimed { mut state, mut writer, .. } = claimed;
        let spec = state.spec.clone();
        let room = room::enter(engine, &state, &mut writer).await?;
        let connected = engine.world.tools(&spec, Path::new(&state.workspace_path)).await;
        let mut events: Vec<_> = connected.missing.iter().map(|(name, reason)| unavailable(name, reason)).collect();
        let provider = engine.world.provider(&spec);
        if let Ok(provider) = &provider {
            events.extend(missing_capabilities(&state, provider.as_ref()));
        }
        if let Err(NoRoom { code, message }) = &room {
            events.push(state.failed(code, message.clone(), true));
        }
        let events = events.into_iter().map(Emission::plain).collect();
        let response = Response { events, answer: 0 };
        super::claim::commit(engine, &mut writer, &mut state, response, &Caller::default()).await?;
        let Ok(Room { workspace, sandbox }) = room else {
            writer.close().await?;
            return Ok(None);
        };
        let (emitter, requests) = Emitter::channel(QUEUE);
        let library = Library::new(engine.index.clone(), state.memory_workspace());
        let (memory, asked) = Memory::channel(state.run.clone(), library, emitter.clone(), engine.redactor.clone());
        Ok(Some(Self {
            engine,
            state,
            writer,
            tool_names: connected.tools.specs().map(|spec| spec.name.clone()).collect(),
            tools: connected.tools,
            _servers: connected.servers,
            provider,
            workspace: Arc::new(workspace),
            sandbox: Arc::new(sandbox),
            emitter,
            requests,
            memory,
            asked,
            tasks: JoinSet::new(),
            under_way: BTreeMap::new(),
            names: HashMap::new(),
            real_inputs: HashMap::new(),
            retry_after: None,
            ending: None,
            leaving: false,
            renewed: Instant::now(),
        }))
    }

    /// Works until the run ends or `stop` is called.
    pub(super) async fn run(mut self, stop: CancellationToken, slot: &Slot) -> Result<Outcome, EngineError> {
        let mut commands = self.engine.store.watch_commands(&self.state.run);
        let lease = self.writer.lease().clone();
        let mut kept = self.engine.keeper.keep(&self.engine.store, lease, self.engine.lease);
        self.commit(Vec::new(), None).await?;
        self.take_commands().await?;
        loop {
            if let Some(kind) = self.state.terminal {
                self.stop_all().await;
                self.writer.close().await?;
                return Ok(Outcome::Ended(kind));
            }
            self.see_to_the_work().await?;
            if self.finish_ending().await? {
                continue;
            }
            slot.rest(matches!(self.state.status(), RunStatus::AwaitingApproval | RunStatus::Idle));
            let deadline = self.state.next_deadline().map_or(Duration::from_secs(3600), until);
            // Every arm is cancel-safe: a queue, a join set, watches and timers.
            tokio::select! {
                Some(request) = self.requests.recv() => self.take_emissions(request).await?,
                Some(asked) = self.asked.recv() => self.remember(asked).await?,
                Some(done) = self.tasks.join_next_with_id() => self.task_ended(done).await?,
                _ = commands.arrived() => self.take_commands().await?,
                () = tokio::time::sleep(POLL) => self.take_commands().await?,
                () = tokio::time::sleep(deadline) => self.lapse().await?,
                standing = kept.news() => self.hear_of_lease(standing).await?,
                () = tokio::time::sleep_until(self.renewed + self.engine.self_fence()) => return self.fence().await,
                () = stop.cancelled() => return self.hand_over().await,
            }
        }
    }

    /// Appends what came from outside and all that the loop says to it, as one batch.
    async fn commit(
        &mut self,
        inputs: Vec<Emission>,
        settles: Option<Settles<'_>>,
    ) -> Result<Vec<String>, EngineError> {
        let mut batch = self.writer.batch();
        let mut ids = Vec::with_capacity(inputs.len());
        for (place, input) in inputs.into_iter().enumerate() {
            let staged = self.stage(&mut batch, input)?;
            if let Some(Settles { caller, answer, .. }) = &settles
                && place == *answer
            {
                caller.note_in(&mut batch, &self.state.run, staged.seq);
            }
            ids.push(staged.id);
        }
        if self.ending.is_none() && !self.leaving {
            while let Some(payload) = self.state.decide(&self.tools) {
                self.stage(&mut batch, Emission::plain(payload))?;
            }
        }
        if let Some(Settles { id, .. }) = settles {
            batch.settle(id);
        }
        if !batch.records().is_empty() {
            self.writer.append_batch(batch).await?;
        }
        Ok(ids)
    }

    fn stage(&mut self, batch: &mut Batch, emission: Emission) -> Result<stage::Staged, EngineError> {
        stage::stage(self.engine, batch, &mut self.state, emission)
    }

    async fn input(&mut self, payload: Payload) -> Result<(), EngineError> {
        self.commit(vec![Emission::plain(payload)], None).await.map(drop)
    }

    async fn inputs(&mut self, payloads: Vec<Payload>) -> Result<(), EngineError> {
        self.commit(payloads.into_iter().map(Emission::plain).collect(), None).await.map(drop)
    }

    /// Takes all events that wait, as one batch.
    async fn take_emissions(&mut self, first: EmitRequest) -> Result<(), EngineError> {
        let mut waiting = Vec::new();
        let mut inputs = Vec::new();
        let mut next = Some(first);
        while let Some(request) = next {
            waiting.push((request.events.len(), request.done));
            inputs.extend(request.events);
            next = if inputs.len() < QUEUE { self.requests.try_recv().ok() } else { None };
        }
        let mut ids = self.commit(inputs, None).await?.into_iter();
        for (count, done) in waiting {
            // Whoever asked may be gone by now; its event is written all the same.
            let _ = done.send(ids.by_ref().take(count).collect());
        }
        Ok(())
    }

    /// Answers what a tool asks of the run's memory, once the log tells of it.
    async fn remember(&mut self, asked: Asked) -> Result<(), EngineError> {
        if let Some(mut prepared) = memory::prepare(&self.engine.store, &self.state.memory, asked).await {
            self.commit(prepared.event.take().into_iter().collect(), None).await?;
            prepared.answer();
        }
        Ok(())
    }

    /// Starts what must be under way and is not, and stops what is and must not be.
    async fn see_to_the_work(&mut self) -> Result<(), EngineError> {
        loop {
            let wanted = if self.ending.is_some() { Vec::new() } else { self.state.effects(&self.tools) };
            for (effect, task) in &self.under_way {
                if !wanted.contains(effect) {
                    task.cancel.cancel();
                }
            }
            let Some(delay) = wanted.iter().find_map(|effect| match effect {
                Effect::Delay { attempt, .. } => Some(*attempt),
                _ => None,
            }) else {
                for effect in wanted {
                    if !self.under_way.contains_key(&effect) {
                        self.start(effect);
                    }
                }
                return Ok(());
            };
            let chance = u64::from_le_bytes(world::random::<8>()?);
            let delay = turn::retry_delay(delay.saturating_sub(1), self.retry_after.take(), chance);
            self.input(Payload::SideEffectRecorded(payload::SideEffectRecorded {
                name: crate::agent::RETRY_DELAY.into(),
                value: json::to_raw(&u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
                ..Default::default()
            }))
            .await?;
        }
    }

    fn start(&mut self, effect: Effect) {
        let cancel = CancellationToken::new();
        let handle = match &effect {
            Effect::Model { .. } => {
                let (ask, cancel) = (self.model_call(), cancel.clone());
                // An answer that nobody waits for any more is not drained: dropping the call ends it.
                self.tasks.spawn(async move {
                    let stopped = Answered { result: Err(stopped()), took: Duration::ZERO };
                    Work::Answer(cancel.run_until_cancelled(ask).await.unwrap_or(stopped))
                })
            }
            Effect::Prepare { call_id } => {
                let (job, context) = (self.job(call_id), self.context(cancel.clone()));
                match job {
                    Some(job) => self.tasks.spawn(async move { Work::Event(Box::new(job.prepare(context).await)) }),
                    None => return,
                }
            }
            Effect::Run { call_id, .. } => {
                let (job, context, names) = (self.job(call_id), self.context(cancel.clone()), self.tool_names.clone());
                match job {
                    Some(job) => self.tasks.spawn(async move { Work::Event(Box::new(job.run(context, names).await)) }),
                    None => return,
                }
            }
            Effect::Checkpoint => {
                let (snapshots, workspace) = (self.engine.snapshots.clone(), self.workspace.clone());
                let at_sequence = self.state.last.get() - 1;
                let begins = self.state.phases.as_ref().is_some_and(|phases| phases.must_save());
                let plan = self.state.spec.phases.as_ref().filter(|_| begins);
                let preset = plan.map(|plan| plan.preset.clone());
                self.tasks.spawn(async move {
                    let workspace_revision = match &preset {
                        Some(preset) => save_start(&snapshots, workspace.root(), preset).await,
                        None => snapshots.save(workspace.root()).await,
                    };
                    Work::Event(Box::new(checkpoint(at_sequence, workspace_revision)))
                })
            }
            Effect::Gate { round, gate } => {
                let context = self.context(cancel.clone());
                match gate::Job::new(self.engine, &self.state, context, *round, gate) {
                    Some(job) => self.tasks.spawn(async move { Work::Decision(job.run().await) }),
                    None => return,
                }
            }
            Effect::Delay { .. } => return,
        };
        self.names.insert(handle.id(), effect.clone());
        self.under_way.insert(effect, Task { cancel });
    }

    fn model_call(&self) -> impl Future<Output = Answered> + Send + 'static {
        let state = &self.state;
        let turn = state.turn.as_ref();
        let retry_at = turn.and_then(|turn| turn.retry_at);
        let request = ModelRequest {
            model: state.model.clone(),
            system: state.told_first().into(),
            messages: state.conversation.messages().clone(),
            tools: self.tools.specs().cloned().collect(),
            max_output_tokens: state.max_output_tokens(),
            params: state.spec.params.clone(),
            turn_index: turn.map_or(0, |turn| turn.index),
            attempt: turn.map_or(1, |turn| turn.failures + 1),
            attachments: Arc::default(),
        };
        let (provider, events, redactor) = (self.provider.clone(), self.emitter.clone(), self.engine.redactor.clone());
        let (store, thinking_deltas) = (self.engine.store.clone(), state.spec.thinking_deltas);
        async move {
            if let Some(at) = retry_at {
                tokio::time::sleep(until(at)).await;
            }
            match provider {
                Ok(provider) => {
                    let request = with_attachments(request, &store).await;
                    turn::ask(provider, request, events, redactor, thinking_deltas).await
                }
                Err(error) => Answered { result: Err(error), took: Duration::ZERO },
            }
        }
    }

    fn job(&self, call_id: &str) -> Option<Job> {
        let call = self.state.call(call_id)?;
        Some(Job::new(&self.state, call, &self.tools, self.real_inputs.get(call_id)))
    }

    fn context(&self, cancel: CancellationToken) -> ToolContext {
        ToolContext {
            workspace: self.workspace.clone(),
            sandbox: self.sandbox.clone(),
            events: self.emitter.clone(),
            artifacts: Artifacts::new(self.engine.store.clone(), self.emitter.clone(), self.engine.redactor.clone()),
            redactor: self.engine.redactor.clone(),
            memory: self.memory.clone(),
            cancel,
        }
    }

    async fn task_ended(&mut self, done: Result<(Id, Work), JoinError>) -> Result<(), EngineError> {
        let (id, work) = match done {
            Ok((id, work)) => (id, Some(work)),
            Err(err) => (err.id(), None),
        };
        let Some(effect) = self.names.remove(&id) else { return Ok(()) };
        let was_stopped = self.under_way.remove(&effect).is_some_and(|task| task.cancel.is_cancelled());
        match (effect, work) {
            (Effect::Model { turn_id, .. }, work) => {
                let answered = match work {
                    Some(Work::Answer(answered)) => answered,
                    _ => Answered { result: Err(defect()), took: Duration::ZERO },
                };
                self.answered(&turn_id, answered).await
            }
            (Effect::Run { call_id, .. }, None) => {
                let event = self.state.call(&call_id).map(|call| call::panicked(&self.state, call));
                self.inputs(event.into_iter().collect()).await
            }
            (Effect::Run { call_id, .. }, Some(Work::Event(event))) => {
                // A call that was closed meanwhile has its end in the log already.
                let open = self.state.call(&call_id).is_some_and(|call| matches!(call.stage, Stage::Running { .. }));
                if open { self.input(*event).await } else { Ok(()) }
            }
            (Effect::Prepare { call_id }, Some(Work::Event(event))) => {
                let waits = self.state.call(&call_id).is_some_and(|call| call.prepared.is_none());
                if waits { self.input(*event).await } else { Ok(()) }
            }
            (Effect::Prepare { call_id }, None) => {
                self.input(Payload::SideEffectRecorded(payload::SideEffectRecorded {
                    name: crate::agent::TOOL_PREPARED.into(),
                    value: json::to_raw(&serde_json::json!({
                        "tool_call_id": call_id,
                        "error": "the tool failed with a defect of its own",
                    })),
                    ..Default::default()
                }))
                .await
            }
            (Effect::Checkpoint, Some(Work::Event(event))) => self.input(*event).await,
            (Effect::Gate { round, gate }, work) => {
                // One that was stopped is asked again by whoever goes on.
                if was_stopped || !self.state.waits_for_gate(round, &gate) {
                    return Ok(());
                }
                let decision = match work {
                    Some(Work::Decision(decision)) => decision,
                    _ => gate::defect(&self.state, round, &gate),
                };
                self.commit(decision, None).await.map(drop)
            }
            (Effect::Checkpoint, _) => self.input(checkpoint(self.state.last.get() - 1, None)).await,
            (_, _) => Ok(()),
        }
    }

    async fn answered(&mut self, turn_id: &str, answered: Answered) -> Result<(), EngineError> {
        let Some(turn) = self.state.turn.clone().filter(|turn| turn.turn_id == turn_id) else { return Ok(()) };
        if self.ending.is_some() {
            return Ok(());
        }
        let events = match &answered.result {
            Ok(response) => {
                for block in &response.blocks {
                    if let Block::ToolUse(call) = block {
                        self.real_inputs.insert(call.call_id.clone(), call.input.clone());
                    }
                }
                turn::answer_events(&self.state, &turn, response, answered.took)
            }
            Err(error) => {
                self.retry_after = error.retry_after;
                turn::failure_events(&self.state, &turn, error)
            }
        };
        self.inputs(events).await
    }

    /// What lapses by itself has lapsed.
    async fn lapse(&mut self) -> Result<(), EngineError> {
        let now = world::now();
        let mut events = Vec::new();
        for call in &self.state.calls {
            if let Stage::Waiting { approval_id, expires_at: Some(at), .. } = &call.stage
                && *at <= now
            {
                let timed_out = data::ApprovalTimedOut {
                    approval_id: approval_id.clone(),
                    after_seconds: self.state.spec.approval_timeout_s,
                    ..Default::default()
                };
                events.push(timed_out.to_payload());
            }
        }
        let asked = self.state.phases.iter().flat_map(|phases| phases.questions());
        for (question, _) in asked.filter(|(question, _)| question.expires_at.is_some_and(|at| at <= now)) {
            let (approval_id, after_seconds) = (question.approval_id.clone(), self.state.spec.approval_timeout_s);
            events.push(data::ApprovalTimedOut { approval_id, after_seconds, ..Default::default() }.to_payload());
        }
        events.extend(self.state.out_of_time(now));
        self.inputs(events).await
    }

    async fn hear_of_lease(&mut self, standing: Standing) -> Result<(), EngineError> {
        match standing {
            Standing::Holds(lease) => {
                self.writer.was_renewed(lease);
                self.renewed = Instant::now();
                Ok(())
            }
            Standing::Lost => self.fence().await.map(drop),
        }
    }

    /// Stops all work before anyone else can take the run.
    async fn fence(&mut self) -> Result<Outcome, EngineError> {
        self.stop_all().await;
        Err(EngineError::LeaseLost)
    }
}

/// What came with messages and the model cannot take as it is, unless that was told before.
fn missing_capabilities(state: &RunState, provider: &dyn Provider) -> Vec<Payload> {
    let blocks = state.conversation.messages().iter().flat_map(|message| &message.blocks);
    let mut missing: Vec<_> = blocks
        .filter_map(|block| match block {
            Block::Attachment { mime, .. } if !provider.takes(mime) => Some(format!("attachment:{mime}")),
            _ => None,
        })
        .filter(|capability| !state.missing_capabilities.contains(capability))
        .collect();
    missing.sort();
    missing.dedup();
    let event = |missing_capability| {
        data::ErrorModelCapabilityMissing {
            model: state.model.clone(),
            missing_capability,
            fallback_strategy: "name_and_text".into(),
            ..Default::default()
        }
        .to_payload()
    };
    missing.into_iter().map(event).collect()
}

fn unavailable(tool_name: &str, reason: &str) -> Payload {
    let (tool_name, reason) = (tool_name.to_owned(), reason.to_owned());
    data::ErrorToolUnavailable { tool_name, reason, ..Default::default() }.to_payload()
}

fn checkpoint(at_sequence: u64, workspace_revision: Option<String>) -> Payload {
    data::RunCheckpointSaved {
        checkpoint_id: world::new_id("ckpt"),
        at_sequence: Some(at_sequence),
        workspace_revision,
        ..Default::default()
    }
    .to_payload()
}

/// The contents of what people attached, for providers that want them in the request.
async fn with_attachments(mut request: ModelRequest, store: &r1_store::SharedStore) -> ModelRequest {
    use futures_util::TryStreamExt;
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    let digests: Vec<_> = blocks
        .filter_map(|block| if let Block::Attachment { digest, .. } = block { Some(*digest) } else { None })
        .collect();
    let mut contents = HashMap::new();
    for digest in digests {
        if let Ok(content) = store.blobs().get(digest).await
            && let Ok(pieces) = content.try_collect::<Vec<_>>().await
        {
            contents.insert(digest, pieces.concat().into());
        }
    }
    request.attachments = Arc::new(contents);
    request
}

/// How long until `at`; nothing if it is past.
fn until(at: UnixNanos) -> Duration {
    Duration::from_nanos(u64::try_from(at.0.saturating_sub(world::now().0)).unwrap_or(0))
}

fn stopped() -> ProviderError {
    let message = "the call was stopped".to_owned();
    ProviderError { kind: ProviderFailure::Unreachable, status: 0, message, retry_after: None }
}

fn defect() -> ProviderError {
    let message = "the provider failed with a defect of its own".to_owned();
    ProviderError { kind: ProviderFailure::Malformed, status: 0, message, retry_after: None }
}
