//! What the log of a run does not tell, asked of the store.

use std::sync::PoisonError;

use r1_event::{RunId, SideRecord};
use r1_protocol::api::{Run, RunStatus};
use r1_store::{Lease, RunSummary, StoreError};

use super::Index;
use super::drawer::load;
use super::run::RunEntry;
use crate::agent::command::Command;
use crate::control::errand::Errand;
use crate::world;

impl Index {
    /// A run as it is served.
    pub(super) async fn served(&self, entry: RunEntry) -> Result<Run, StoreError> {
        let is_imported = entry.is_imported;
        let mut run = entry.run;
        let Ok(stored) = entry.stored_id.parse::<RunId>() else { return Ok(run) };
        if !run.status.is_final() {
            let lease = self.store.lease(&stored).await?;
            if is_imported {
                run.status = elsewhere(lease.as_ref());
            }
            run.lease_until = lease.map(|lease| lease.until.into());
            run.cancelling = self.store.commands(&stored).await?.iter().any(|command| is_cancel(&command.body));
        }
        let beside = self.store.side_records(&stored).await?;
        run.sealed = beside.iter().any(|record| matches!(record, SideRecord::Seal(_)));
        let summary = self.summary(&stored).await?;
        run.pruned_through = summary.and_then(|run| run.pruned_through).map(|seq| seq.get() - 1);
        for id in [&mut run.parent_run_id, &mut run.prior_run_id].into_iter().flatten() {
            *id = self.served_id(id).await?;
        }
        if let Some(from) = &mut run.forked_from {
            from.run_id = self.served_id(&from.run_id).await?;
        }
        Ok(run)
    }

    /// What the store says of a run. One whose entry is damaged is served as its log tells, so that it takes no other
    /// run out of a list; whoever runs the server is told once.
    async fn summary(&self, run: &RunId) -> Result<Option<RunSummary>, StoreError> {
        match self.store.run(run).await {
            Err(StoreError::Damaged { run, reason }) => {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                if told.insert(run.clone()) {
                    tracing::error!(%run, reason, "what is stored for a run is damaged");
                }
                Ok(None)
            }
            found => found,
        }
    }

    /// How a run that another program drives stands.
    pub(super) async fn status_elsewhere(&self, stored: &str) -> Result<RunStatus, StoreError> {
        let Ok(run) = stored.parse::<RunId>() else { return Ok(RunStatus::Idle) };
        Ok(elsewhere(self.store.lease(&run).await?.as_ref()))
    }

    /// The id that a run is served under.
    async fn served_id(&self, stored: &str) -> Result<String, StoreError> {
        if stored.parse::<RunId>().is_ok_and(|run| run.is_native()) {
            return Ok(stored.to_owned());
        }
        let entry: Option<RunEntry> = load(&self.store, stored).await?;
        Ok(entry.map_or_else(|| stored.to_owned(), |entry| entry.run.id))
    }
}

fn elsewhere(lease: Option<&Lease>) -> RunStatus {
    if lease.is_some_and(|lease| lease.is_live_at(world::now())) { RunStatus::Running } else { RunStatus::Idle }
}

fn is_cancel(body: &[u8]) -> bool {
    matches!(serde_json::from_slice(body), Ok(Errand { command: Command::Cancel { .. }, .. }))
}
