//! Asking something of a run, whoever works on it.

use std::time::Duration;

use r1_event::{RunId, Seq};
use r1_store::{AppendError, LeaseError, StoreError};
use tokio::time::Instant;

use super::caller::{Caller, Effect};
use super::errand::{Outcome, Waiting};
use crate::agent::Toolset;
use crate::agent::command::{Command, Refusal, respond};
use crate::engine::{Engine, EngineError, claim_for_append, release_the_dead};
use crate::history::{HistoryError, load};
use crate::world;
use crate::writer::WriterError;

/// How long the worker of a run has to do what is asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is seen to whether there still is a worker.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The event that tells of it.
    pub effect: Effect,
    /// Whether it was so before, and nothing was done.
    pub was_so: bool,
}

/// Why nothing came of a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The run does not take it.
    #[error(transparent)]
    Refused(Refusal),
    /// The run's history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The worker did not answer; nothing was done.
    #[error("the worker of run {run} did not answer in time; nothing was done")]
    NoAnswer {
        /// The run.
        run: RunId,
    },
    /// The run is being stopped, and that takes its time.
    #[error("run {run} is being stopped, which takes longer than usual")]
    StillStopping {
        /// The run.
        run: RunId,
    },
    /// The events could not be written.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It could not be left for the worker.
    #[error(transparent)]
    Leave(#[from] r1_store::CommandError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Asks `command` of a run. When this returns, it is done and durable.
///
/// If nobody works on the run, the events are appended here. Otherwise the command is left for the
/// worker, in whichever process that is.
pub async fn command(engine: &Engine, run: &RunId, command: Command, caller: &Caller) -> Result<Answer, CommandError> {
    let command = without_secrets(engine, command);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let state = load(engine.store(), run).await?;
        // Refused before it is left for anyone, where that can be told already.
        let tools = Toolset::recorded(&state);
        let actor = caller.actor.as_ref();
        if let Err(refusal) = respond(&state, &tools, &command, actor) {
            return refused(run, refusal);
        }
        release_the_dead(engine.store(), run).await?;
        match claim_for_append(engine, run, caller, |state| respond(state, &tools, &command, actor)).await {
            Ok(Ok(seq)) => return Ok(done(Effect::new(run, seq))),
            Ok(Err(refusal)) => return refused(run, refusal),
            Err(EngineError::Writer(WriterError::Lease(LeaseError::Held { .. }))) => {}
            // Someone took the run between two looks: ask again.
            Err(EngineError::Writer(WriterError::Append(
                AppendError::Fenced { .. } | AppendError::Conflict { .. },
            ))) => continue,
            Err(err) => return Err(err.into()),
        }
        match leave(engine, run, &command, caller, deadline).await? {
            Some(Outcome::Done(effect)) => return Ok(done(effect)),
            Some(Outcome::Refused(refusal)) => return refused(run, refusal),
            // The run ended, or there is no worker any more: the next look tells.
            Some(Outcome::Nothing) | None => {}
        }
    }
}

const fn done(effect: Effect) -> Answer {
    Answer { effect, was_so: false }
}

fn refused(run: &RunId, refusal: Refusal) -> Result<Answer, CommandError> {
    match refusal {
        Refusal::AlreadySo { seq } => {
            let effect = Effect::new(run, Seq::new(seq).unwrap_or(Seq::FIRST));
            Ok(Answer { effect, was_so: true })
        }
        refusal => Err(CommandError::Refused(refusal)),
    }
}

/// Leaves a command for the worker and waits until that has seen to it; `None` if there is no worker.
async fn leave(
    engine: &Engine,
    run: &RunId,
    command: &Command,
    caller: &Caller,
    deadline: Instant,
) -> Result<Option<Outcome>, CommandError> {
    let store = engine.store();
    let mut watch = store.watch(run);
    let waiting = match Waiting::leave(store, run, command, caller).await {
        Ok(waiting) => waiting,
        Err(r1_store::CommandError::Ended { .. }) => return Ok(None),
        Err(err) => return Err(err.into()),
    };
    loop {
        if !waiting.is_pending(store, run).await? {
            return Ok(Some(waiting.outcome(store).await?));
        }
        let is_late = Instant::now() >= deadline;
        if is_late && matches!(command, Command::Cancel { .. }) {
            return Err(CommandError::StillStopping { run: run.clone() });
        }
        if is_late || !has_a_worker(engine, run).await? {
            return match waiting.withdraw(store, run).await? {
                false => Ok(Some(waiting.outcome(store).await?)),
                true if is_late => Err(CommandError::NoAnswer { run: run.clone() }),
                true => Ok(None),
            };
        }
        let next = store.head(run).await?.map_or(Seq::FIRST, |head| head.next);
        let look_again = deadline.min(Instant::now() + LOOK_EVERY);
        let _ = tokio::time::timeout_at(look_again, watch.grown(next)).await;
    }
}

/// Whether anyone holds the run who could see to a command.
async fn has_a_worker(engine: &Engine, run: &RunId) -> Result<bool, StoreError> {
    Ok(engine.store().lease(run).await?.is_some_and(|lease| !world::is_dead(&lease.owner)))
}

/// Commands wait in the store, so they are redacted like all that is stored.
fn without_secrets(engine: &Engine, mut command: Command) -> Command {
    let redactor = engine.redactor();
    match &mut command {
        Command::Message { text, .. } => *text = redactor.text(text).into_owned(),
        Command::Resolve(resolution) => {
            resolution.comment = redactor.text(&resolution.comment).into_owned();
            if let Some(input) = &mut resolution.edited_input {
                redactor.json(input);
            }
        }
        Command::Cancel { reason, .. } | Command::Interrupt { reason, .. } => {
            *reason = redactor.text(reason).into_owned();
        }
        Command::Update(changes) => {
            if let Some(title) = &mut changes.title {
                *title = redactor.text(title).into_owned();
            }
            changes.tags.iter_mut().flat_map(|tags| tags.values_mut()).for_each(|tag| redactor.json(tag));
        }
        Command::Override { reason, .. } => *reason = redactor.text(reason).into_owned(),
        Command::Record { events } => events.iter_mut().for_each(|event| redactor.json(&mut event.data)),
        Command::Release { .. } => {}
    }
    command
}
