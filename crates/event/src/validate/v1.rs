//! A v1 log in order: Starling's verdict, what Starling does not see, and what someone signed.

use super::findings::Findings;
use super::standing::Told;
use super::vouchers::{Extent, Vouchers};
use super::{Ending, Options};
use crate::finding::{Finding, Integrity, Part, State, Verdict};
use crate::id::Digest;
use crate::kind::Kind;
use crate::merkle::{Blake3, Frontier, TreeHash as _};
use crate::record::Version;
use crate::side_record::SideRecord;
use crate::v1::{Examined, NotV1, Outcome, Validator};

/// The state of a check, in memory that does not grow with the log.
#[derive(Debug)]
pub(super) struct LogCheck {
    events: Validator,
    size: u64,
    /// Seq of the last event, as it says.
    last: u64,
    /// The first seq that was left out.
    first_missing: Option<u64>,
    /// How the run ended.
    terminal: Option<Kind>,
    /// Over every event by its hash: what seals and checkpoints of a v1 log name. Not kept if there are none.
    tree: Option<Frontier<Blake3>>,
    vouchers: Vouchers,
    findings: Findings,
}

impl LogCheck {
    pub(super) fn new(options: &Options) -> Self {
        let mut check = Self {
            events: Validator::default(),
            size: 0,
            last: 0,
            first_missing: None,
            terminal: None,
            tree: None,
            vouchers: Vouchers::default(),
            findings: options.findings.clone(),
        };
        for record in &options.side_records {
            match record {
                SideRecord::Seal(seal) => check.vouchers.add(seal, true),
                SideRecord::Checkpoint(seal) => check.vouchers.add(seal, false),
                SideRecord::Erase(_) | SideRecord::Prune(_) | SideRecord::Other(_) => {
                    check.findings.push(Finding::new(
                        Part::Integrity,
                        "record_misplaced",
                        None,
                        format!("a `{}` record stands beside a v1 log, which can have none", record.name()),
                    ))
                }
                SideRecord::Damaged(_) => {
                    let message = "what is kept beside the log is damaged: one record cannot be read at all";
                    check.findings.push(Finding::new(Part::Integrity, "record_damaged", None, message));
                }
            }
        }
        check.tree = check.vouchers.next_size().map(|_| Frontier::default());
        check.vouchers.begin();
        check
    }

    /// Takes the next event, or what stands in its place.
    pub(super) fn observe(&mut self, examined: Result<Examined, NotV1>) {
        self.size += 1;
        let place = self.size;
        // An event without a hash broke the log already; zeros keep its place.
        let hash = examined.as_ref().ok().and_then(Examined::hash).unwrap_or(Digest::new([0; 32]));
        let at = examined.as_ref().ok().map(Examined::ts);
        let terminal = examined.as_ref().ok().map(Examined::kind).filter(|kind| kind.is_terminal());
        self.terminal = terminal.or(self.terminal);
        let expected = self.last.saturating_add(1);
        self.last = examined.as_ref().map_or(expected, |event| event.seq());
        if self.last > expected {
            self.first_missing.get_or_insert(expected);
        }
        match examined {
            Ok(event) => self.events.observe(&event, self.findings.list()),
            Err(not_v1) => {
                let message = format!("event {place} cannot be read: {not_v1}");
                self.findings.push(Finding::new(Part::Integrity, "event_unreadable", Some(place), message));
            }
        }
        if let Some(tree) = &mut self.tree {
            tree.push(Blake3::leaf(hash.as_bytes()));
            if self.vouchers.next_size().is_some_and(|size| size <= place) {
                self.vouchers.reach(place, tree.root(), hash, at);
            }
        }
    }

    /// Adds what was found by other means.
    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// The verdict, once the log has ended.
    pub(super) fn finish(mut self, options: &Options, ending: Ending) -> Verdict {
        let Self { size, last, first_missing, .. } = self;
        let findings = self.findings.list();
        let Outcome { run_id, schema_version, events, compat, mut state, merkle_root, head_hash } =
            self.events.finish(findings);
        let has_ended = state == State::Complete;
        if let Ending::Torn { offset } = ending {
            state = State::Truncated;
            let message = format!("the last event is cut off at byte {offset}");
            findings.push(Finding::new(Part::Integrity, "torn", Some(size + 1), message));
        }
        if let Some(standing) = &options.standing {
            let told = Told { run_id: &run_id, version: Version::V1, terminal: self.terminal, last };
            standing.compare(&told, &mut state, findings);
        }
        let extent = Extent { size, last, first_missing, has_ended };
        let sealed_by = self.vouchers.finish(&run_id, extent, &mut state, &options.keys, findings);
        let findings = self.findings.finish();
        let broken = findings.iter().any(|finding| finding.part == Part::Integrity);
        Verdict {
            run_id: options.standing.as_ref().map_or(run_id, |standing| standing.run_id.clone()),
            schema_version,
            events,
            integrity: if broken { Integrity::Broken } else { Integrity::Ok },
            state,
            findings,
            compat: Some(compat),
            merkle_root: (size > 0).then_some(merkle_root),
            head_hash,
            sealed_by: sealed_by.filter(|_| !broken),
            pruned_through: None,
            recorded: false,
        }
    }
}
