//! Asking something of a run, whoever works on it.

use std::time::Duration;

use r1_event::RunId;
use r1_store::{AppendError, LeaseError, StoreError};

use crate::agent::command::{Command, Refusal, respond};
use crate::agent::{RunState, Toolset};
use crate::engine::{Engine, EngineError, claim_for_append, release_the_dead};
use crate::history::{HistoryError, load};
use crate::world;
use crate::writer::WriterError;

/// How long the worker of a run has to do what is asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why nothing came of a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The run does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The run's history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The worker did not answer; nothing was done.
    #[error("the worker of run {run} did not answer in time; nothing was done")]
    NoAnswer {
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

/// Asks `command` of a run. When this returns, it is done and durable; the state is that right after.
///
/// If nobody works on the run, the events are appended here. Otherwise the command is left for the
/// worker, in whichever process that is.
pub async fn command(engine: &Engine, run: &RunId, command: Command) -> Result<RunState, CommandError> {
    let command = without_secrets(engine, command);
    loop {
        let state = load(engine.store(), run).await?;
        // Refused before it is left for anyone, where that can be told already.
        let tools = Toolset::recorded(&state);
        respond(&state, &tools, &command)?;
        release_the_dead(engine.store(), run).await?;
        match claim_for_append(engine, run, |state| respond(state, &tools, &command)).await {
            Ok(Ok(state)) => return Ok(state),
            Ok(Err(refusal)) => return Err(refusal.into()),
            Err(EngineError::Writer(WriterError::Lease(LeaseError::Held { .. }))) => {}
            // Someone took the run between two looks: ask again.
            Err(EngineError::Writer(WriterError::Append(
                AppendError::Fenced { .. } | AppendError::Conflict { .. },
            ))) => {
                continue;
            }
            Err(err) => return Err(err.into()),
        }
        return leave(engine, run, &tools, &command).await;
    }
}

async fn leave(engine: &Engine, run: &RunId, tools: &Toolset, command: &Command) -> Result<RunState, CommandError> {
    let store = engine.store();
    let id = world::new_id("cmd");
    let body = serde_json::to_vec(command).unwrap_or_default().into();
    let mut watch = store.watch(run);
    store.leave_command(run, r1_store::Command { id: id.clone(), body }).await?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if !store.commands(run).await?.iter().any(|waiting| waiting.id == id) {
            // Done, or refused by the state that the worker saw: the state of now tells which.
            let state = load(store, run).await?;
            return match respond(&state, tools, command) {
                // What was asked for is so now, or it could be asked for again.
                Err(
                    Refusal::UnknownApproval { .. } | Refusal::AlreadySo | Refusal::Ended | Refusal::NothingToInterrupt,
                )
                | Ok(_) => Ok(state),
                Err(refusal) => Err(refusal.into()),
            };
        }
        let next = store.head(run).await?.map_or(r1_event::Seq::FIRST, |head| head.next);
        let woken = tokio::time::timeout_at(deadline, watch.grown(next));
        if woken.await.is_err() && tokio::time::Instant::now() >= deadline {
            return if store.withdraw_command(run, &id).await? {
                Err(CommandError::NoAnswer { run: run.clone() })
            } else {
                Ok(load(store, run).await?)
            };
        }
    }
}

/// Commands wait in the store, so they are redacted like all that is stored.
fn without_secrets(engine: &Engine, mut command: Command) -> Command {
    let redactor = engine.redactor();
    match &mut command {
        Command::Message { text, .. } => *text = redactor.text(text).into_owned(),
        Command::Resolve { comment, edited_input, .. } => {
            *comment = redactor.text(comment).into_owned();
            if let Some(input) = edited_input {
                redactor.json(input);
            }
        }
        Command::Cancel { reason, .. } | Command::Interrupt { reason, .. } => {
            *reason = redactor.text(reason).into_owned();
        }
        Command::Record { events } => events.iter_mut().for_each(|event| redactor.json(&mut event.data)),
        Command::Release { .. } => {}
    }
    command
}
