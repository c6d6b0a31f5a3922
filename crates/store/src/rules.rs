//! What every store refuses, decided in one place.
//!
//! Pure: a backend gathers the facts inside its transaction and asks here, so that no two backends
//! differ in what they let through.

use std::ops::RangeInclusive;

use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Digest, RunId, Seq, SideRecord, Version};

use crate::command::Command;
use crate::document::{Document, DocumentChange};
use crate::error::{AppendError, CommandError, StoreError};
use crate::lease::{FencingToken, Lease};
use crate::run::Head;

/// How a run stands when a batch arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) head: Head,
    /// The newest token that was given out.
    pub(crate) token: FencingToken,
}

impl Standing {
    /// Whether `batch` may be appended with `lease`, apart from the blobs, commands and documents it names.
    pub(crate) fn admit(&self, lease: &Lease, batch: &Batch) -> Result<(), AppendError> {
        let run = batch.before().run();
        if lease.run != *run || lease.token != self.token {
            return Err(AppendError::Fenced { run: run.clone(), current: self.token });
        }
        if self.head.terminal.is_some() {
            return Err(AppendError::Finished { run: run.clone() });
        }
        let expected = batch.before().next_seq();
        let fits = match batch.origin() {
            // Nobody here ever had what was pruned, so there is nothing that it could follow.
            Some(_) => self.head == Head::EMPTY,
            None => expected == self.head.next && batch.before().head() == self.head.hash,
        };
        if !fits {
            return Err(AppendError::Conflict { run: run.clone(), expected, head: self.head.clone() });
        }
        let noted = batch.noted().map_or(Ok(()), |note| check_body(&note.body));
        noted.map_err(|unfit| AppendError::Failed { run: run.clone(), source: unfit.into() })
    }
}

/// How a run stands when a command is to be left for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mailbox {
    pub(crate) has_ended: bool,
    /// Whether the command is there already.
    pub(crate) is_known: bool,
    /// How many wait.
    pub(crate) pending: u64,
}

impl Mailbox {
    /// Whether a command may be left; false if there is nothing to do.
    pub(crate) fn admit(self, run: &RunId) -> Result<bool, CommandError> {
        if self.has_ended {
            return Err(CommandError::Ended { run: run.clone() });
        }
        if !self.is_known && self.pending >= Command::MOST_PENDING as u64 {
            return Err(CommandError::Full { run: run.clone() });
        }
        Ok(!self.is_known)
    }
}

/// Whether a command has the size that one may have.
pub(crate) fn check_command(command: &Command) -> Result<(), CommandError> {
    let (id, body) = (command.id.len(), command.body.len());
    if (1..=Command::MAX_ID).contains(&id) && body <= Command::MAX_BODY {
        Ok(())
    } else {
        Err(CommandError::Unfit { id, body })
    }
}

/// Whether all documents have the size that one may have.
pub(crate) fn check_documents(changes: &[DocumentChange]) -> Result<(), StoreError> {
    for change in changes {
        if let DocumentChange::Put { collection, document, expect: _ } = change {
            let Document { key, facets, body, rank: _, expires_at: _, revision: _ } = document;
            check_amount("bytes in its collection's name", collection.len(), 1..=Document::MAX_KEY)?;
            check_amount("bytes in its key", key.len(), 1..=Document::MAX_KEY)?;
            check_amount("facets", facets.len(), 0..=Document::MAX_FACETS)?;
            for (name, value) in facets {
                check_amount("bytes in a facet", name.len() + value.len(), 1..=Document::MAX_KEY)?;
            }
            check_body(body)?;
        }
    }
    Ok(())
}

fn check_body(body: &[u8]) -> Result<(), StoreError> {
    check_amount("bytes in its body", body.len(), 0..=Document::MAX_BODY)
}

fn check_amount(what: &'static str, found: usize, allowed: RangeInclusive<usize>) -> Result<(), StoreError> {
    if allowed.contains(&found) { Ok(()) } else { Err(StoreError::UnfitDocument { what, found, allowed }) }
}

/// The one run that all `erasures` speak of; `None` if there are no erasures.
pub(crate) fn erased_run(erasures: &[Erase]) -> Result<Option<&RunId>, StoreError> {
    let Some(first) = erasures.first() else { return Ok(None) };
    match erasures.iter().find(|erase| erase.run_id != first.run_id) {
        Some(other) => {
            Err(refused(&first.run_id, format!("one call cannot also erase events of run {}", other.run_id)))
        }
        None => Ok(Some(&first.run_id)),
    }
}

/// Whether payloads of a log in this format can go without breaking its chain.
pub(crate) fn check_erasable(run: &RunId, version: Version) -> Result<(), StoreError> {
    match version {
        Version::V2 => Ok(()),
        Version::V1 => Err(refused(run, "the hashes of a v1 log cover its payloads, so none can be erased")),
    }
}

/// Whether `prune` may be carried out on a run that stands so, the hash of its last event apart.
pub(crate) fn check_prune(
    prune: &Prune,
    version: Version,
    head: &Head,
    pruned_through: Option<Seq>,
) -> Result<(), StoreError> {
    let run = &prune.run_id;
    if version == Version::V1 {
        return Err(refused(run, "a v1 log can only be judged as a whole, so nothing of it is pruned"));
    }
    if head.terminal.is_none() {
        return Err(refused(run, "it has not ended, and only finished runs are pruned"));
    }
    let through = prune.through();
    if through.next() >= head.next {
        return Err(refused(run, format!("pruning through seq {through} would remove the terminal event")));
    }
    match pruned_through {
        Some(gone) if through <= gone => Err(refused(run, format!("it is already pruned through seq {gone}"))),
        _ => Ok(()),
    }
}

/// Whether the prune record names the event that the log has there.
pub(crate) fn check_pruned_hash(prune: &Prune, found: Digest) -> Result<(), StoreError> {
    if prune.last_hash == found {
        return Ok(());
    }
    let Prune { run_id, last_hash, .. } = prune;
    let through = prune.through();
    Err(refused(run_id, format!("event {through} has hash {found}, the prune record says {last_hash}")))
}

/// Whether `record` may be added beside the log of `run` as it is.
pub(crate) fn check_side_record(run: &RunId, record: &SideRecord) -> Result<(), StoreError> {
    match record {
        SideRecord::Erase(_) => return Err(refused(run, "an erase record comes into being by erasing")),
        SideRecord::Prune(_) => return Err(refused(run, "a prune record comes into being by pruning")),
        SideRecord::Damaged(_) => return Err(refused(run, "what is to be kept beside it cannot be read")),
        SideRecord::Seal(_) | SideRecord::Checkpoint(_) | SideRecord::Other(_) => {}
    }
    match record.run_id() {
        Some(named) if named != run.as_str() => Err(refused(run, format!("the record speaks of run {named}"))),
        _ => Ok(()),
    }
}

/// Two side records of a run with the same key are one: the first stays.
pub(crate) fn side_record_key(record: &SideRecord, encoded: &[u8]) -> String {
    match record {
        SideRecord::Erase(erase) => format!("erase {}", erase.seq),
        SideRecord::Prune(_)
        | SideRecord::Seal(_)
        | SideRecord::Checkpoint(_)
        | SideRecord::Other(_)
        | SideRecord::Damaged(_) => Digest::blake3(encoded).to_string(),
    }
}

fn refused(run: &RunId, reason: impl Into<String>) -> StoreError {
    StoreError::Refused { run: run.clone(), reason: reason.into() }
}
