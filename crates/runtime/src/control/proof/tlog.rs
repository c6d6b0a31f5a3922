//! Checking the proofs that are made for stock tools.

use r1_event::header::Header;
use r1_event::merkle::proof::verify_inclusion;
use r1_event::merkle::{Sha256, TreeHash as _};
use r1_event::seal::SealKey;
use r1_event::{KeyId, UnixNanos};
use r1_receipt::export::{Checkpoint, TlogProof};
use r1_receipt::key::{Entry, Usage};

use super::verify::{KeyStanding, Tree, Verification, VerifyError};
use crate::keys::Keyring;

/// Checks a proof that an event is in the log of a run.
pub(super) fn verify(bytes: &[u8], keyring: &Keyring) -> Result<Verification, VerifyError> {
    let text = std::str::from_utf8(bytes).map_err(|_| VerifyError::Field("extra"))?;
    let proof = TlogProof::read(text).ok_or(VerifyError::NotATlogProof)?;
    let checkpoint = Checkpoint::of_note(proof.checkpoint).filter(|read| read.is_of_its_log(proof.checkpoint));
    let checkpoint = checkpoint.ok_or(VerifyError::Field("checkpoint"))?;
    let (_, run_id) = (checkpoint.origin.split_once("/runs/"))
        .ok_or_else(|| VerifyError::NotOfARun { origin: checkpoint.origin.clone() })?;
    let seq = proof.index.checked_add(1).ok_or(VerifyError::Field("index"))?;
    let at = check_leaf(&proof.leaf, run_id, seq)?.filter(|_| seq == checkpoint.size);
    let leaf = Sha256::leaf(&proof.leaf);
    if !verify_inclusion::<Sha256>(leaf, proof.index, checkpoint.size, &proof.path, &checkpoint.root) {
        return Err(VerifyError::NotIncluded { seq });
    }
    let (signed_by, key_standing) = check_note(&checkpoint, proof.checkpoint, at, keyring)?;
    Ok(Verification {
        run_id: run_id.to_owned(),
        size: checkpoint.size,
        root: checkpoint.root.to_string(),
        tree: Tree::Sha256,
        statement: format!("event {seq} is in the log of {} events", checkpoint.size),
        data: None,
        signed_by,
        key_known: key_standing.is_known(),
        key_standing,
    })
}

/// Whether the leaf is what it should be; when its event happened, if it says so.
fn check_leaf(leaf: &[u8], run_id: &str, seq: u64) -> Result<Option<UnixNanos>, VerifyError> {
    match Header::decode(leaf) {
        Ok(header) if header.run_id == run_id && header.seq.get() == seq => Ok(Some(header.ts)),
        Ok(header) => Err(VerifyError::OtherEvent { run_id: header.run_id.into(), seq: header.seq.get() }),
        // Of a v1 event it is the hash, which says nothing more.
        Err(_) if leaf.len() == 32 => Ok(None),
        Err(_) => Err(VerifyError::Field("extra")),
    }
}

/// Which key of the keyring signed the note, and whether that counts.
fn check_note(
    checkpoint: &Checkpoint,
    note: &str,
    at: Option<UnixNanos>,
    keyring: &Keyring,
) -> Result<(Option<String>, KeyStanding), VerifyError> {
    for entry in &keyring.entries {
        let Some(key) = entry.seal_key() else { continue };
        match checkpoint.is_signed(note, &key.public) {
            None => {}
            Some(false) => return Err(VerifyError::Signature { key_id: entry.kid().clone() }),
            Some(true) => {
                let standing = SealKey { for_runs: speaks_for(entry, checkpoint), ..key }.standing(at);
                return Ok((Some(entry.kid().to_string()), standing.into()));
            }
        }
    }
    for key in &keyring.bare {
        match checkpoint.is_signed(note, key) {
            None => {}
            Some(false) => return Err(VerifyError::Signature { key_id: KeyId::of(key) }),
            // Whoever names a bare key for a proof means it for that log.
            Some(true) => return Ok((Some(KeyId::of(key).to_string()), KeyStanding::Counts)),
        }
    }
    match keyring.entries.iter().find(|entry| speaks_for(entry, checkpoint)) {
        Some(entry) => Err(VerifyError::Signature { key_id: entry.kid().clone() }),
        None => Ok((None, KeyStanding::Unknown)),
    }
}

/// A log key signs for its own log and those below it.
fn speaks_for(entry: &Entry, checkpoint: &Checkpoint) -> bool {
    entry.usage == Usage::Log
        && checkpoint.origin.strip_prefix(&entry.subject).is_some_and(|rest| rest.starts_with("/runs/"))
}
