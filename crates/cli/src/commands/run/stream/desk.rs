//! Requests for approval that wait for an answer on standard input.

use std::collections::BTreeMap;
use std::sync::Arc;

use r1_event::{Payload, RunId};
use r1_protocol::data::{self, Actor, ActorKind, ApprovalKind, ApprovalRequested, EventData as _, Via};
use r1_protocol::stoke::process::ErrorKind;
use r1_runtime::Home;
use r1_runtime::agent::command::{Command, Decision, Refusal, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{Answer, CommandError, command};
use r1_runtime::control::stoke::{open_approvals, resolve};
use r1_runtime::engine::Engine;
use tokio::task::{JoinError, JoinSet};

use super::Stage;
use super::said::{Reply, Said, parse};
use super::stdin::Input;
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::workshop::Workshop;

/// Why requests are refused that nobody can answer any more.
const STDIN_CLOSED: &str = "stdin_closed";

/// What is asked of the run in our program's name, and what is open: of the run, and of those that came of it.
pub(super) struct Desk {
    engine: Arc<Engine>,
    home: Home,
    run: RunId,
    /// Requests that no event has answered yet, with whose they are.
    open: BTreeMap<String, (RunId, ApprovalKind)>,
    /// Whether nobody can answer here any more.
    closed: bool,
    commands: JoinSet<Asked>,
    /// Lines about what could not be done, until they are printed.
    pub(super) errors: Vec<Vec<u8>>,
}

/// A command, and what came of it.
pub(super) struct Asked {
    is_reply: bool,
    came: Result<Option<Answer>, CommandError>,
}

impl Desk {
    pub(super) fn new(workshop: &Workshop, run: &RunId, home: &Home) -> Self {
        Self {
            engine: workshop.engine.clone(),
            home: home.clone(),
            run: run.clone(),
            open: BTreeMap::new(),
            closed: false,
            commands: JoinSet::new(),
            errors: Vec::new(),
        }
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
        let (engine, run) = (self.engine.clone(), self.run.clone());
        self.commands.spawn(async move {
            let came = command(&engine, &run, asked, &Caller::new(operator(None))).await;
            Asked { is_reply: false, came: came.map(Some) }
        });
    }

    /// Learns from an event of a run what is open.
    pub(super) fn hear(&mut self, run: &RunId, payload: &Payload) {
        let Payload::Typed(typed) = payload else { return };
        if let Some(ApprovalRequested { approval_id, kind, .. }) = ApprovalRequested::read(typed) {
            if self.closed {
                self.refuse(run.clone(), &approval_id);
            }
            self.open.insert(approval_id, (run.clone(), kind));
        } else if let Some(resolved) = data::ApprovalResolved::read(typed) {
            self.open.remove(&resolved.approval_id);
        } else if let Some(lapsed) = data::ApprovalTimedOut::read(typed) {
            self.open.remove(&lapsed.approval_id);
        }
    }

    /// Nobody can answer here any more: what is open is refused, and what comes later.
    pub(super) fn close(&mut self) {
        self.closed = true;
        let open: Vec<_> = self.open.iter().map(|(approval_id, (run, _))| (run.clone(), approval_id.clone())).collect();
        open.into_iter().for_each(|(run, approval_id)| self.refuse(run, &approval_id));
    }

    /// Does what a line says.
    pub(super) async fn take(&mut self, line: Input, stage: &Stage) -> Result<(), CliError> {
        let said = match line {
            Input::TooLong => Err("the line is longer than 1 MiB".to_owned()),
            Input::Line(line) => parse(&line),
        };
        match said {
            Ok(Said::Message(text)) => {
                self.ask(Command::Message { text, client_message_id: None, artifact_ids: Vec::new() });
                Ok(())
            }
            Ok(Said::Reply(reply)) => self.reply(reply, stage).await,
            Err(why) => self.complain(stage, ErrorKind::MalformedReply, &why),
        }
    }

    async fn reply(&mut self, reply: Reply, stage: &Stage) -> Result<(), CliError> {
        let Reply { approval_id, decision, reason, decided_by, scope } = reply;
        let approval_id = match approval_id {
            Some(approval_id) => approval_id,
            None => match open_approvals(self.engine.store(), &self.run).await?.as_slice() {
                [approval_id] => approval_id.clone(),
                open => {
                    let why = format!("{} requests are open; say which by its `approval_id`", open.len());
                    return self.complain(stage, ErrorKind::AmbiguousReply, &why);
                }
            },
        };
        let is_gate = self.open.get(&approval_id).is_some_and(|(_, kind)| *kind == ApprovalKind::Gate);
        if is_gate && decision && reason.trim().is_empty() {
            return self.complain(stage, ErrorKind::MalformedReply, "to override a gate needs a `reason`");
        }
        let decision = if decision { Decision::Approve } else { Decision::Reject };
        let asked = answer(&approval_id, decision, reason, scope);
        let (engine, run, caller) = (self.engine.clone(), self.run.clone(), Caller::new(operator(decided_by)));
        self.commands.spawn(async move {
            Asked { is_reply: true, came: resolve(&engine, &run, asked, &caller).await.map(Some) }
        });
        Ok(())
    }

    fn complain(&mut self, stage: &Stage, kind: ErrorKind, why: &str) -> Result<(), CliError> {
        self.errors.push(stage.error_line(kind, why)?);
        Ok(())
    }

    /// Refuses a request that nobody here can answer, unless someone elsewhere can.
    fn refuse(&mut self, run: RunId, approval_id: &str) {
        let (engine, home) = (self.engine.clone(), self.home.clone());
        let asked = answer(approval_id, Decision::Reject, STDIN_CLOSED.into(), Scope::Once);
        self.commands.spawn(async move {
            let came = match Daemon::find(&home).await {
                Ok(_) => Ok(None),
                Err(_) => resolve(&engine, &run, asked, &Caller::new(operator(None))).await.map(Some),
            };
            Asked { is_reply: false, came }
        });
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
            Ok(Some(Answer { was_so: true, .. })) if is_reply => {
                self.complain(stage, ErrorKind::AlreadyResolved, "the request was answered before")
            }
            Ok(_) => Ok(()),
            Err(err) => {
                let kind = match &err {
                    CommandError::Refused(Refusal::UnknownApproval { .. }) if is_reply => ErrorKind::UnknownApproval,
                    CommandError::Refused(Refusal::OtherDecision { .. }) if is_reply => ErrorKind::AlreadyResolved,
                    CommandError::Refused(_) if is_reply => ErrorKind::MalformedReply,
                    // It was settled before we came to it, or the run ends: there is nothing left to be told of.
                    CommandError::Refused(
                        Refusal::UnknownApproval { .. } | Refusal::OtherDecision { .. } | Refusal::Ended,
                    )
                    | CommandError::StillStopping { .. } => return Ok(()),
                    CommandError::Refused(_) => ErrorKind::UnsupportedIntent,
                    CommandError::Store(_) | CommandError::Leave(_) | CommandError::History(_) => ErrorKind::Store,
                    CommandError::NoAnswer { .. } | CommandError::Engine(_) => ErrorKind::Internal,
                };
                self.complain(stage, kind, &err.to_string())
            }
        }
    }
}

fn answer(approval_id: &str, decision: Decision, comment: String, scope: Scope) -> Resolution {
    Resolution { approval_id: approval_id.into(), decision, comment, scope, subject_hash: None, edited_input: None }
}

/// Whoever writes to our standard input.
fn operator(id: Option<String>) -> Actor {
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| "stdin".into());
    Actor { kind: ActorKind::Operator, id: Some(id), via: Some(Via::Stdin), ..Actor::default() }
}
