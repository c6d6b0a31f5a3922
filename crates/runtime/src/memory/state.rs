//! The memory of one run, as its log tells it.

use std::collections::BTreeMap;
use std::sync::Arc;

use r1_event::Digest;
use r1_protocol::data::{MemoryOp, MemoryRead, MemoryWrite};
use serde_json::Value as Json;

use super::tier::Tier;
use super::value::Held;

/// The most keys that a phase works with.
pub(super) const MAX_TOPICAL_KEYS: usize = 1024;
/// The most bytes that a phase works with.
pub(super) const MAX_TOPICAL_BYTES: u64 = 4 << 20;

/// What a run knows: its identity as it was when the run began, what matters to its task, and what its phase
/// works with. What the workspace knows beyond that is in no run's log alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiers {
    identity: BTreeMap<String, Arc<Entry>>,
    critical: BTreeMap<String, Arc<Entry>>,
    topical: Topical,
}

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where its value is.
    pub held: Held,
    /// Its name.
    pub fingerprint: Digest,
}

/// What a phase works with: bounded, and what was not used for longest goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Topical {
    entries: BTreeMap<String, (u64, Arc<Entry>)>,
    bytes: u64,
    /// Counts uses.
    clock: u64,
}

impl Tiers {
    /// What stands under a key; of L3 nothing is known here.
    #[must_use]
    pub fn get(&self, tier: Tier, key: &str) -> Option<&Arc<Entry>> {
        match tier {
            Tier::L0 => self.identity.get(key),
            Tier::L1 => self.critical.get(key),
            Tier::L2 => self.topical.entries.get(key).map(|(_, entry)| entry),
            Tier::L3 => None,
        }
    }

    /// All that is in a tier, in the order of the keys.
    #[must_use]
    pub fn entries(&self, tier: Tier) -> Vec<(&str, &Entry)> {
        fn plain(map: &BTreeMap<String, Arc<Entry>>) -> Vec<(&str, &Entry)> {
            map.iter().map(|(key, entry)| (key.as_str(), entry.as_ref())).collect()
        }
        match tier {
            Tier::L0 => plain(&self.identity),
            Tier::L1 => plain(&self.critical),
            Tier::L2 => self.topical.entries.iter().map(|(key, (_, entry))| (key.as_str(), entry.as_ref())).collect(),
            Tier::L3 => Vec::new(),
        }
    }

    /// Whether a write was worked out from what stands under its key now.
    #[must_use]
    pub fn admits(&self, write: &MemoryWrite) -> bool {
        let Some(tier @ (Tier::L1 | Tier::L2)) = Tier::of(&write.tier, &write.store) else { return false };
        let now = self.get(tier, &write.key).map(|entry| entry.fingerprint.to_string());
        now == write.prior_fingerprint
    }

    /// Takes a read: the run's identity as it is told at the beginning, or a sign that something is still used.
    pub fn was_read(&mut self, read: &MemoryRead) {
        match Tier::of(&read.tier, &read.store) {
            Some(Tier::L0) => {
                if let Some(entry) = entry(read.fingerprint.as_deref(), read.value.as_ref()) {
                    self.identity.insert(read.key.clone(), Arc::new(entry));
                }
            }
            Some(Tier::L2) => self.topical.touch(&read.key),
            Some(Tier::L1 | Tier::L3) | None => {}
        }
    }

    /// Takes a write.
    pub fn was_written(&mut self, write: &MemoryWrite) {
        let set = match write.op {
            MemoryOp::Set => entry(write.fingerprint.as_deref(), write.value.as_ref()),
            MemoryOp::Delete | MemoryOp::Other(_) => None,
        };
        match (Tier::of(&write.tier, &write.store), set) {
            (Some(Tier::L1), Some(entry)) => drop(self.critical.insert(write.key.clone(), Arc::new(entry))),
            (Some(Tier::L1), None) => drop(self.critical.remove(&write.key)),
            (Some(Tier::L2), Some(entry)) => self.topical.insert(&write.key, entry),
            (Some(Tier::L2), None) => self.topical.remove(&write.key),
            // Of these the workspace keeps account, not the run.
            (Some(Tier::L0 | Tier::L3) | None, _) => {}
        }
    }

    /// Forgets what the last phase worked with.
    pub fn phase_ended(&mut self) {
        self.topical = Topical::default();
    }

    /// What a run knows that goes on from this one: its identity it is told itself.
    #[must_use]
    pub fn inherited(self) -> Self {
        Self { identity: BTreeMap::new(), ..self }
    }
}

impl Topical {
    fn touch(&mut self, key: &str) {
        self.clock += 1;
        if let Some((used, _)) = self.entries.get_mut(key) {
            *used = self.clock;
        }
    }

    fn insert(&mut self, key: &str, entry: Entry) {
        self.remove(key);
        self.clock += 1;
        self.bytes += entry.held.size();
        self.entries.insert(key.to_owned(), (self.clock, Arc::new(entry)));
        while self.entries.len() > MAX_TOPICAL_KEYS || self.bytes > MAX_TOPICAL_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &str) {
        if let Some((_, entry)) = self.entries.remove(key) {
            self.bytes -= entry.held.size();
        }
    }
}

/// What an event says stands under its key.
fn entry(fingerprint: Option<&str>, value: Option<&Json>) -> Option<Entry> {
    Some(Entry { held: Held::from_json(value?)?, fingerprint: fingerprint?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use r1_protocol::data::MemoryBy;

    use super::super::{Value, diff_hash};
    use super::*;

    fn write(tier: Tier, key: &str, text: Option<&str>) -> MemoryWrite {
        let value = text.map(|text| Value::Text(text.to_owned()));
        MemoryWrite {
            tier: tier.into(),
            store: tier.store().into(),
            key: key.into(),
            by: MemoryBy::Agent,
            op: if text.is_some() { MemoryOp::Set } else { MemoryOp::Delete },
            diff_hash: diff_hash(b"", text.unwrap_or_default().as_bytes()).to_string(),
            fingerprint: value.as_ref().map(|value| value.fingerprint().to_string()),
            value: value.map(|value| Held::Here(value).to_json()),
            ..Default::default()
        }
    }

    fn read(tier: Tier, key: &str) -> MemoryRead {
        MemoryRead { tier: tier.into(), store: tier.store().into(), key: key.into(), ..Default::default() }
    }

    #[test]
    fn stoke_26_the_working_set_is_empty_after_a_transition() {
        let mut tiers = Tiers::default();
        for tier in [Tier::L1, Tier::L2] {
            tiers.was_written(&write(tier, "a", Some("1")));
        }
        tiers.phase_ended();
        assert_eq!((tiers.entries(Tier::L1).len(), tiers.entries(Tier::L2).len()), (1, 0));
    }

    #[test]
    fn stoke_26_what_was_not_used_for_longest_is_forgotten_first() {
        let mut tiers = Tiers::default();
        for number in 0..MAX_TOPICAL_KEYS {
            tiers.was_written(&write(Tier::L2, &format!("k{number}"), Some("x")));
        }
        tiers.was_read(&read(Tier::L2, "k0"));
        tiers.was_written(&write(Tier::L2, "one more", Some("x")));
        assert!(tiers.get(Tier::L2, "k0").is_some() && tiers.get(Tier::L2, "k1").is_none());
        assert_eq!(tiers.entries(Tier::L2).len(), MAX_TOPICAL_KEYS);

        let big = "x".repeat(3 << 20);
        tiers.was_written(&write(Tier::L2, "big", Some(&big)));
        tiers.was_written(&write(Tier::L2, "bigger", Some(&big)));
        assert!(tiers.get(Tier::L2, "big").is_none() && tiers.get(Tier::L2, "bigger").is_some());
    }

    #[test]
    fn a_write_fits_only_what_it_was_worked_out_from() {
        let mut tiers = Tiers::default();
        let first = write(Tier::L1, "a", Some("1"));
        assert!(tiers.admits(&first));
        tiers.was_written(&first);
        assert!(!tiers.admits(&first));
        let second = MemoryWrite { prior_fingerprint: first.fingerprint, ..write(Tier::L1, "a", Some("2")) };
        assert!(tiers.admits(&second));
        assert!(!tiers.admits(&write(Tier::L0, "a", Some("1"))));
        let mispaired = MemoryWrite { store: Tier::L2.store().into(), ..second };
        assert!(!tiers.admits(&mispaired));
    }

    proptest! {
        /// The fold against a list that is searched from its end.
        #[test]
        fn stoke_26_the_fold_holds_the_last_write_of_each_key(
            steps in proptest::collection::vec((0_u8..2, 0_u8..4, proptest::option::of(0_u8..3), 0_u8..12), 0..60),
        ) {
            let mut tiers = Tiers::default();
            let mut log: Vec<MemoryWrite> = Vec::new();
            for (tier, key, text, other) in steps {
                let tier = if tier == 0 { Tier::L1 } else { Tier::L2 };
                if other == 0 {
                    tiers.phase_ended();
                    log.retain(|write| write.tier == Tier::L1.into());
                    continue;
                }
                let text = text.map(|text| text.to_string());
                let write = write(tier, &key.to_string(), text.as_deref());
                tiers.was_written(&write);
                log.push(write);
                for tier in [Tier::L1, Tier::L2] {
                    for key in 0_u8..4 {
                        let key = key.to_string();
                        let last = log.iter().rev().find(|write| write.tier == tier.into() && write.key == key);
                        let wanted = last.and_then(|write| write.fingerprint.clone());
                        let found = tiers.get(tier, &key).map(|entry| entry.fingerprint.to_string());
                        prop_assert_eq!(found, wanted);
                    }
                }
                let bytes: u64 = tiers.entries(Tier::L2).iter().map(|(_, entry)| entry.held.size()).sum();
                prop_assert_eq!(bytes, tiers.topical.bytes);
            }
        }
    }
}
