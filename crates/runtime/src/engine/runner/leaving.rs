//! How a run is left to whoever comes next.

use r1_event::{Payload, payload};
use r1_protocol::data::{self, EventData};
use tokio::time::Instant;

use super::Runner;
use crate::agent::Effect;
use crate::emit::Emission;
use crate::engine::{EngineError, Outcome};

impl Runner<'_> {
    /// Gives the run back: what runs may finish for a while, then it is left to whoever comes next.
    pub(super) async fn hand_over(mut self) -> Result<Outcome, EngineError> {
        if self.state.is_idle() {
            self.writer.close().await?;
            return Ok(Outcome::Idle);
        }
        self.leaving = true;
        let hurry = self.engine.hurry.clone();
        let patience = Instant::now() + self.engine.patience;
        let is_call = |effect: &Effect| matches!(effect, Effect::Run { .. } | Effect::Model { .. });
        while self.state.terminal.is_none() && self.under_way.keys().any(is_call) {
            tokio::select! {
                Some(request) = self.requests.recv() => self.take_emissions(request).await?,
                Some(asked) = self.asked.recv() => self.remember(asked).await?,
                Some(done) = self.tasks.join_next_with_id() => self.task_ended(done).await?,
                () = tokio::time::sleep_until(patience) => break,
                () = hurry.cancelled() => break,
            }
        }
        if let Some(kind) = self.state.terminal {
            self.writer.close().await?;
            return Ok(Outcome::Ended(kind));
        }
        let mut events = Vec::new();
        if let Some(turn) = &self.state.turn {
            events.push(Payload::TurnFailed(payload::TurnFailed {
                turn_id: Some(turn.turn_id.clone()),
                turn_index: Some(turn.index),
                code: Some("handed_over".into()),
                message: Some("the process was asked to stop".into()),
                will_retry: Some(true),
                attempt: Some(turn.failures + 1),
                ..Default::default()
            }));
        }
        let handed_over = data::RunHandedOver {
            worker_id: self.engine.instance.clone(),
            reason: "shutdown".into(),
            ..Default::default()
        };
        events.push(handed_over.to_payload());
        self.stop_all().await;
        let mut batch = self.writer.batch();
        for payload in events {
            self.stage(&mut batch, Emission::plain(payload))?;
        }
        self.writer.append_batch(batch).await?;
        self.writer.close().await?;
        Ok(Outcome::HandedOver)
    }

    /// Stops all work and waits until it has stopped; what it still has to say is not taken.
    pub(super) async fn stop_all(&mut self) {
        self.under_way.values().for_each(|task| task.cancel.cancel());
        self.requests.close();
        self.asked.close();
        while self.requests.recv().await.is_some() {}
        while self.asked.recv().await.is_some() {}
        while self.tasks.join_next().await.is_some() {}
        self.under_way.clear();
    }
}
