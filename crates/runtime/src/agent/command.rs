//! What people and other programs ask of a run, and the events it causes.
//!
//! A command reaches the run's writer through the store, whichever process that is. It is answered by
//! the events it causes; what it may not do is refused before anything is written.

mod gate;

use r1_event::{Digest, Payload, Seq, payload};
pub use r1_protocol::api::{Decision, Scope};
use r1_protocol::data::{self, Actor, EventData};
use r1_protocol::stoke::Cause;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Toolset;
use super::budget::Axis;
use super::call::{Call, Stage};
use super::phases::Attempt;
use super::spec::Budget;
use super::state::{Asked, Phase, RunState};
use crate::control::operator::OPERATOR;
use crate::emit::Emission;
use crate::policy::Grant;

/// Something asked of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// A person says something.
    Message {
        /// What.
        text: String,
        /// The sender's own id of it: the same one twice is one message.
        client_message_id: Option<String>,
        /// Artifacts of the run that come with it.
        artifact_ids: Vec<String>,
    },
    /// A person answers a request for approval.
    Resolve(Resolution),
    /// The run is to end.
    Cancel {
        /// Why.
        reason: String,
        /// operator, parent, …
        by: String,
        /// What made them.
        #[serde(default)]
        cause: Cause,
    },
    /// What the agent does now is to end; a session stays open.
    Interrupt {
        /// Why.
        reason: String,
        /// operator, …
        by: String,
    },
    /// A held run may begin.
    Release {
        /// operator, …
        by: String,
    },
    /// Fields of the run's task are to change.
    Update(TaskChanges),
    /// A person overrides a gate of the round that is under way.
    Override {
        /// Its decision: the beginning of its name in the receipt, or the gate's own name.
        decision: String,
        /// Why; it stands in the receipt.
        reason: String,
    },
    /// Events that the asker has worked out itself: of a patch that was applied, or from outside.
    Record {
        /// In this order.
        events: Vec<Recorded>,
    },
}

impl Command {
    /// Someone asks for the run to end.
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self::Cancel { reason: reason.into(), by: "operator".into(), cause: Cause::Operator }
    }
}

/// The answer to a request for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolution {
    /// Which request.
    pub approval_id: String,
    /// Yes or no.
    pub decision: Decision,
    /// What else there is to say; the model hears it with a no.
    pub comment: String,
    /// For how long a yes holds.
    pub scope: Scope,
    /// What the person saw; another subject is refused.
    pub subject_hash: Option<String>,
    /// What to run instead.
    pub edited_input: Option<Value>,
}

/// What of a task is to change; what is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskChanges {
    /// In a few words.
    pub title: Option<String>,
    /// low, normal or high.
    pub priority: Option<String>,
    /// All its tags.
    pub tags: Option<Map<String, Value>>,
    /// What it may use up.
    pub budget: Option<Budget>,
}

/// What a command causes, and which of the events answers it.
#[derive(Debug)]
pub struct Response {
    /// In this order.
    pub events: Vec<Emission>,
    /// The place among them of the one that tells what came of it.
    pub answer: usize,
}

/// An event that was worked out outside of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its type.
    pub type_name: String,
    /// What it says.
    pub data: Value,
    /// The blobs that it names, in hex: they are kept as long as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<String>,
}

impl Recorded {
    /// An event that was worked out here, for whoever writes the run; `None` if it is of a kind of its own.
    pub(crate) fn of(emission: Emission) -> Option<Self> {
        let Payload::Typed(typed) = emission.payload else { return None };
        Some(Self {
            type_name: typed.r#type,
            data: r1_protocol::json::from_raw(&typed.data),
            blobs: emission.blobs.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// The run has ended.
    #[error("the run has ended; nothing can be added to it")]
    Ended,
    /// Only its recorder adds to it.
    #[error("the run is a record, and nothing is to be done in it; only its recorder can add to it")]
    Recorded,
    /// The same request is being answered elsewhere.
    #[error("the same request is being answered elsewhere; ask again")]
    Superseded,
    /// It is as asked already; nothing was done.
    #[error("it is so already")]
    AlreadySo {
        /// The event that made it so.
        seq: u64,
    },
    /// No such approval.
    #[error("there is no pending approval `{approval_id}`")]
    UnknownApproval {
        /// The id given.
        approval_id: String,
    },
    /// Someone has answered otherwise, or the question lapsed.
    #[error("approval `{approval_id}` is {decision} already")]
    OtherDecision {
        /// Which.
        approval_id: String,
        /// What was decided.
        decision: String,
    },
    /// Something else is asked now.
    #[error("the request shows something else now (its subject is {current}); look at it again")]
    ChangedSubject {
        /// What it is about now.
        current: String,
    },
    /// Only a person may answer.
    #[error("only a person may answer this request, not a program")]
    HumanOnly,
    /// An override says why.
    #[error("say why, in at most 512 bytes: the reason stands in the receipt")]
    NoReason,
    /// A gate has no input that could be changed.
    #[error("a gate's decision cannot be edited; only {{\"action\":\"retry\"}} is understood")]
    NothingToEdit,
    /// No step is being attempted.
    #[error("the run is not at a gate now; what was decided in an earlier round cannot be overridden any more")]
    NoOpenRound,
    /// No such decision in the round that is under way.
    #[error("`{decision}` names no single decision of the round that is under way{}", if open.is_empty() { String::new() } else { format!("; these stand in the way: {open}") })]
    UnknownDecision {
        /// What was given.
        decision: String,
        /// Those that could have been meant.
        open: String,
    },
    /// There is nothing to override.
    #[error("{gate} lets the task pass already")]
    LetsPass {
        /// Which gate.
        gate: String,
    },
    /// The same id with another text.
    #[error("message `{client_message_id}` was sent before with another text")]
    OtherText {
        /// The sender's id.
        client_message_id: String,
    },
    /// A session whose worker is gone.
    #[error("the session was cut off; resume it first")]
    Paused,
    /// Nobody would hear a message.
    #[error("the run has no model that could hear it")]
    NoModel,
    /// Nobody attached it to the run.
    #[error("the run has no attachment `{artifact_id}`")]
    UnknownAttachment {
        /// The id given.
        artifact_id: String,
    },
    /// A budget that is less than before.
    #[error("the budget of {axis} can only rise, and {} now", current.map_or("has no limit".to_owned(), |current| format!("is {current}")))]
    LessBudget {
        /// Of what.
        axis: String,
        /// What it is, if there is a limit.
        current: Option<u64>,
    },
    /// An event that only R1 itself writes.
    #[error("events of type `{type_name}` are written by R1 itself")]
    Reserved {
        /// The type given.
        type_name: String,
    },
    /// What a write was worked out from is no longer there.
    #[error("the memory was written meanwhile; look again")]
    MemoryMoved,
    /// An event names a blob in another way than by its digest.
    #[error("`{blob}` does not name a blob; the digest of its content does, in hex")]
    NotABlob {
        /// What was given.
        blob: String,
    },
}

/// What a command causes now; `actor` asked for it.
pub fn respond(
    state: &RunState,
    tools: &Toolset,
    command: &Command,
    actor: Option<&Actor>,
) -> Result<Response, Refusal> {
    if let Some(settled) = settled(state, command) {
        return Err(settled);
    }
    let is_record = match state.run_kind.as_str() {
        "recorded" => true,
        // Nobody is at work there; but what is told can be told, and that nothing more will be.
        OPERATOR => !matches!(command, Command::Record { .. } | Command::Cancel { .. }),
        _ => false,
    };
    if is_record {
        return Err(Refusal::Recorded);
    }
    if state.terminal.is_some() {
        return Err(Refusal::Ended);
    }
    let events = match command {
        Command::Message { text, client_message_id, artifact_ids } => {
            message(state, text, client_message_id, artifact_ids, actor)?
        }
        Command::Resolve(resolution) => resolve(state, tools, resolution, actor)?,
        Command::Cancel { reason, by, cause } => return Ok(last_answers(cancel(state, reason, by, *cause, actor))),
        Command::Interrupt { reason, by } => return Ok(last_answers(interrupt(state, reason, by, actor))),
        Command::Release { by } => {
            vec![data::RunReleased { by: by.as_str().into(), actor: actor.cloned(), ..Default::default() }.to_payload()]
        }
        Command::Update(changes) => vec![update(state, changes, actor)?],
        Command::Override { decision, reason } => gate::overrule(state, decision, reason, actor)?,
        Command::Record { events } => {
            let events = events.iter().map(|event| record(state, event, actor)).collect::<Result<_, _>>()?;
            return Ok(Response { events, answer: 0 });
        }
    };
    Ok(Response { events: events.into_iter().map(Emission::plain).collect(), answer: 0 })
}

fn last_answers(events: Vec<Payload>) -> Response {
    Response { answer: events.len().saturating_sub(1), events: events.into_iter().map(Emission::plain).collect() }
}

/// Whether what is asked was decided before, in a run of whatever state.
fn settled(state: &RunState, command: &Command) -> Option<Refusal> {
    let so = |seq: Seq| Some(Refusal::AlreadySo { seq: seq.get() });
    match command {
        Command::Cancel { .. } if state.terminal.is_some() => so(state.last),
        Command::Interrupt { .. } if state.terminal.is_some() || state.is_idle() => so(state.last),
        Command::Release { .. } if state.phase != Phase::Held => so(state.last),
        Command::Message { text, client_message_id: Some(id), .. } => match state.client_messages.get(id)? {
            (seq, known) if known == text => so(*seq),
            _ => Some(Refusal::OtherText { client_message_id: id.clone() }),
        },
        Command::Resolve(Resolution { approval_id, decision, .. }) => {
            let (seq, decided) = state.decisions.get(approval_id)?;
            if decided == decision_word(*decision) {
                return so(*seq);
            }
            Some(Refusal::OtherDecision { approval_id: approval_id.clone(), decision: decided.clone() })
        }
        Command::Cancel { .. }
        | Command::Interrupt { .. }
        | Command::Release { .. }
        | Command::Message { .. }
        | Command::Update(_)
        | Command::Override { .. }
        | Command::Record { .. } => None,
    }
}

const fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "approved",
        Decision::Reject => "rejected",
    }
}

fn message(
    state: &RunState,
    text: &str,
    client_message_id: &Option<String>,
    artifact_ids: &[String],
    actor: Option<&Actor>,
) -> Result<Vec<Payload>, Refusal> {
    if state.is_planned() {
        return Err(Refusal::NoModel);
    }
    if state.phase == Phase::Paused {
        return Err(Refusal::Paused);
    }
    let turn_index = state.spent.turns + u64::from(state.turn.is_some());
    let mut message = payload::UserMessageAppended {
        content: text.to_owned(),
        turn_index: Some(turn_index),
        by: Some("operator".into()),
        client_message_id: client_message_id.clone(),
        ..Default::default()
    };
    set_actor(&mut message.extra, actor);
    let mut events = vec![Payload::UserMessageAppended(message)];
    for artifact_id in artifact_ids {
        let unknown = || Refusal::UnknownAttachment { artifact_id: artifact_id.clone() };
        let (_, mime, _) = state.attachments.get(artifact_id).ok_or_else(unknown)?;
        events.push(attached(artifact_id, mime, turn_index, actor).to_payload());
    }
    Ok(events)
}

/// The event that shows a file to the model.
pub(crate) fn attached(artifact_id: &str, mime: &str, turn_index: u64, actor: Option<&Actor>) -> data::UserAttachment {
    data::UserAttachment {
        turn_index,
        kind: if mime.starts_with("image/") { "image".into() } else { "file".into() },
        mime: mime.to_owned(),
        artifact_id: artifact_id.to_owned(),
        actor: actor.cloned(),
        ..Default::default()
    }
}

fn update(state: &RunState, changes: &TaskChanges, actor: Option<&Actor>) -> Result<Payload, Refusal> {
    let mut changes = changes.clone();
    if let Some(wanted) = &changes.budget {
        changes.budget = Some(raised(&state.spec.budget, wanted)?);
    }
    Ok(updated(&changes, actor))
}

/// A budget with what is wanted of it changed. Money and tokens can only rise.
pub(crate) fn raised(current: &Budget, wanted: &Budget) -> Result<Budget, Refusal> {
    for axis in [Axis::Usd, Axis::InputTokens, Axis::OutputTokens] {
        let (current, wanted) = (axis.cap(current), axis.cap(wanted));
        if wanted.is_some_and(|wanted| current.is_none_or(|current| wanted < current)) {
            return Err(Refusal::LessBudget { axis: axis.name().into(), current });
        }
    }
    Ok(current.with(wanted))
}

/// The event that changes fields of a task.
pub(crate) fn updated(changes: &TaskChanges, actor: Option<&Actor>) -> Payload {
    let budget = changes.budget.as_ref().and_then(|budget| serde_json::to_value(budget).ok());
    data::TaskUpdated {
        title: changes.title.clone(),
        priority: changes.priority.clone(),
        tags: changes.tags.clone(),
        budget: budget.and_then(|budget| if let Value::Object(budget) = budget { Some(budget) } else { None }),
        by: "operator".into(),
        actor: actor.cloned(),
        ..Default::default()
    }
    .to_payload()
}

fn resolve(
    state: &RunState,
    tools: &Toolset,
    resolution: &Resolution,
    actor: Option<&Actor>,
) -> Result<Vec<Payload>, Refusal> {
    let Resolution { approval_id, decision, comment, scope, subject_hash, edited_input } = resolution;
    let unknown = || Refusal::UnknownApproval { approval_id: approval_id.clone() };
    let (_, asked) = state.approvals().find(|(id, _)| id == approval_id).ok_or_else(unknown)?;
    let is_shown = |shown: &Digest| match subject_hash {
        Some(given) if *given != shown.to_string() => Err(Refusal::ChangedSubject { current: shown.to_string() }),
        Some(_) | None => Ok(()),
    };
    let call = match asked {
        Asked::Call(call) => call,
        Asked::Gate(standing) => {
            let question = standing.question.as_ref().ok_or_else(unknown)?;
            is_shown(&question.subject_hash)?;
            if state.phases.as_ref().and_then(|phases| phases.attempt()).is_none_or(Attempt::is_over) {
                return Err(unknown());
            }
            return gate::resolve(standing, question, resolution, actor);
        }
    };
    let Stage::Waiting { subject_hash: shown, human_only, .. } = &call.stage else { return Err(unknown()) };
    is_shown(shown)?;
    if *human_only && actor.is_some_and(|actor| actor.via == Some(data::Via::Mcp)) {
        return Err(Refusal::HumanOnly);
    }
    let approved = *decision == Decision::Approve;
    let runs = edited_input.as_ref().unwrap_or(&call.input);
    let grant = (approved && *scope == Scope::Session).then(|| grant(tools, &call.tool, runs)).flatten();
    let resolved = data::ApprovalResolved {
        approval_id: approval_id.clone(),
        decision: decision_word(*decision).into(),
        by: "operator".into(),
        comment: comment.clone(),
        scope: approved.then(|| match scope {
            Scope::Once => "once".into(),
            Scope::Session => "session".into(),
        }),
        edited: edited_input.is_some().then_some(true),
        edited_input: edited_input.as_ref().filter(|_| approved).and_then(|input| input.as_object().cloned()),
        grant,
        actor: actor.cloned(),
        ..Default::default()
    };
    Ok(vec![resolved.to_payload()])
}

/// What allowing this call for the session allows.
fn grant(tools: &Toolset, tool: &str, input: &Value) -> Option<Map<String, Value>> {
    let subject = tools.get(tool)?.subject(input).ok()?;
    Grant::of(tool, &subject).map(|grant| grant.to_json())
}

/// Closes whatever is open, then the run. The engine has stopped all work before.
fn cancel(state: &RunState, reason: &str, by: &str, cause: Cause, actor: Option<&Actor>) -> Vec<Payload> {
    let reason = if reason.is_empty() { cause.reason() } else { reason };
    let mut events = close_calls(state, by);
    let mut cancelled = payload::RunCancelled {
        reason: reason.into(),
        by: Some(by.into()),
        cause: Some(cause.as_str().into()),
        duration_ms: i64::try_from(state.duration_ms()).unwrap_or(i64::MAX),
        ..Default::default()
    };
    set_actor(&mut cancelled.extra, actor);
    events.push(Payload::RunCancelled(cancelled));
    events
}

fn interrupt(state: &RunState, reason: &str, by: &str, actor: Option<&Actor>) -> Vec<Payload> {
    if !state.spec.interactive {
        return cancel(state, reason, by, Cause::Operator, actor);
    }
    let mut events = close_calls(state, by);
    if let Some(turn) = &state.turn {
        events.push(Payload::AssistantMessageCompleted(Box::new(payload::AssistantMessageCompleted {
            turn_id: turn.turn_id.clone(),
            stop_reason: "cancelled".into(),
            turn_index: Some(turn.index),
            cost_micros_usd: Some(0),
            duration_ms: Some(0),
            ..Default::default()
        })));
    }
    events.push(
        data::SessionInterrupted {
            by: by.into(),
            reason: if reason.is_empty() { "requested".into() } else { reason.into() },
            dropped_partial: state.turn.is_some(),
            actor: actor.cloned(),
            ..Default::default()
        }
        .to_payload(),
    );
    events
}

fn close_calls(state: &RunState, by: &str) -> Vec<Payload> {
    let running = state.calls.iter().filter(|call| matches!(call.stage, Stage::Running { .. }));
    let mut events: Vec<_> = running.map(|call| cancelled_call(state, call, by)).collect();
    events.extend(withdraw_questions(state));
    events
}

/// Ends every request for approval that is pending, because what it was about ends.
pub(crate) fn withdraw_questions(state: &RunState) -> Vec<Payload> {
    let withdraw = |(approval_id, _): (&str, Asked<'_>)| {
        data::ApprovalResolved {
            approval_id: approval_id.to_owned(),
            decision: "cancelled".into(),
            by: "system".into(),
            comment: String::new(),
            ..Default::default()
        }
        .to_payload()
    };
    state.approvals().map(withdraw).collect()
}

fn cancelled_call(state: &RunState, call: &Call, by: &str) -> Payload {
    Payload::ToolCallFailed(payload::ToolCallFailed {
        call_id: call.call_id.clone(),
        tool: Some(call.tool.clone()),
        kind: Some(state.kind_of(&call.tool).into()),
        error: "the call was cancelled".into(),
        error_type: "cancelled".into(),
        attempt: u32::try_from(call.attempts).unwrap_or(u32::MAX),
        by: Some(by.into()),
        outcome: Some("failed".into()),
        summary: Some("cancelled".into()),
        ..Default::default()
    })
}

fn record(state: &RunState, recorded: &Recorded, actor: Option<&Actor>) -> Result<Emission, Refusal> {
    let Recorded { type_name, data, blobs } = recorded;
    // Whether a task may go on is for its gates and for people to say, and for the loop to write down.
    let is_the_loops = ["gate.", "phase."].iter().any(|family| type_name.starts_with(family));
    if is_the_loops || r1_event::projection::reserved_for(type_name).is_some() {
        return Err(Refusal::Reserved { type_name: type_name.clone() });
    }
    let digest = |blob: &String| blob.parse().map_err(|_| Refusal::NotABlob { blob: blob.clone() });
    let blobs = blobs.iter().map(digest).collect::<Result<_, _>>()?;
    let typed = data::typed(type_name, data);
    if data::MemoryWrite::read(&typed).is_some_and(|write| !state.memory.admits(&write)) {
        return Err(Refusal::MemoryMoved);
    }
    let payload = with_actor(Payload::Typed(typed), actor);
    Ok(Emission { payload, blobs })
}

/// An event with who caused it.
pub(crate) fn with_actor(payload: Payload, actor: Option<&Actor>) -> Payload {
    match (payload, actor) {
        (Payload::Typed(typed), Some(actor)) => {
            let mut data = r1_protocol::json::from_raw(&typed.data);
            if let Value::Object(data) = &mut data {
                data.insert("actor".into(), serde_json::json!(actor));
            }
            Payload::Typed(data::typed(&typed.r#type, &data))
        }
        (payload, _) => payload,
    }
}

pub(crate) fn set_actor(extra: &mut payload::Extra, actor: Option<&Actor>) {
    if let Some(actor) = actor {
        extra.set("actor", r1_protocol::json::to_raw(actor));
    }
}
