//! Requests for approval that wait for an answer on standard input.

use std::collections::BTreeMap;
use std::sync::Arc;

use r1_event::{Payload, RunId};
use r1_protocol::data::{self, Actor, ActorKind, ApprovalKind, ApprovalRequested, EventData as _, Via};
use r1_protocol::stoke::process::ErrorKind;
use r1_runtime::agent::RunState;
use r1_runtime::agent::command::{Command, Decision, Refusal, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{Answer, CommandError, command};
use r1_runtime::engine::Engine;
use r1_runtime::history;
use r1_store::SharedStore;
use tokio::task::{JoinError, JoinSet};

use super::Stage;
use super::said::{Reply, Said, parse};
use super::stdin::Input;
use crate::error::CliError;
use crate::workshop::Workshop;

/// Why requests are refused that nobody can answer any more.
const STDIN_CLOSED: &str = "stdin_closed";

/// What is asked of the run in our program's name, and what is open.
pub(super) struct Desk {
    engine: Arc<Engine>,
    run: RunId,
    /// Requests that no event has answered yet.
    open: BTreeMap<String, ApprovalRequested>,
    /// Whether nobody can answer any more.
    closed: bool,
    commands: JoinSet<Asked>,
    /// Lines about what could not be done, until they are printed.
    pub(super) errors: Vec<Vec<u8>>,
}

/// A command, and what came of it.
pub(super) struct Asked {
    is_reply: bool,
    came: Result<Answer, CommandError>,
}

impl Desk {
    pub(super) fn new(workshop: &Workshop, run: &RunId) -> Self {
        let (engine, run) = (workshop.engine.clone(), run.clone());
        Self { engine, run, open: BTreeMap::new(), closed: false, commands: JoinSet::new(), errors: Vec::new() }
    }

    /// Whether the next line can be taken: one after the other, and not before whoever wrote the last one could
    /// be told what was wrong with it.
    pub(super) fn is_free(&self) -> bool {
        self.commands.is_empty() && self.errors.is_empty()
    }

    /// Whether something is being asked.
    pub(super) fn is_asking(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Asks something of the run.
    pub(super) fn ask(&mut self, asked: Command) {
        self.send(asked, &Caller::new(operator(None)));
    }

    /// Learns from an event what is open.
    pub(super) fn hear(&mut self, payload: &Payload) {
        let Payload::Typed(typed) = payload else { return };
        if let Some(request) = ApprovalRequested::read(typed) {
            if self.closed {
                self.refuse(&request.approval_id);
            }
            self.open.insert(request.approval_id.clone(), request);
        } else if let Some(resolved) = data::ApprovalResolved::read(typed) {
            self.open.remove(&resolved.approval_id);
        } else if let Some(lapsed) = data::ApprovalTimedOut::read(typed) {
            self.open.remove(&lapsed.approval_id);
        }
    }

    /// Nobody can answer any more: what is open is refused, and what comes later.
    pub(super) fn close(&mut self) {
        self.closed = true;
        let open: Vec<_> = self.open.keys().cloned().collect();
        open.iter().for_each(|approval_id| self.refuse(approval_id));
    }

    /// Does what a line says.
    pub(super) async fn take(&mut self, line: Input, store: &SharedStore, stage: &Stage) -> Result<(), CliError> {
        let said = match line {
            Input::TooLong => Err("the line is longer than 1 MiB".to_owned()),
            Input::Line(line) => parse(&line),
        };
        match said {
            Ok(Said::Message(text)) => {
                self.ask(Command::Message { text, client_message_id: None, artifact_ids: Vec::new() });
                Ok(())
            }
            Ok(Said::Reply(reply)) => self.reply(reply, store, stage).await,
            Err(why) => self.complain(stage, ErrorKind::MalformedReply, &why),
        }
    }

    async fn reply(&mut self, reply: Reply, store: &SharedStore, stage: &Stage) -> Result<(), CliError> {
        let approval_id = match reply.approval_id {
            Some(approval_id) => approval_id,
            None => match self.only_open(store).await?.as_slice() {
                [approval_id] => approval_id.clone(),
                open => {
                    let why = format!("{} requests are open; say which by its `approval_id`", open.len());
                    return self.complain(stage, ErrorKind::AmbiguousReply, &why);
                }
            },
        };
        let is_gate = self.open.get(&approval_id).is_some_and(|request| request.kind == ApprovalKind::Gate);
        if is_gate && reply.decision && reply.reason.trim().is_empty() {
            let why = "to override a gate needs a `reason`";
            return self.complain(stage, ErrorKind::MalformedReply, why);
        }
        let decision = if reply.decision { Decision::Approve } else { Decision::Reject };
        let answer = answer(&approval_id, decision, reply.reason, reply.scope);
        self.send(answer, &Caller::new(operator(reply.decided_by)));
        Ok(())
    }

    /// The requests that are open, by the log and not by what was heard of it so far.
    async fn only_open(&mut self, store: &SharedStore) -> Result<Vec<String>, CliError> {
        let state: RunState = history::load(store, &self.run).await?;
        Ok(state.open_approvals().map(ToOwned::to_owned).collect())
    }

    fn complain(&mut self, stage: &Stage, kind: ErrorKind, why: &str) -> Result<(), CliError> {
        self.errors.push(stage.error_line(kind, why)?);
        Ok(())
    }

    fn refuse(&mut self, approval_id: &str) {
        self.ask(answer(approval_id, Decision::Reject, STDIN_CLOSED.into(), Scope::Once));
    }

    fn send(&mut self, asked: Command, caller: &Caller) {
        let (engine, run, caller) = (self.engine.clone(), self.run.clone(), caller.clone());
        let is_reply = matches!(&asked, Command::Resolve(resolution) if resolution.comment != STDIN_CLOSED);
        self.commands.spawn(async move { Asked { is_reply, came: command(&engine, &run, asked, &caller).await } });
    }

    /// What came of the next command. Cancel-safe.
    pub(super) async fn answered(&mut self) -> Option<Result<Asked, JoinError>> {
        self.commands.join_next().await
    }

    /// Says what could not be done.
    pub(super) fn settle(&mut self, asked: Option<Result<Asked, JoinError>>, stage: &Stage) -> Result<(), CliError> {
        let Some(asked) = asked else { return Ok(()) };
        let Asked { is_reply, came } = asked.map_err(|err| CliError::new("a command broke down").because(err))?;
        match came {
            Ok(Answer { was_so: true, .. }) if is_reply => {
                self.complain(stage, ErrorKind::AlreadyResolved, "the request was answered before")
            }
            Ok(_) => Ok(()),
            Err(err) => {
                let kind = match &err {
                    CommandError::Refused(Refusal::UnknownApproval { .. }) => ErrorKind::UnknownApproval,
                    CommandError::Refused(Refusal::OtherDecision { .. }) => ErrorKind::AlreadyResolved,
                    CommandError::Refused(_) if is_reply => ErrorKind::UnknownApproval,
                    // The run ends: there is nothing left to be told of.
                    CommandError::Refused(Refusal::Ended) | CommandError::StillStopping { .. } => return Ok(()),
                    CommandError::Refused(_) => ErrorKind::UnsupportedIntent,
                    CommandError::Store(_) | CommandError::Leave(_) | CommandError::History(_) => ErrorKind::Store,
                    CommandError::NoAnswer { .. } | CommandError::Engine(_) => ErrorKind::Internal,
                };
                self.complain(stage, kind, &err.to_string())
            }
        }
    }
}

fn answer(approval_id: &str, decision: Decision, comment: String, scope: Scope) -> Command {
    Command::Resolve(Resolution {
        approval_id: approval_id.into(),
        decision,
        comment,
        scope,
        subject_hash: None,
        edited_input: None,
    })
}

/// Whoever writes to our standard input.
fn operator(id: Option<String>) -> Actor {
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| "stdin".into());
    Actor { kind: ActorKind::Operator, id: Some(id), via: Some(Via::Stdin), ..Actor::default() }
}
