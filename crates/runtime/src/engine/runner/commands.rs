//! What people and other programs ask of a run while someone works on it.

use r1_store::AppendError;

use super::{Ending, Runner, Settles};
use crate::agent::command::{self, Command, Refusal, Resolution, Response};
use crate::agent::{Asked, Effect};
use crate::control::caller::Caller;
use crate::control::errand::{self, Errand};
use crate::engine::EngineError;
use crate::writer::WriterError;

impl Runner<'_> {
    /// Carries out what was asked of the run since the last look.
    pub(super) async fn take_commands(&mut self) -> Result<(), EngineError> {
        if self.ending.is_some() || self.state.terminal.is_some() {
            return Ok(());
        }
        for waiting in self.engine.store.commands(&self.state.run).await? {
            let Ok(errand) = serde_json::from_slice::<Errand>(&waiting.body) else {
                self.engine.store.withdraw_command(&self.state.run, &waiting.id).await?;
                continue;
            };
            match self.respond(&errand) {
                Err(refusal) => self.refuse(&waiting.id, &refusal).await?,
                Ok(_) if matches!(errand.command, Command::Cancel { .. } | Command::Interrupt { .. }) => {
                    self.ending = Some(Ending { id: waiting.id, errand });
                    return Ok(());
                }
                Ok(response) => {
                    self.remember_edit(&errand.command);
                    self.carry_out(&waiting.id, &errand.caller, response).await?;
                }
            }
        }
        Ok(())
    }

    fn respond(&self, errand: &Errand) -> Result<Response, Refusal> {
        command::respond(&self.state, &self.tools, &errand.command, errand.caller.actor.as_ref())
    }

    /// Appends what a command causes, unless whoever left it no longer waits for it.
    async fn carry_out(&mut self, id: &str, caller: &Caller, response: Response) -> Result<(), EngineError> {
        let before = self.state.clone();
        let Response { events, answer } = response;
        match self.commit(events, Some(Settles { id, caller, answer })).await {
            Err(EngineError::Writer(WriterError::Append(AppendError::CommandWithdrawn { .. }))) => {
                self.state = before;
                Ok(())
            }
            Err(EngineError::Writer(WriterError::Append(AppendError::NoteMoved { .. }))) => {
                self.state = before;
                self.refuse(id, &Refusal::Superseded).await
            }
            committed => committed.map(drop),
        }
    }

    async fn refuse(&self, id: &str, refusal: &Refusal) -> Result<(), EngineError> {
        errand::refuse(&self.engine.store, id, refusal).await?;
        self.engine.store.withdraw_command(&self.state.run, id).await?;
        Ok(())
    }

    fn remember_edit(&mut self, command: &Command) {
        if let Command::Resolve(Resolution { approval_id, edited_input: Some(input), .. }) = command
            && let Some((_, Asked::Call(call))) = self.state.approvals().find(|(id, _)| id == approval_id)
        {
            self.real_inputs.insert(call.call_id.clone(), input.clone());
        }
    }

    /// Once all work has stopped, a cancelled run is closed. True if that was done now.
    pub(super) async fn finish_ending(&mut self) -> Result<bool, EngineError> {
        let runs = |effect: &Effect| matches!(effect, Effect::Run { .. } | Effect::Gate { .. });
        if self.ending.is_none() || self.under_way.keys().any(runs) {
            return Ok(false);
        }
        let Some(Ending { id, errand }) = self.ending.take() else { return Ok(false) };
        match self.respond(&errand) {
            Ok(response) => self.carry_out(&id, &errand.caller, response).await?,
            Err(refusal) => self.refuse(&id, &refusal).await?,
        }
        Ok(true)
    }
}
