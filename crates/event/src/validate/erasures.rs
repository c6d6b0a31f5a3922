//! Erased payloads: each must be owned up to by a `redaction.applied` event.

use std::collections::HashMap;

use crate::finding::{Finding, Part};
use crate::id::{Digest, UnixNanos};
use crate::kind::Kind;
use crate::projection;
use crate::side_record::{Erase, EventRef, may_be_erased};

/// What stands in the place of another run that an erase record names, looked up by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// A `redaction.applied` event whose payload is the one that its header names.
    Redaction(Redaction),
    /// Something else, or nothing: the run is there, and does not say so.
    Nothing,
}

/// A `redaction.applied` event of another run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// Hash of the event.
    pub hash: Digest,
    /// Its time.
    pub ts: UnixNanos,
    /// The run whose payloads it erases.
    pub run_id: String,
    /// Their sequences, counted from 0.
    pub sequences: Vec<u64>,
}

/// The erase records of one log, and what became of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Erasures {
    records: HashMap<u64, Erase>,
    /// Erased events whose redaction event, in this log, has not come by yet.
    waiting: HashMap<u64, Vec<u64>>,
    elsewhere: Vec<(u64, EventRef)>,
}

impl Erasures {
    pub(super) fn add(&mut self, erase: &Erase) {
        self.records.insert(erase.seq.get(), erase.clone());
    }

    pub(super) fn get(&self, seq: u64) -> Option<&Erase> {
        self.records.get(&seq)
    }

    /// Takes an event whose payload is gone.
    pub(super) fn erased(&mut self, run_id: &str, seq: u64, kind: Kind, findings: &mut Vec<Finding>) {
        let Some(erase) = self.records.get(&seq) else {
            let message = format!("the payload of event {seq} is gone and no erase record says why");
            findings.push(Finding::new(Part::Integrity, "payload_missing", Some(seq), message));
            return;
        };
        let type_name = &erase.type_name;
        if !may_be_erased(kind, type_name) {
            let message = format!("the payload of event {seq} is gone, but nobody may erase {kind} or `{type_name}`");
            findings.push(Finding::new(Part::Integrity, "erasure_forbidden", Some(seq), message));
        } else if !projection::may_be_served_as(kind, type_name) {
            let message = format!("the erase record of event {seq} names a type that a {kind} event never has");
            findings
                .push(Finding::new(Part::Integrity, "erasure_of_other_type", Some(seq), message).with(kind, type_name));
        }
        let redaction = &erase.redaction;
        if redaction.run_id.as_str() == run_id {
            self.waiting.entry(redaction.seq.get()).or_default().push(seq);
        } else {
            self.elsewhere.push((seq, redaction.clone()));
        }
    }

    /// Takes an event of this log that may be the redaction some erasures wait for.
    pub(super) fn passed(
        &mut self,
        run_id: &str,
        seq: u64,
        (hash, ts): (Digest, UnixNanos),
        redaction: Option<(&str, &[u64])>,
        findings: &mut Vec<Finding>,
    ) {
        if self.waiting.is_empty() {
            return;
        }
        for erased in self.waiting.remove(&seq).unwrap_or_default() {
            let names = redaction.is_some_and(|(run, sequences)| run == run_id && sequences.contains(&(erased - 1)));
            let is_meant = self
                .records
                .get(&erased)
                .is_some_and(|Erase { redaction, .. }| redaction.hash == hash && redaction.ts == ts);
            if !(names && is_meant) {
                findings.push(unowned(erased, &format!("event {seq} does not say so")));
            }
        }
    }

    /// What is still unexplained at the end of the log. Only a run that has ended may be redacted from
    /// elsewhere: an open one says so itself.
    pub(super) fn finish(
        &self,
        run_id: &str,
        has_ended: bool,
        known: &HashMap<(String, u64), Elsewhere>,
        findings: &mut Vec<Finding>,
    ) {
        for (redaction, erased) in &self.waiting {
            let reason = format!("event {redaction}, which should say why, is not in the log");
            findings.extend(erased.iter().map(|erased| unowned(*erased, &reason)));
        }
        for (erased, redaction) in &self.elsewhere {
            let EventRef { run_id: operator_run, seq, ts, hash } = redaction;
            if !has_ended {
                let reason = format!("event {seq} of run {operator_run} cannot say why, as this run has not ended");
                findings.push(unowned(*erased, &reason));
                continue;
            }
            match known.get(&(operator_run.to_string(), seq.get())) {
                Some(Elsewhere::Redaction(found))
                    if (found.hash, found.ts) == (*hash, *ts)
                        && found.run_id == run_id
                        && found.sequences.contains(&(erased - 1)) => {}
                Some(Elsewhere::Redaction(_) | Elsewhere::Nothing) => {
                    findings.push(unowned(*erased, &format!("event {seq} of run {operator_run} does not say so")))
                }
                None => {
                    let message = format!(
                        "the payload of event {erased} was erased as event {seq} of run {operator_run} says, which was not looked at"
                    );
                    findings.push(Finding::new(Part::Notice, "redaction_elsewhere", Some(*erased), message));
                }
            }
        }
    }
}

fn unowned(seq: u64, reason: &str) -> Finding {
    let message = format!("the payload of event {seq} is gone: {reason}");
    Finding::new(Part::Integrity, "redaction_missing", Some(seq), message)
}
