//! What a store keeps of its runs besides their events.
//!
//! Nothing is verified here: that takes whole logs, and `r1 log validate` does it. This finds what cannot even be read.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use r1_event::{RunId, SideRecord};
use r1_store::{Listed, RunFilter, SharedStore, StoreError};

use super::{Checkup, Health};
use crate::control::check;

/// So many runs are looked at, the newest ones.
const MOST: usize = 20_000;

/// How many are listed at once, and of how many the records are read at a time.
const PAGE: usize = 500;
const AT_ONCE: usize = 8;

/// How many faults are named; the rest is counted.
const NAMED: usize = 10;

pub(super) async fn examine(store: &SharedStore) -> Result<Vec<Checkup>, StoreError> {
    let (mut faults, mut looked_at, mut after) = (Vec::new(), 0, None);
    loop {
        let page = store.list(RunFilter { after, limit: PAGE, ..RunFilter::default() }).await?;
        looked_at += page.entries.len();
        let mut runs = Vec::new();
        for entry in page.entries {
            match entry {
                Listed::Run(summary) => runs.push(summary.run_id),
                Listed::Damaged(entry) => faults.push(check::damage(&entry)),
            }
        }
        let of_records = stream::iter(runs).map(|run| examine_records(store, run)).buffered(AT_ONCE);
        faults.extend(of_records.try_filter_map(|fault| async { Ok(fault) }).try_collect::<Vec<_>>().await?);
        match page.next {
            Some(next) if looked_at < MOST => after = Some(next),
            rest => return Ok(told(faults, rest.is_some())),
        }
    }
}

async fn examine_records(store: &SharedStore, run: RunId) -> Result<Option<String>, StoreError> {
    let records = store.side_records(&run).await?;
    let damaged = records.iter().filter(|record| matches!(record, SideRecord::Damaged(_))).count();
    Ok((damaged > 0).then(|| {
        let what = if damaged == 1 { "a record".to_owned() } else { format!("{damaged} records") };
        format!("{what} beside the log of {run} cannot be read: a seal, a checkpoint, an erasure or a prune is lost")
    }))
}

fn told(faults: Vec<String>, there_are_more: bool) -> Vec<Checkup> {
    let others = faults.len().saturating_sub(NAMED);
    let bad = |fault: String| {
        Checkup::new("runs", Health::Bad, fault).hint("restore a backup; `r1 log validate` says what still holds")
    };
    let mut checkups: Vec<_> = faults.into_iter().take(NAMED).map(bad).collect();
    if others > 0 {
        checkups.push(Checkup::new("runs", Health::Bad, format!("{others} more like these")));
    }
    if there_are_more {
        let detail = format!("only the newest {MOST} were looked at; `r1 log validate` checks all");
        checkups.push(Checkup::new("runs", Health::Notice, detail));
    }
    checkups
}
