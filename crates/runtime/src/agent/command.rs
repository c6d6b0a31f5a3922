//! What people and other programs ask of a run, and the events it causes.
//!
//! A command reaches the run's writer through the store, whichever process that is. It is answered by
//! the events it causes; what it may not do is refused before anything is written.

use r1_event::{Payload, payload};
pub use r1_protocol::api::{Decision, Scope};
use r1_protocol::data::{self, Actor, EventData};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Toolset;
use super::call::{Call, Stage};
use super::state::{Phase, RunState};
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
        /// Who.
        actor: Option<Actor>,
    },
    /// A person answers a request for approval.
    Resolve {
        /// Which.
        approval_id: String,
        /// Yes or no.
        decision: Decision,
        /// What else there is to say; the model hears it with a no.
        comment: String,
        /// For how long a yes holds.
        scope: Scope,
        /// What the person saw; another subject is refused.
        subject_hash: Option<String>,
        /// What to run instead.
        edited_input: Option<Value>,
        /// Who.
        actor: Option<Actor>,
    },
    /// The run is to end.
    Cancel {
        /// Why.
        reason: String,
        /// operator, parent, …
        by: String,
        /// Who.
        actor: Option<Actor>,
    },
    /// What the agent does now is to end; a session stays open.
    Interrupt {
        /// Why.
        reason: String,
        /// operator, …
        by: String,
        /// Who.
        actor: Option<Actor>,
    },
    /// A held run may begin.
    Release {
        /// operator, …
        by: String,
    },
    /// Events that the asker has worked out itself: of a patch that was applied, or from outside.
    Record {
        /// In this order.
        events: Vec<Recorded>,
    },
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

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The run has ended.
    #[error("the run has ended; nothing can be added to it")]
    Ended,
    /// It is as asked already; nothing was done.
    #[error("it is so already")]
    AlreadySo,
    /// No such approval.
    #[error("there is no pending approval `{approval_id}`")]
    UnknownApproval {
        /// The id given.
        approval_id: String,
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
    /// The same id with another text.
    #[error("message `{client_message_id}` was sent before with another text")]
    OtherText {
        /// The sender's id.
        client_message_id: String,
    },
    /// A session whose worker is gone.
    #[error("the session was cut off; resume it first")]
    Paused,
    /// Only sessions can be interrupted.
    #[error("there is nothing to interrupt")]
    NothingToInterrupt,
    /// An event that only R1 itself writes.
    #[error("events of type `{type_name}` are written by R1 itself")]
    Reserved {
        /// The type given.
        type_name: String,
    },
    /// An event names a blob in another way than by its digest.
    #[error("`{blob}` does not name a blob; the digest of its content does, in hex")]
    NotABlob {
        /// What was given.
        blob: String,
    },
}

/// The events that a command causes now.
pub fn respond(state: &RunState, tools: &Toolset, command: &Command) -> Result<Vec<Emission>, Refusal> {
    if state.terminal.is_some() {
        return Err(match command {
            Command::Cancel { .. } => Refusal::AlreadySo,
            _ => Refusal::Ended,
        });
    }
    let events = match command {
        Command::Message { text, client_message_id, actor } => message(state, text, client_message_id, actor)?,
        Command::Resolve { approval_id, .. } => resolve(state, tools, approval_id, command)?,
        Command::Cancel { reason, by, actor } => cancel(state, reason, by, actor.as_ref()),
        Command::Interrupt { reason, by, actor } => interrupt(state, reason, by, actor.as_ref())?,
        Command::Release { by } if state.phase == Phase::Held => {
            vec![data::RunReleased { by: by.as_str().into(), ..Default::default() }.to_payload()]
        }
        Command::Release { .. } => return Err(Refusal::AlreadySo),
        Command::Record { events } => return events.iter().map(record).collect(),
    };
    Ok(events.into_iter().map(Emission::plain).collect())
}

fn message(
    state: &RunState,
    text: &str,
    client_message_id: &Option<String>,
    actor: &Option<Actor>,
) -> Result<Vec<Payload>, Refusal> {
    if state.phase == Phase::Paused {
        return Err(Refusal::Paused);
    }
    if let Some(id) = client_message_id
        && let Some((_, known)) = state.client_messages.get(id)
    {
        return Err(if known == text {
            Refusal::AlreadySo
        } else {
            Refusal::OtherText { client_message_id: id.clone() }
        });
    }
    let mut message = payload::UserMessageAppended {
        content: text.to_owned(),
        turn_index: Some(state.spent.turns + u64::from(state.turn.is_some())),
        by: Some("operator".into()),
        client_message_id: client_message_id.clone(),
        ..Default::default()
    };
    set_actor(&mut message.extra, actor.as_ref());
    Ok(vec![Payload::UserMessageAppended(message)])
}

fn resolve(state: &RunState, tools: &Toolset, approval_id: &str, command: &Command) -> Result<Vec<Payload>, Refusal> {
    let Command::Resolve { decision, comment, scope, subject_hash, edited_input, actor, .. } = command else {
        return Err(Refusal::NothingToInterrupt);
    };
    let unknown = || Refusal::UnknownApproval { approval_id: approval_id.into() };
    let (_, call) = state.approvals().find(|(id, _)| *id == approval_id).ok_or_else(unknown)?;
    let Stage::Waiting { subject_hash: shown, human_only, .. } = &call.stage else { return Err(unknown()) };
    if let Some(given) = subject_hash
        && *given != shown.to_string()
    {
        return Err(Refusal::ChangedSubject { current: shown.to_string() });
    }
    if *human_only && actor.as_ref().is_some_and(|actor| actor.via == Some(data::Via::Mcp)) {
        return Err(Refusal::HumanOnly);
    }
    let approved = *decision == Decision::Approve;
    let runs = edited_input.as_ref().unwrap_or(&call.input);
    let grant = (approved && *scope == Scope::Session).then(|| grant(tools, &call.tool, runs)).flatten();
    let resolved = data::ApprovalResolved {
        approval_id: approval_id.to_owned(),
        decision: if approved { "approved".into() } else { "rejected".into() },
        by: "operator".into(),
        comment: comment.clone(),
        scope: approved.then(|| match scope {
            Scope::Once => "once".into(),
            Scope::Session => "session".into(),
        }),
        edited: edited_input.is_some().then_some(true),
        edited_input: edited_input.as_ref().filter(|_| approved).and_then(|input| input.as_object().cloned()),
        grant,
        actor: actor.clone(),
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
fn cancel(state: &RunState, reason: &str, by: &str, actor: Option<&Actor>) -> Vec<Payload> {
    let reason = if reason.is_empty() { "requested" } else { reason };
    let mut events = close_calls(state, by);
    let mut cancelled = payload::RunCancelled {
        reason: reason.into(),
        by: Some(by.into()),
        duration_ms: i64::try_from(state.duration_ms()).unwrap_or(i64::MAX),
        ..Default::default()
    };
    set_actor(&mut cancelled.extra, actor);
    events.push(Payload::RunCancelled(cancelled));
    events
}

fn interrupt(state: &RunState, reason: &str, by: &str, actor: Option<&Actor>) -> Result<Vec<Payload>, Refusal> {
    if !state.spec.interactive {
        return Ok(cancel(state, reason, by, actor));
    }
    if state.is_idle() {
        return Err(Refusal::NothingToInterrupt);
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
    Ok(events)
}

fn close_calls(state: &RunState, by: &str) -> Vec<Payload> {
    let running = state.calls.iter().filter(|call| matches!(call.stage, Stage::Running { .. }));
    let mut events: Vec<_> = running.map(|call| cancelled_call(state, call, by)).collect();
    events.extend(withdraw_questions(state));
    events
}

/// Ends every request for approval that is pending, because what it was about ends.
pub(crate) fn withdraw_questions(state: &RunState) -> Vec<Payload> {
    let withdraw = |(approval_id, _): (&str, &Call)| {
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

fn record(recorded: &Recorded) -> Result<Emission, Refusal> {
    let Recorded { type_name, data, blobs } = recorded;
    if r1_event::projection::reserved_for(type_name).is_some() {
        return Err(Refusal::Reserved { type_name: type_name.clone() });
    }
    let digest = |blob: &String| blob.parse().map_err(|_| Refusal::NotABlob { blob: blob.clone() });
    let blobs = blobs.iter().map(digest).collect::<Result<_, _>>()?;
    Ok(Emission { payload: Payload::Typed(data::typed(type_name, data)), blobs })
}

fn set_actor(extra: &mut payload::Extra, actor: Option<&Actor>) {
    if let Some(actor) = actor {
        extra.set("actor", r1_protocol::json::to_raw(actor));
    }
}
