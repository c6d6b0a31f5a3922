//! Working on a run while a person watches: shows it as it goes, asks what must be asked, and stops in
//! order when told to.

use std::io::{IsTerminal as _, Write as _};
use std::pin::pin;

use futures_util::StreamExt as _;
use r1_event::{Digest, Kind, Payload, Record, RunId, Seq};
use r1_protocol::RunFacts;
use r1_protocol::data::{self, EventData};
use r1_protocol::stoke::{Cause, LineKind, Options};
use r1_runtime::agent::RunState;
use r1_runtime::agent::command::Command;
use r1_runtime::control::command::{Answer, CommandError, command};
use r1_runtime::control::stoke::RunLines;
use r1_runtime::engine::{Claim, Outcome as Worked};
use r1_runtime::{artifact, world};
use r1_store::SharedStore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ask::{self, Attendance, Desk, Reply};
use crate::error::CliError;
use crate::exit::Exit;
use crate::keyboard::Keyboard;
use crate::output::{self, DIM, NOTICE, Stdout};
use crate::render::live::{Live, Look};
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
}

/// How it came to an end.
pub(crate) struct Followed {
    pub(crate) exit: Exit,
    /// The line for scripts.
    pub(crate) result: Option<String>,
}

/// The look of a run on this terminal.
pub(crate) fn look(thinking: bool, verbose: bool) -> Look {
    let width = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    let width = width.map(|(terminal_size::Width(columns), _)| usize::from(columns).clamp(40, 140));
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
    let mut screen = Screen::new(store.clone(), run.clone(), follow);
    let mut keyboard = Keyboard::new();
    let mut commands: JoinSet<Result<Answer, CommandError>> = JoinSet::new();
    let mut asked_to_end: Option<Exit> = None;
    let mut at_work = true;
    loop {
        let patience = screen.patience;
        tokio::select! {
            event = events.next() => match event {
                Some(record) => screen.take(&record?).await?,
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
                if let Some(answer) = screen.typed(line)? {
                    send(&mut commands, workshop, run, answer);
                }
            }
            () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                if let Some(answer) = screen.assume()? {
                    send(&mut commands, workshop, run, answer);
                }
            }
            Some(sent) = commands.join_next() => screen.sent(sent)?,
            // A signal that comes earlier is not lost: it is taken then.
            exit = signals.next(), if screen.begun => {
                if asked_to_end.is_some() {
                    // Whoever asks twice does not want to wait: the run can be resumed.
                    std::process::exit(i32::from(exit.code()));
                }
                asked_to_end = Some(exit);
                screen.stopping()?;
                send(&mut commands, workshop, run, cancel_on(exit));
            }
        }
    }
    if at_work {
        // The run is over; what is left is to seal it and to give the lease back.
        worker.await.map_err(|err| CliError::new("the worker broke down").because(err))??;
    }
    screen.finish(asked_to_end)
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

/// What stands on the terminal.
struct Screen {
    store: SharedStore,
    from: Seq,
    live: Option<Live>,
    /// What makes the line for scripts.
    lines: Option<RunLines>,
    /// That line.
    result: Option<String>,
    desk: Desk,
    /// Whether our worker has the run. A word to the run before that would take the lease from under it.
    begun: bool,
    /// When the assumed answer to the question is given.
    patience: Option<Instant>,
    /// Whether the prompt is the last thing on the screen.
    prompted: bool,
    /// Whether something else was printed since the question.
    reminds: bool,
    /// An answer is on its way; nothing is asked until it is there.
    answering: bool,
    out: Stdout,
    ended: Option<(Kind, String)>,
}

impl Screen {
    fn new(store: SharedStore, run: RunId, follow: Follow) -> Self {
        let Follow { look, attendance, from } = follow;
        Self {
            store,
            from,
            live: look.map(|look| Live::new(run, look)),
            lines: None,
            result: None,
            desk: Desk::new(attendance),
            begun: false,
            patience: None,
            prompted: false,
            reminds: false,
            answering: false,
            out: output::stdout(),
            ended: None,
        }
    }

    async fn take(&mut self, record: &Record) -> Result<(), CliError> {
        let Ok((place, payload)) = RunState::read(record) else { return Ok(()) };
        if self.live.is_none() {
            self.keep_result(record);
        }
        self.learn_patch(&payload).await;
        self.begun |= place.seq >= self.from && is_claim(&payload);
        self.ended = ending(&payload).or_else(|| self.ended.take());
        let text = self.live.as_mut().map(|live| live.take(place.ts, &payload)).unwrap_or_default();
        let text = self.hear_questions(&payload, text);
        if place.seq >= self.from {
            self.print(&text)?;
        }
        self.prompt()
    }

    /// The run's end as one line, once it is there.
    fn keep_result(&mut self, record: &Record) {
        if self.lines.is_none() {
            let facts = RunFacts::of_first(record, None);
            self.lines = facts.map(|facts| RunLines::of_fresh(facts, Options::default()));
        }
        let lines = self.lines.iter_mut().flat_map(|lines| lines.push(record));
        if let Some(line) = lines.into_iter().find(|line| line.kind == LineKind::Result) {
            self.result = Some(String::from_utf8_lossy(&line.bytes).trim_end().to_owned());
        }
    }

    /// Writes above the prompt.
    fn print(&mut self, text: &str) -> Result<(), CliError> {
        if text.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.prompted) {
            self.out.write_all(b"\r\x1b[2K")?;
        }
        self.reminds = true;
        Ok(self.out.write_all(text.as_bytes())?)
    }

    async fn learn_patch(&mut self, payload: &Payload) {
        let Some(live) = &mut self.live else { return };
        // A patch that cannot be read is no reason to stop; the question says that it cannot be shown.
        if let Some((artifact_id, digest)) = patch(payload)
            && let Ok(bytes) = artifact::read(&self.store, digest).await
        {
            live.learn_patch(artifact_id, String::from_utf8_lossy(&bytes).into_owned());
        }
    }

    /// Keeps what is asked until it is its turn. Gives what is to be shown now.
    fn hear_questions(&mut self, payload: &Payload, text: String) -> String {
        let Payload::Typed(typed) = payload else { return text };
        if let Some(request) = data::ApprovalRequested::read(typed) {
            if self.desk.attendance == Attendance::Nobody {
                let id = &request.approval_id;
                output::note(&format!("it waits for approval: answer with `r1 approve {id}` in another terminal"));
                return text;
            }
            self.desk.ask(request, text);
            return String::new();
        }
        let answered = data::ApprovalResolved::read(typed).map(|answer| answer.approval_id);
        let ended = answered.or_else(|| data::ApprovalTimedOut::read(typed).map(|lapsed| lapsed.approval_id));
        let Some(approval_id) = ended else { return text };
        (self.patience, self.answering) = (None, false);
        self.desk.withdraw(&approval_id).unwrap_or_default() + &text
    }

    fn asks(&self) -> bool {
        self.begun && self.desk.question().is_some() && !self.answering
    }

    fn prompt(&mut self) -> Result<(), CliError> {
        if self.asks() && !self.prompted {
            if let Attendance::Hasty(after) = self.desk.attendance
                && self.patience.is_none()
            {
                self.patience = Some(Instant::now() + after);
            }
            if let Some(text) = self.desk.unseen() {
                self.print(&text)?;
                self.reminds = false;
            }
            if self.patience.is_none_or(|at| at > Instant::now()) {
                let prompt = self.desk.prompt(self.reminds).unwrap_or_default();
                self.out.write_all(prompt.as_bytes())?;
                self.prompted = true;
            }
        }
        // Whoever watches wants to see it now.
        Ok(self.out.flush()?)
    }

    fn typed(&mut self, line: Option<String>) -> Result<Option<Command>, CliError> {
        self.prompted = false;
        let Some(line) = line else {
            // Nobody can answer here any more; somebody may elsewhere.
            self.desk.attendance = Attendance::Nobody;
            self.say("nobody can answer here; use `r1 approve` in another terminal")?;
            return Ok(None);
        };
        let answer = match self.desk.reply(&line) {
            Some(Reply::Answer(command)) => Some(*command),
            Some(Reply::Again(why)) => {
                if !why.is_empty() {
                    self.say(&why)?;
                }
                None
            }
            Some(Reply::Edit) => self.edit()?,
            None => None,
        };
        self.answering = answer.is_some();
        self.prompt()?;
        Ok(answer)
    }

    fn edit(&mut self) -> Result<Option<Command>, CliError> {
        let input = self.desk.question().and_then(|request| request.input.clone()).unwrap_or_default();
        match tokio::task::block_in_place(|| ask::edit(&input.into())) {
            Ok(input) => Ok(self.desk.edited(input)),
            Err(why) => {
                self.say(&why)?;
                Ok(None)
            }
        }
    }

    fn assume(&mut self) -> Result<Option<Command>, CliError> {
        self.patience = None;
        let answer = self.desk.assumed();
        self.answering = answer.is_some();
        if self.prompted {
            writeln!(self.out, "{DIM}yes{DIM:#}")?;
            self.out.flush()?;
            self.prompted = false;
        }
        Ok(answer)
    }

    fn sent(&mut self, sent: Result<Result<Answer, CommandError>, tokio::task::JoinError>) -> Result<(), CliError> {
        match sent {
            Ok(Ok(_)) => {}
            Ok(Err(err)) => {
                self.answering = false;
                self.say(&err.to_string())?;
            }
            Err(err) => return Err(CliError::new("a command broke down").because(err)),
        }
        self.prompt()
    }

    fn stopping(&mut self) -> Result<(), CliError> {
        self.desk.withdraw_all();
        self.patience = None;
        if self.live.is_some() {
            self.say("stopping the run in order; once more to leave at once")?;
        }
        Ok(self.out.flush()?)
    }

    fn say(&mut self, text: &str) -> Result<(), CliError> {
        let newline = if std::mem::take(&mut self.prompted) { "\n" } else { "" };
        Ok(writeln!(self.out, "{newline}{NOTICE}!{NOTICE:#} {text}")?)
    }

    fn finish(mut self, asked_to_end: Option<Exit>) -> Result<Followed, CliError> {
        self.out.flush()?;
        let exit = exit_of(self.ended.as_ref(), asked_to_end);
        Ok(Followed { exit, result: self.result })
    }
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
