//! Working on a run while a person watches: shows it as it goes, asks what must be asked, and stops in
//! order when told to.

mod paper;
mod screen;

use std::io::IsTerminal as _;
use std::pin::pin;

use futures_util::StreamExt as _;
use r1_event::{Digest, Kind, Payload, RunId, Seq};
use r1_protocol::data::{self, EventData};
use r1_protocol::stoke::Cause;
use r1_runtime::agent::command::Command;
use r1_runtime::control::command::{Answer, CommandError, command};
use r1_runtime::engine::{Claim, Outcome as Worked};
use r1_runtime::world;
use r1_store::SharedStore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::screen::{Left, Screen};
use crate::ask::{self, Attendance};
use crate::error::CliError;
use crate::exit::Exit;
use crate::keyboard::Keyboard;
use crate::output;
use crate::render::live::Look;
use crate::render::terminal;
use crate::signals::Signals;
use crate::workshop::Workshop;

/// How a run is followed.
pub(crate) struct Follow {
    /// What the person sees; `None` if they want only the result.
    pub(crate) look: Option<Look>,
    /// Who answers questions.
    pub(crate) attendance: Attendance,
    /// The first event that is shown.
    pub(crate) from: Seq,
    /// Whether the run goes on although nobody sees it any more.
    pub(crate) detached: bool,
}

impl Follow {
    /// From the beginning to the end, as long as somebody sees it.
    pub(crate) const fn new(look: Option<Look>, attendance: Attendance) -> Self {
        Self { look, attendance, from: Seq::FIRST, detached: false }
    }
}

/// How it came to an end.
pub(crate) struct Followed {
    pub(crate) exit: Exit,
    /// The line for scripts.
    pub(crate) result: Option<String>,
}

/// The look of a run on this terminal.
pub(crate) fn look(thinking: bool, verbose: bool) -> Look {
    // Longer lines are hard to read.
    let width = terminal::width().map(|columns| columns.min(140));
    Look { width, thinking, verbose, ..Look::default() }
}

/// Takes a run and works on it, in sight of whoever started us.
pub(crate) async fn work(workshop: &Workshop, run: &RunId, claim: Claim, follow: Follow) -> Result<Followed, CliError> {
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut worker = {
        let (engine, run, stop) = (workshop.engine.clone(), run.clone(), stop.clone());
        tokio::spawn(async move { engine.work(&run, claim, stop).await })
    };
    let store = workshop.engine.store();
    let mut events = pin!(r1_store::tail(store.clone(), run.clone(), Seq::FIRST));
    let mut screen = Screen::new(store.clone(), run.clone(), &follow);
    let mut keyboard = Keyboard::new();
    let mut commands: JoinSet<Result<Answer, CommandError>> = JoinSet::new();
    let mut asked_to_end: Option<Exit> = None;
    let mut at_work = true;
    loop {
        if screen.is_lost() && screen.begun && !follow.detached && asked_to_end.is_none() {
            asked_to_end = Some(Exit::PipeClosed);
            output::note("the output goes nowhere any more: the run is cancelled");
            screen.stop_asking();
            send(&mut commands, workshop, run, cancel_for(Cause::StdoutClosed));
        }
        let patience = screen.patience;
        tokio::select! {
            event = events.next() => match event {
                Some(record) => screen.take(&record?).await,
                None => break,
            },
            done = &mut worker, if at_work => {
                at_work = false;
                match done.map_err(|err| CliError::new("the worker broke down").because(err))?? {
                    Worked::Ended(_) => {}
                    Worked::HandedOver | Worked::Idle => break,
                }
            }
            line = keyboard.line(), if screen.asks() && patience.is_none_or(|at| Instant::now() < at) => {
                if let Some(answer) = screen.typed(line) {
                    send(&mut commands, workshop, run, answer);
                }
            }
            () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                if let Some(answer) = screen.assume() {
                    send(&mut commands, workshop, run, answer);
                }
            }
            Some(sent) = commands.join_next() => screen.sent(sent)?,
            // A signal that comes earlier is not lost: it is taken then.
            exit = signals.next(), if screen.begun => {
                if asked_to_end.is_some_and(|asked| asked != Exit::PipeClosed) {
                    // Whoever asks twice does not want to wait: the run can be resumed.
                    std::process::exit(i32::from(exit.code()));
                }
                asked_to_end = Some(exit);
                screen.stop_asking();
                screen.say("stopping the run in order; once more to leave at once");
                send(&mut commands, workshop, run, cancel_on(exit));
            }
        }
    }
    if at_work {
        // The run is over; what is left is to seal it and to give the lease back.
        worker.await.map_err(|err| CliError::new("the worker broke down").because(err))??;
    }
    let Left { ended, result, lost } = screen.finish();
    let exit = exit_of(ended.as_ref(), asked_to_end);
    let exit = match lost {
        Some(lost) => unseen(exit, lost.into(), follow.detached)?,
        None => exit,
    };
    Ok(Followed { exit, result })
}

/// The exit of a run of which not everything was seen.
pub(crate) fn unseen(exit: Exit, lost: CliError, detached: bool) -> Result<Exit, CliError> {
    match (exit, lost.is_closed_pipe()) {
        (exit, true) if detached => Ok(exit),
        // With nobody to tell, the exit code is all that can be said.
        (Exit::Ok | Exit::PipeClosed, true) => Ok(Exit::PipeClosed),
        (exit, true) => Ok(exit),
        (Exit::Ok | Exit::PipeClosed, false) => Err(lost),
        (exit, false) => {
            output::print_error(&lost);
            Ok(exit)
        }
    }
}

/// What a signal asks of the run.
pub(crate) fn cancel_on(signal: Exit) -> Command {
    cancel_for(match signal {
        Exit::Interrupted => Cause::Sigint,
        Exit::HungUp => Cause::Sighup,
        _ => Cause::Sigterm,
    })
}

/// What the process itself asks of its run, and why.
pub(crate) fn cancel_for(cause: Cause) -> Command {
    Command::Cancel { reason: cause.reason().into(), by: "operator".into(), cause }
}

/// The exit code of a run that ended with this event, and code of failure, after a signal or without one.
pub(crate) fn exit_of(ended: Option<&(Kind, String)>, asked_to_end: Option<Exit>) -> Exit {
    match (ended, asked_to_end) {
        (Some((Kind::RunCancelled, _)) | None, Some(exit)) => exit,
        (Some((Kind::RunCompleted, _)), _) => Exit::Ok,
        (Some((Kind::RunCancelled, _)), None) => Exit::Aborted,
        (Some((_, code)), _) => match code.as_str() {
            "budget_exceeded" => Exit::Budget,
            "policy_denied" | "gate_refused" => Exit::Aborted,
            _ => Exit::Failed,
        },
        (None, None) => Exit::Open,
    }
}

/// Whether a run ended because a criterion or a gate did not let it pass.
pub(crate) fn is_failed_check(ended: Option<&(Kind, String)>) -> bool {
    ended.is_some_and(|(kind, code)| *kind == Kind::RunFailed && code == "gate_failed")
}

/// How an event ends its run, if it does: its kind, and the code of a failure.
pub(crate) fn ending(payload: &Payload) -> Option<(Kind, String)> {
    match payload {
        Payload::RunCompleted(_) | Payload::RunCancelled(_) => Some((payload.kind(), String::new())),
        Payload::RunFailed(failed) => Some((Kind::RunFailed, failed.error_type.clone())),
        _ => None,
    }
}

/// Whether an event says that a worker has the run.
pub(crate) fn is_claim(payload: &Payload) -> bool {
    match payload {
        Payload::RunResumed(_) => true,
        Payload::Typed(typed) => typed.r#type == data::RunStarted::TYPE,
        _ => false,
    }
}

fn send(commands: &mut JoinSet<Result<Answer, CommandError>>, workshop: &Workshop, run: &RunId, asked: Command) {
    let (engine, run) = (workshop.engine.clone(), run.clone());
    commands.spawn(async move { command(&engine, &run, asked, &ask::caller()).await });
}

/// Who can answer questions here.
pub(crate) fn attendance() -> Attendance {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        Attendance::Person
    } else {
        Attendance::Nobody
    }
}

/// Whether a process that is alive works on a run.
pub(crate) async fn is_held(store: &SharedStore, run: &RunId) -> Result<bool, CliError> {
    let lease = store.lease(run).await?;
    Ok(lease.is_some_and(|lease| lease.until > world::now() && !world::is_dead(&lease.owner)))
}

/// The patch that an event tells of: its id, and where its text is.
pub(crate) fn patch(payload: &Payload) -> Option<(String, Digest)> {
    let Payload::Typed(typed) = payload else { return None };
    let created = data::ArtifactCreated::read(typed).filter(|created| created.kind.as_str() == "patch")?;
    let digest = created.digest.strip_prefix("blake3:")?.parse().ok()?;
    Some((created.artifact_id, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stoke_05_the_exit_code_says_how_a_run_ended() {
        let failed = |code: &str| Some((Kind::RunFailed, code.to_owned()));
        let cancelled = Some((Kind::RunCancelled, String::new()));
        let cases = [
            (Some((Kind::RunCompleted, String::new())), None, Exit::Ok),
            (failed("model_error"), None, Exit::Failed),
            (failed("gate_failed"), None, Exit::Failed),
            (failed("gate_refused"), None, Exit::Aborted),
            (failed("policy_denied"), None, Exit::Aborted),
            (failed("budget_exceeded"), None, Exit::Budget),
            (cancelled.clone(), None, Exit::Aborted),
            (cancelled.clone(), Some(Exit::Interrupted), Exit::Interrupted),
            (cancelled, Some(Exit::PipeClosed), Exit::PipeClosed),
            // It ended before the signal was heard.
            (Some((Kind::RunCompleted, String::new())), Some(Exit::Terminated), Exit::Ok),
            (None, Some(Exit::Terminated), Exit::Terminated),
        ];
        for (ended, asked_to_end, exit) in cases {
            assert_eq!(exit_of(ended.as_ref(), asked_to_end), exit, "{ended:?}");
        }
        assert!(is_failed_check(failed("gate_failed").as_ref()) && !is_failed_check(failed("gate_refused").as_ref()));
    }
}
