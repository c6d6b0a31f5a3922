//! Making a run: its first events say all that there is to know of it.

use bytes::Bytes;
use r1_event::payload::{self, Raw};
use r1_event::{Batch, Chain, ChainError, Digest, Payload, RunId, Seq};
use r1_protocol::api::TaskKind;
use r1_protocol::data::{self, Actor, EventData, Object};
use r1_protocol::json;
use r1_store::{BlobError, LeaseError, StoreError};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::caller::Caller;
use crate::agent::command::{attached, set_actor};
use crate::agent::{ReviewerSpec, RunSpec};
use crate::engine::Engine;
use crate::provider::Wire;
use crate::tool::ToolSpec;
use crate::trace::TraceParent;
use crate::world::{self, NoRandomness};
use crate::writer::{RunWriter, WriterError};

/// A run that is wanted.
#[derive(Clone, Debug, Default)]
pub struct NewRun {
    /// What kind of work; without a model, the plan in the spec says what to do.
    pub kind: TaskKind,
    /// What to do.
    pub prompt: String,
    /// In a few words; the beginning of the prompt if not given.
    pub title: Option<String>,
    /// How.
    pub spec: RunSpec,
    /// Which model.
    pub model: String,
    /// What the model is told first.
    pub system_prompt: String,
    /// Where.
    pub workspace_path: String,
    /// clone, worktree, in_place or none.
    pub workspace_mode: String,
    /// Files that come with the prompt.
    pub attachments: Vec<Attachment>,
    /// The task, if it is one that is there already.
    pub task_id: Option<String>,
    /// Which run of its task it is, from 1.
    pub number: u64,
    /// low, normal or high.
    pub priority: Option<String>,
    /// What the owner of the task calls it.
    pub tags: Object,
    /// The W3C `traceparent` of whoever asks. What is none is ignored.
    pub trace_parent: Option<String>,
    /// Whether it waits for its release.
    pub held: bool,
    /// The run that it goes on from, and how.
    pub origin: Option<Continuation>,
}

/// How a new run goes on from another one.
#[derive(Clone, Debug)]
pub struct Continuation {
    /// Which run.
    pub run: RunId,
    /// The last event that counts.
    pub seq: r1_event::Seq,
    /// In what way.
    pub way: Way,
    /// Why.
    pub reason: String,
    /// What the task has cost before.
    pub prior_cost_micros_usd: u64,
    /// The checkpoint that its workspace comes from.
    pub checkpoint_id: Option<String>,
    /// The session that both belong to.
    pub session_id: Option<String>,
}

/// In what way a run goes on from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It takes up what the other left unfinished.
    Resume,
    /// It tries another way from some point on.
    Fork,
    /// It starts the same task from the beginning.
    Retry,
}

/// A file that comes with a prompt.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// Its content.
    pub content: Bytes,
}

/// Why a run was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is nothing to do.
    #[error("the prompt is empty; say what is to be done")]
    EmptyPrompt,
    /// What is to be run holds a secret.
    #[error("what is to be run holds a secret, which the log does not keep; give it to programs in their environment")]
    SecretInPlan,
    /// A budget in money needs a price.
    #[error("the price of `{model}` is not known, so a budget in money cannot be kept; give its price, or allow that")]
    UnknownPrice {
        /// The model.
        model: String,
    },
    /// An attachment could not be stored.
    #[error("attachment `{name}` could not be stored")]
    Attachment {
        /// Which.
        name: String,
        /// Why.
        #[source]
        source: BlobError,
    },
    /// The first events could not be written.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// No random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl From<StoreError> for CreateError {
    fn from(err: StoreError) -> Self {
        Self::Writer(err.into())
    }
}

impl From<LeaseError> for CreateError {
    fn from(err: LeaseError) -> Self {
        Self::Writer(err.into())
    }
}

impl From<ChainError> for CreateError {
    fn from(err: ChainError) -> Self {
        Self::Writer(err.into())
    }
}

/// A reviewer that would be paid from a budget in money at a price that nobody knows. A script says itself
/// what it costs.
fn unpriced_reviewer(spec: &RunSpec) -> Option<&ReviewerSpec> {
    let reviewer = spec.phases.as_ref()?.reviewer.as_ref()?;
    let is_unknown = reviewer.price.is_none() && reviewer.provider.wire != Wire::Scripted;
    (spec.budget.micros_usd > 0 && reviewer.needs_room && is_unknown).then_some(reviewer)
}

/// Makes a run. It is durable, and in the queue, when this returns. Its first event is what tells of it.
pub async fn create(
    engine: &Engine,
    mut new: NewRun,
    allow_unknown_price: bool,
    caller: &Caller,
) -> Result<RunId, CreateError> {
    if new.kind == TaskKind::AgentLoop && new.prompt.trim().is_empty() && new.origin.is_none() {
        return Err(CreateError::EmptyPrompt);
    }
    for call in &new.spec.plan {
        let mut input = call.input.clone();
        input.values_mut().for_each(|value| engine.redactor().json(value));
        if input != call.input {
            return Err(CreateError::SecretInPlan);
        }
    }
    if new.spec.budget.micros_usd > 0 && new.spec.price.is_none() && !allow_unknown_price {
        return Err(CreateError::UnknownPrice { model: new.model });
    }
    if let Some(reviewer) = unpriced_reviewer(&new.spec).filter(|_| !allow_unknown_price) {
        return Err(CreateError::UnknownPrice { model: reviewer.model.clone() });
    }
    // Before they are hashed: the hashes are of what the log has.
    new.system_prompt = engine.redactor().text(&new.system_prompt).into_owned();
    new.spec.params.values_mut().for_each(|value| engine.redactor().json(value));
    let mut blobs = Vec::new();
    for attachment in &new.attachments {
        let content = attachment.content.clone();
        let stream = Box::pin(futures_util::stream::once(async move { Ok(content) }));
        let failed = |source| CreateError::Attachment { name: attachment.name.clone(), source };
        blobs.push(engine.store().blobs().put(stream).await.map_err(failed)?);
    }
    let now = world::now();
    let run = world::new_run_id(now)?;
    let owner = world::lease_owner(engine.instance());
    let mut writer = RunWriter::open(engine.store().clone(), run.clone(), &owner, None).await?;
    let mut batch = Batch::new(&Chain::new(run.clone()));
    let actor = caller.actor.as_ref();
    let asked_in = new.trace_parent.take().and_then(|given| Some((TraceParent::parse(&given)?, given)));
    let trace_parent = TraceParent::mint(asked_in.as_ref().map(|(parsed, _)| parsed))?;
    let mut events = first_events(&run, engine.instance(), &new, actor);
    if let Some(Payload::RunStarted(started)) = events.first_mut() {
        started.trace_parent = Some(trace_parent.to_string());
        started.trace_parent_in = asked_in.map(|(_, given)| given);
    }
    for payload in events {
        batch.push(world::now(), engine.redactor().payload(payload))?;
    }
    for (attachment, blob) in new.attachments.iter().zip(blobs) {
        let artifact_id = world::new_id("art");
        let created_by = batch.after().head().map(|head| r1_protocol::event_id(now, head)).unwrap_or_default();
        let created = data::ArtifactCreated {
            artifact_id: artifact_id.clone(),
            kind: if attachment.mime.starts_with("image/") { "image".into() } else { "file_snapshot".into() },
            size_bytes: blob.size,
            summary: attachment.name.clone(),
            created_by_event_id: created_by,
            digest: format!("blake3:{}", blob.hash),
            sha256: r1_event::id::to_hex(&Sha256::digest(&attachment.content)),
            mime: Some(attachment.mime.clone()),
            status: Some("created".into()),
            name: Some(attachment.name.clone()),
            ..Default::default()
        };
        let seq = batch.push(world::now(), engine.redactor().payload(created.to_payload()))?;
        batch.reference_blob(seq, blob.hash);
        let attached = attached(&artifact_id, &attachment.mime, 0, actor);
        batch.push(world::now(), attached.to_payload())?;
    }
    caller.note_in(&mut batch, &run, Seq::FIRST);
    let written = writer.append_batch(batch).await;
    let closed = writer.close().await;
    written?;
    closed?;
    engine.bell().notify_one();
    Ok(run)
}

/// The events that every run begins with.
fn first_events(run: &RunId, instance: &str, new: &NewRun, actor: Option<&Actor>) -> Vec<Payload> {
    let mut events = vec![Payload::RunStarted(Box::new(run_started(run, instance, new, actor)))];
    match &new.origin {
        Some(origin) if origin.way == Way::Fork => {
            let branched = data::RunBranchedFrom {
                from_run_id: origin.run.to_string(),
                from_sequence: origin.seq.get() - 1,
                reason: origin.reason.clone(),
                ..Default::default()
            };
            events.push(branched.to_payload());
        }
        Some(origin) if origin.way == Way::Resume => events.push(queued(new, origin).to_payload()),
        _ => {}
    }
    if !new.prompt.is_empty() && new.kind == TaskKind::AgentLoop {
        let mut message = payload::UserMessageAppended {
            content: new.prompt.clone(),
            turn_index: Some(0),
            by: Some("operator".into()),
            ..Default::default()
        };
        set_actor(&mut message.extra, actor);
        events.push(Payload::UserMessageAppended(message));
    }
    events
}

fn queued(new: &NewRun, origin: &Continuation) -> data::RunQueued {
    data::RunQueued {
        kind: new.kind.as_str().into(),
        model: new.model.clone(),
        provider: new.spec.provider.name.clone(),
        workspace_path: new.workspace_path.clone(),
        workspace_mode: new.workspace_mode.as_str().into(),
        prior_run_id: Some(origin.run.to_string()),
        title: new.title.clone(),
        number: Some(new.number.max(1)),
        priority: new.priority.clone(),
        ..Default::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "the exact amount is in the spec")]
fn run_started(run: &RunId, instance: &str, new: &NewRun, actor: Option<&Actor>) -> payload::RunStarted {
    let spec = &new.spec;
    let params = json::to_raw(&spec.params);
    let schemas = tool_schemas(&spec.tools);
    let origin = new.origin.as_ref();
    let link = |way: Way| {
        let origin = origin.filter(|origin| origin.way == way)?;
        Some(json::to_raw(&json!({ "run_id": origin.run.as_str(), "seq": origin.seq.get() })))
    };
    let ulid = run.ulid_text().unwrap_or_default();
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let budget = &spec.budget;
    let mut limits = payload::BudgetLimits {
        max_input_tokens: signed(budget.input_tokens),
        max_output_tokens: signed(budget.output_tokens),
        max_usd: budget.micros_usd as f64 / 1e6,
        max_wall_clock_ms: signed(budget.wall_clock_ms),
        ..Default::default()
    };
    if budget.turns > 0 {
        limits.extra.set("max_turns", json::to_raw(&budget.turns));
    }
    let mut started = payload::RunStarted {
        goal: new.prompt.clone(),
        provider_id: spec.provider.name.clone(),
        model_id: new.model.clone(),
        api_version: spec.provider.wire.as_str().into(),
        params_hash: Some(hash(params.bytes())),
        params,
        system_prompt_hash: Some(hash(new.system_prompt.as_bytes())),
        system_prompt: new.system_prompt.clone(),
        tool_registry_hash: Some(registry_hash(&schemas)),
        tool_schemas: Some(schemas),
        budget: (limits != payload::BudgetLimits::default()).then_some(limits),
        app_version: env!("CARGO_PKG_VERSION").into(),
        run_kind: Some(new.kind.as_str().into()),
        task_id: new.task_id.clone().or_else(|| Some(format!("task_{ulid}"))),
        session_id: origin.and_then(|origin| origin.session_id.clone()).or_else(|| Some(format!("chat_{ulid}"))),
        workspace: Some(json::to_raw(&json!({ "path": new.workspace_path, "mode": new.workspace_mode }))),
        resumed_from: link(Way::Resume),
        forked_from: link(Way::Fork),
        instance_id: Some(instance.into()),
        spec: Some(spec.to_raw()),
        title: new.title.clone().or_else(|| Some(short(&new.prompt))),
        number: Some(new.number.max(1)),
        priority: new.priority.clone(),
        held: new.held.then_some(true),
        prior_run_id: origin.map(|origin| origin.run.to_string()),
        prior_cost_micros_usd: origin.map(|origin| origin.prior_cost_micros_usd),
        checkpoint_id: origin.and_then(|origin| origin.checkpoint_id.clone()),
        reason: origin.filter(|origin| origin.way == Way::Resume).map(|origin| origin.reason.clone()),
        ..Default::default()
    };
    if !new.tags.is_empty() {
        started.extra.set("tags", json::to_raw(&new.tags));
    }
    set_actor(&mut started.extra, actor);
    started
}

/// Names and schema hashes, in the order of the names.
pub(crate) fn tool_schemas(tools: &[ToolSpec]) -> Vec<payload::ToolSchemaRef> {
    let mut schemas: Vec<_> = tools
        .iter()
        .map(|tool| payload::ToolSchemaRef {
            name: tool.name.clone(),
            schema_hash: Some(hash(Raw::bytes(&json::to_raw(&tool.input_schema)))),
            ..Default::default()
        })
        .collect();
    schemas.sort_by(|a, b| a.name.cmp(&b.name));
    schemas
}

/// Names the whole set of tools.
pub(crate) fn registry_hash(schemas: &[payload::ToolSchemaRef]) -> Bytes {
    let mut hasher = blake3::Hasher::new();
    for schema in schemas {
        hasher.update(&(schema.name.len() as u64).to_le_bytes());
        hasher.update(schema.name.as_bytes());
        hasher.update(schema.schema_hash.as_deref().unwrap_or_default());
    }
    Bytes::copy_from_slice(hasher.finalize().as_bytes())
}

pub(crate) fn hash(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(Digest::blake3(bytes).as_bytes())
}

/// The beginning of a prompt, for listings.
pub(crate) fn short(prompt: &str) -> String {
    const WIDTH: usize = 80;
    let line = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let cut: String = line.chars().take(WIDTH - 1).collect();
    format!("{}…", cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words))
}
