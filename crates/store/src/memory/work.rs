//! Who works on which run: leases, commands, runs that nobody holds.

use std::time::Duration;

use r1_event::{RunId, UnixNanos};

use super::shelf::Shelf;
use crate::command::Command;
use crate::error::{CommandError, LeaseError};
use crate::lease::Lease;
use crate::rules::{self, Mailbox};
use crate::run::{OpenRun, RunPosition};

impl Shelf {
    pub(super) fn renew(&mut self, lease: &Lease, ttl: Duration, now: UnixNanos) -> Result<Lease, LeaseError> {
        let renewed = lease.extend(self.lease(&lease.run), ttl, now)?;
        self.keep_lease(renewed.clone());
        Ok(renewed)
    }

    pub(super) fn open_runs(&self, after: Option<RunPosition>, limit: usize, now: UnixNanos) -> Vec<OpenRun> {
        let first = after.map_or(0, |RunPosition(place)| place.saturating_add(1));
        let free = self.open.range(usize::try_from(first).unwrap_or(usize::MAX)..).filter_map(|place| {
            let summary = self.runs[*place].summary();
            let lease = self.lease(&summary.run_id);
            if lease.is_some_and(|lease| lease.is_live_at(now)) {
                return None;
            }
            let lease = lease.cloned().and_then(Lease::unless_given_back);
            Some(OpenRun { position: RunPosition(*place as u64), summary, lease })
        });
        free.take(limit).collect()
    }

    pub(super) fn leave_command(&mut self, run: &RunId, command: Command) -> Result<(), CommandError> {
        rules::check_command(&command)?;
        let Ok(log) = self.run_mut(run) else { return Err(CommandError::NoRun { run: run.clone() }) };
        let mailbox = Mailbox {
            has_ended: log.chain.terminal().is_some(),
            is_known: log.has_command(&command.id),
            pending: log.commands.len() as u64,
        };
        if !mailbox.admit(run)? {
            return Ok(());
        }
        log.commands.push(command);
        log.commands_left += 1;
        let position = log.commands_left;
        for watches in &self.openings {
            watches.publish_command(run, position);
        }
        Ok(())
    }

    pub(super) fn withdraw_command(&mut self, run: &RunId, id: &str) -> bool {
        let Ok(log) = self.run_mut(run) else { return false };
        let index = log.commands.iter().position(|command| command.id == id);
        index.map(|index| log.commands.remove(index)).is_some()
    }
}
