//! Which attempts at calls have had their outcome: none has a second one (invariant 7).

use std::collections::HashSet;

use super::facts::Call;
use crate::finding::{Finding, Part};
use crate::id::Digest;

/// How many attempts are remembered, so that memory does not grow with the log: as many as a table of 2^20 places
/// of 17 bytes takes, which a run of a gigabyte hardly fills.
const MOST: usize = 7 << 17;

/// The attempts that have ended, each by the first half of its BLAKE3: no two of a log share it by chance.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    attempts: HashSet<u128>,
    most: usize,
    told: bool,
}

impl Default for Ended {
    fn default() -> Self {
        Self { attempts: HashSet::new(), most: MOST, told: false }
    }
}

/// Whether an attempt has had an outcome before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedBefore {
    Yes,
    No,
    /// Not among those that are remembered, and there were more.
    Unknown,
}

impl Ended {
    /// Takes an outcome of `call`.
    pub(super) fn take(&mut self, call: &Call) -> EndedBefore {
        let name = name_of(call);
        if self.attempts.contains(&name) {
            EndedBefore::Yes
        } else if self.attempts.len() < self.most {
            self.attempts.insert(name);
            EndedBefore::No
        } else {
            EndedBefore::Unknown
        }
    }

    /// Says once from where on an outcome may be a second one without being noticed.
    pub(super) fn tell_of_bound(&mut self, seq: u64, findings: &mut Vec<Finding>) {
        if !std::mem::replace(&mut self.told, true) {
            let most = self.most;
            let message =
                format!("{most} calls ended before event {seq}: calls that end twice behind it are not noticed");
            findings.push(Finding::new(Part::Notice, "calls_not_remembered", Some(seq), message));
        }
    }
}

fn name_of(Call { id, attempt }: &Call) -> u128 {
    let hash = Digest::blake3(&[&attempt.to_le_bytes(), id.as_bytes()].concat());
    hash.as_bytes()[..16].iter().fold(0, |name, byte| name << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, attempt: u32) -> Call {
        Call { id: id.into(), attempt }
    }

    #[test]
    fn log_09_what_ended_is_remembered_up_to_a_bound_and_that_is_told_once() {
        let mut ended = Ended { most: 2, ..Ended::default() };
        assert_eq!(ended.take(&call("a", 1)), EndedBefore::No);
        assert_eq!(ended.take(&call("a", 2)), EndedBefore::No);
        assert_eq!(ended.take(&call("b", 1)), EndedBefore::Unknown);
        assert_eq!(ended.take(&call("b", 1)), EndedBefore::Unknown);
        assert_eq!(ended.take(&call("a", 1)), EndedBefore::Yes);
        let mut findings = Vec::new();
        ended.tell_of_bound(9, &mut findings);
        ended.tell_of_bound(10, &mut findings);
        let [told] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((told.part, told.code, told.seq), (Part::Notice, "calls_not_remembered", Some(9)));
    }
}
