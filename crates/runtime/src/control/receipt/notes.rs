//! What a log's graph needs besides its events.

use std::collections::BTreeSet;

use r1_event::{RunId, Seq, SideRecord};
use r1_receipt::graph::Notes;
use r1_store::{PageLimit, SharedStore};

use super::RebuildError;
use crate::control::view;
use crate::source::Log;

/// Gathers what was erased from a log and what was pruned. The events that tell of erasures are looked up in the
/// log itself, or in `store` if they are in another run.
pub(crate) async fn notes_of(log: &Log, store: Option<&SharedStore>) -> Result<Notes, RebuildError> {
    let run = log.run_id().unwrap_or_default().to_owned();
    let mut notes = Notes::new(log.side_records());
    let mut told = BTreeSet::new();
    for record in log.side_records() {
        match record {
            SideRecord::Erase(erase) => {
                let redaction = &erase.redaction;
                told.insert((redaction.ts, redaction.run_id.clone(), redaction.seq));
            }
            SideRecord::Prune(prune) if prune.graph.is_none() => return Err(RebuildError::PrunedBlindly { run }),
            SideRecord::Prune(_)
            | SideRecord::Seal(_)
            | SideRecord::Checkpoint(_)
            | SideRecord::Other(_)
            | SideRecord::Damaged(_) => {}
        }
    }
    // In order of time: what a later redaction says of an event replaces what an earlier one said.
    for (_, place, seq) in told {
        read_redaction(&mut notes, log, store, (&run, &place, seq)).await?;
    }
    Ok(notes)
}

async fn read_redaction(
    notes: &mut Notes,
    log: &Log,
    store: Option<&SharedStore>,
    (run, place, seq): (&str, &RunId, Seq),
) -> Result<(), RebuildError> {
    if let Some(store) = store {
        let page = store.read(place, seq, PageLimit::ONE).await?.records;
        page.iter().for_each(|record| notes.read_redaction(run, record));
    } else if place.as_str() == run {
        for page in log.pages() {
            for record in page? {
                if view::place(&record).is_some_and(|found| found.seq == seq.get()) {
                    notes.read_redaction(run, &record);
                }
            }
        }
    }
    Ok(())
}
