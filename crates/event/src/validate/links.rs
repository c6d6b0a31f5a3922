//! Does each event follow the one before? Tells dropped, repeated, moved and inserted events apart.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::findings::MAX_LISTED;
use crate::finding::{Finding, Part};
use crate::id::Digest;

/// How many event hashes are remembered to tell a repeated event from an inserted one.
const REMEMBERED: usize = 256;

/// The chain so far.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// Seq that the next event should have.
    next: u64,
    /// Hash of the last event in order; `None` before the first.
    head: Option<Digest>,
    /// Whether the next event's link can be judged: not right behind a gap.
    head_known: bool,
    /// Gaps that a later event may still fill, in order. Once there are [`MAX_LISTED`], the first one is given up.
    missing: VecDeque<RangeInclusive<u64>>,
    /// The first event of the first gap that was given up.
    given_up: Option<u64>,
    recent: VecDeque<(u64, Digest)>,
}

impl Links {
    /// A chain whose next event is `next` and should name `head`.
    pub(super) fn starting_at(next: u64, head: Option<Digest>) -> Self {
        Self { next, head, head_known: true, missing: VecDeque::new(), given_up: None, recent: VecDeque::new() }
    }

    /// Seq that the next event should have.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Hash of the last event in order.
    pub(super) const fn head(&self) -> Option<Digest> {
        self.head
    }

    /// The first event that is missing before the last one.
    pub(super) fn first_missing(&self) -> Option<u64> {
        self.given_up.or_else(|| self.missing.front().map(|gap| *gap.start()))
    }

    /// Takes an event whose header could not be read: it keeps its place.
    pub(super) fn unreadable(&mut self, hash: Digest) {
        self.advance(self.next, hash);
    }

    /// Takes the next event and returns what is wrong with its place. True if it counts as an event of
    /// the log in its place, so that its content is checked too.
    pub(super) fn take(
        &mut self,
        seq: u64,
        prev_hash: Option<Digest>,
        hash: Digest,
        findings: &mut Vec<Finding>,
    ) -> bool {
        if seq < self.next {
            findings.push(self.out_of_place(seq, hash));
            self.give_up(findings);
            return false;
        }
        if seq > self.next {
            self.missing.push_back(self.next..=seq - 1);
            self.give_up(findings);
        } else if self.head_known && prev_hash != self.head {
            let text = |hash: Option<Digest>| hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
            let message = if seq == 1 {
                "the first event names a predecessor".to_owned()
            } else {
                format!("event {seq} does not name the hash of event {}", seq - 1)
            };
            findings.push(
                Finding::new(Part::Integrity, "chain_broken", Some(seq), message)
                    .with(text(self.head), text(prev_hash)),
            );
        }
        self.advance(seq, hash);
        true
    }

    /// What is still missing when the log has ended.
    pub(super) fn finish(&self, findings: &mut Vec<Finding>) {
        findings.extend(self.missing.iter().map(events_missing));
    }

    /// Gaps beyond those that a verdict would list are not waited for.
    fn give_up(&mut self, findings: &mut Vec<Finding>) {
        if self.missing.len() > MAX_LISTED
            && let Some(gap) = self.missing.pop_front()
        {
            self.given_up.get_or_insert(*gap.start());
            findings.push(events_missing(&gap));
        }
    }

    fn advance(&mut self, seq: u64, hash: Digest) {
        self.head = Some(hash);
        self.head_known = true;
        self.next = seq.saturating_add(1);
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((seq, hash));
    }

    fn out_of_place(&mut self, seq: u64, hash: Digest) -> Finding {
        let (code, message) = if self.fill_gap(seq) {
            ("event_out_of_order", format!("event {seq} stands behind event {}", self.next - 1))
        } else if self.recent.contains(&(seq, hash)) {
            ("event_repeated", format!("event {seq} is there twice"))
        } else {
            ("event_inserted", format!("another event with seq {seq} stands behind event {}", self.next - 1))
        };
        Finding::new(Part::Integrity, code, Some(seq), message).with(self.next, seq)
    }

    /// Takes `seq` out of what is missing, if it is.
    fn fill_gap(&mut self, seq: u64) -> bool {
        let Some(at) = self.missing.iter().position(|range| range.contains(&seq)) else { return false };
        let Some(range) = self.missing.remove(at) else { return false };
        let rest = [*range.start()..=seq - 1, seq + 1..=*range.end()];
        for (place, part) in rest.into_iter().filter(|range| !range.is_empty()).enumerate() {
            self.missing.insert(at + place, part);
        }
        true
    }
}

fn events_missing(gap: &RangeInclusive<u64>) -> Finding {
    let (first, last) = (*gap.start(), *gap.end());
    let what = if first == last { format!("event {first} is") } else { format!("events {first} to {last} are") };
    Finding::new(Part::Integrity, "events_missing", Some(first), format!("{what} missing")).with(first, last + 1)
}
