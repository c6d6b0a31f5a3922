//! Seals and checkpoints: does the log still have what someone signed?

use crate::finding::{Finding, Part, State};
use crate::id::{Digest, UnixNanos};
use crate::key::KeyId;
use crate::merkle::{Blake3, TreeHash as _};
use crate::seal::{Seal, SealKey, Standing, Statement};

/// The signatures over one log, checked while it streams by.
#[derive(Clone, Debug, Default)]
pub(super) struct Vouchers {
    /// Ordered by size; the log has passed the sizes of those before `reached`.
    vouchers: Vec<Voucher>,
    reached: usize,
}

#[derive(Clone, Debug)]
struct Voucher {
    seal: Seal,
    is_seal: bool,
    /// Whether the log had exactly this when it had this size; `None` if nobody can tell.
    holds: Option<bool>,
    /// The time of the last event that it covers.
    at: Option<UnixNanos>,
}

/// How far a log reaches once it has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// How many events it has, pruned ones among them.
    pub(super) size: u64,
    /// Seq of its last event: more than `size` if events are missing before it.
    pub(super) last: u64,
    /// The first event that is missing before the last one.
    pub(super) first_missing: Option<u64>,
    /// Whether there is a terminal event among them.
    pub(super) has_ended: bool,
}

impl Voucher {
    const fn name(&self) -> &'static str {
        if self.is_seal { "seal" } else { "checkpoint" }
    }

    /// Why it does not count, if the key says so.
    fn objection(&self, key: &SealKey) -> Option<(&'static str, &'static str)> {
        let (of_seal, of_checkpoint, why) = match key.standing(self.at) {
            Standing::Counts => return None,
            Standing::WrongUse => ("seal_key_use", "checkpoint_key_use", "which is not for runs"),
            Standing::Expired => ("seal_key_expired", "checkpoint_key_expired", "which had expired"),
            Standing::Revoked => ("seal_key_revoked", "checkpoint_key_revoked", "which was revoked"),
        };
        Some((if self.is_seal { of_seal } else { of_checkpoint }, why))
    }
}

impl Vouchers {
    pub(super) fn add(&mut self, seal: &Seal, is_seal: bool) {
        self.vouchers.push(Voucher { seal: seal.clone(), is_seal, holds: None, at: None });
        self.vouchers.sort_by_key(|voucher| voucher.seal.statement.size);
    }

    /// The smallest size that still has to be compared.
    pub(super) fn next_size(&self) -> Option<u64> {
        self.vouchers.get(self.reached).map(|voucher| voucher.seal.statement.size)
    }

    /// What the log was before its first event: no event has the hash that stands for the last one here.
    pub(super) fn begin(&mut self) {
        self.reach(0, Blake3::empty(), Digest::new([0; 32]), None);
    }

    /// The log had this root and head when it had `size` events, and that was at this time. Sizes only grow; those
    /// that are left out cannot be compared.
    pub(super) fn reach(&mut self, size: u64, root: Digest, head: Digest, at: Option<UnixNanos>) {
        while let Some(voucher) = self.vouchers.get_mut(self.reached)
            && voucher.seal.statement.size <= size
        {
            let Statement { size: of, root: signed_root, head: signed_head, .. } = &voucher.seal.statement;
            voucher.holds = (*of == size).then(|| *signed_root == root && *signed_head == head);
            voucher.at = at.filter(|_| voucher.holds == Some(true));
            self.reached += 1;
        }
    }

    /// Judges them all at the end of a log; returns whose seal covers it.
    pub(super) fn finish(
        &self,
        run_id: &str,
        extent: Extent,
        state: &mut State,
        keys: &[SealKey],
        findings: &mut Vec<Finding>,
    ) -> Option<KeyId> {
        let mut sealed_by = None;
        for voucher in &self.vouchers {
            let (name, seal) = (voucher.name(), &voucher.seal);
            let signed = seal.statement.size;
            if seal.statement.run_id.as_str() != run_id {
                let code = if voucher.is_seal { "seal_of_other_run" } else { "checkpoint_of_other_run" };
                findings.push(
                    integrity(code, signed, format!("the {name} speaks of another run"))
                        .with(run_id, &seal.statement.run_id),
                );
                continue;
            }
            let key = keys.iter().find(|key| KeyId::of(&key.public) == seal.key_id);
            let objection = match key {
                Some(key) if !seal.verify(&key.public) => {
                    let code = if voucher.is_seal { "seal_invalid" } else { "checkpoint_invalid" };
                    let message = format!("the signature of the {name} by {} does not verify", seal.key_id);
                    findings.push(integrity(code, signed, message));
                    continue;
                }
                Some(key) => voucher.objection(key),
                None => {
                    let code = if voucher.is_seal { "seal_key_unknown" } else { "checkpoint_key_unknown" };
                    Some((code, "which is not in the keyring"))
                }
            };
            if let Some((code, why)) = objection {
                let message = format!("the {name} was made with {}, {why}", seal.key_id);
                findings.push(Finding::new(Part::Notice, code, Some(signed), message));
            }
            // Whoever made it: if the log is not what it says, one of the two is false.
            let holds = self.compare(voucher, extent, state, findings);
            if holds && objection.is_none() && voucher.is_seal && signed == extent.size {
                sealed_by = Some(seal.key_id.clone());
            }
        }
        sealed_by
    }

    /// Whether the log has what the voucher says; a difference is a finding.
    #[expect(clippy::unused_self, reason = "reads as a question to the vouchers")]
    fn compare(&self, voucher: &Voucher, extent: Extent, state: &mut State, findings: &mut Vec<Finding>) -> bool {
        let Extent { size, last, first_missing, has_ended } = extent;
        let (name, signed) = (voucher.name(), voucher.seal.statement.size);
        if signed > last && has_ended {
            let message = format!(
                "the {name} covers {signed} events, but the log ends the run with event {last}: it was rewritten"
            );
            findings.push(integrity("rewritten", last, message).with(signed, last));
        } else if signed > last {
            *state = State::Truncated;
            let message = format!("the {name} covers {signed} events, but the log ends with event {last}");
            findings.push(integrity("truncated", last + 1, message).with(signed, last));
        } else if first_missing.is_some_and(|missing| missing <= signed) {
            // Cannot be compared, and needs not be: that events are missing is a finding already.
        } else if voucher.holds.is_none() {
            let message = format!("the {name} covers {signed} events, which were pruned: it cannot be compared");
            findings.push(Finding::new(Part::Notice, "voucher_pruned", Some(signed), message));
        } else if voucher.holds == Some(false) {
            let message =
                format!("the log does not extend the {name} over its first {signed} events: it was rewritten");
            findings.push(integrity("rewritten", signed, message));
        } else if voucher.is_seal && signed < size {
            let message = format!("the seal covers {signed} of {size} events");
            findings.push(integrity("seal_incomplete", signed, message).with(size, signed));
        }
        voucher.holds == Some(true)
    }
}

fn integrity(code: &'static str, seq: u64, message: String) -> Finding {
    Finding::new(Part::Integrity, code, Some(seq), message)
}
