//! Starling's loop, run again on a log of its own.
//!
//! Everything that came to the loop from outside is taken from the log: what the model answered, what
//! tools gave, times, ids that it minted. Everything that it made of that is worked out anew: hashes,
//! prompts, the calls of a plan and their attempts, what a result belongs to, budgets, the seams of a
//! resumed run, and the last event with its sums and its root.
//!
//! No tool is run again, so a replay does not fail on what Starling's own fails on: arguments that were
//! not spelled as Go would spell them, tools with side effects or retries side by side, resumed runs, and
//! runs that a budget or a provider ended. What a v1 log holds too little for is taken as it is recorded,
//! and counted: a prompt's hash covers descriptions and schemas of tools, and the very text of arguments
//! and results, none of which are in the log.

mod budget;
mod calls;
mod conversation;
mod driven;
mod judge;
mod start;
mod state;
mod terminal;
mod totals;

use bytes::Bytes;
use r1_event::exchange::readable_payload;
use r1_event::id::to_hex;
use r1_event::v1::{self, merkle};
use r1_event::{Kind, Payload, Record, Seq, Version, projection};

use self::state::{Loop, Place};
use super::{Difference, Divergence, DivergenceKind, ReplayError, Report, Shown, differences};
use crate::agent::FoldError;

/// What the loop says to an event that the log has.
enum Judgement {
    /// It would have written exactly this.
    Writes(Payload),
    /// It would have written this, as far as the log tells.
    Takes(Payload),
    /// This came from outside, and names what it belongs to.
    Hears(Payload),
    /// It writes nothing of the kind there.
    Refuses,
}

/// A replay of a v1 log under way.
#[derive(Default)]
pub(super) struct Replayer {
    agent: Option<Loop>,
    tree: merkle::Tree,
    pub(super) report: Report,
}

impl Replayer {
    /// Takes the next event.
    pub(super) fn take(&mut self, record: &Record) -> Result<(), ReplayError> {
        let Event { seq, payload } = Event::read(record)?;
        self.report.events += 1;
        let judgement = match &self.agent {
            Some(agent) => agent.judge(&Place { seq, root: self.tree.root() }, &payload),
            None => start::judge(&payload).ok_or(FoldError::NotStarted)?,
        };
        self.settle(seq, judgement, record, &payload);
        match &mut self.agent {
            Some(agent) => agent.apply(&payload),
            None => self.agent = Loop::new(&payload),
        }
        self.tree.push(record.hash());
        Ok(())
    }

    fn settle(&mut self, seq: Seq, judgement: Judgement, record: &Record, payload: &Payload) {
        let found = record.payload.clone().unwrap_or_default();
        let is_found = |expected: &Payload| expected.kind() == payload.kind() && expected.encode() == found;
        match judgement {
            Judgement::Writes(expected) if is_found(&expected) => self.report.compared += 1,
            Judgement::Takes(expected) if is_found(&expected) => self.report.taken += 1,
            Judgement::Hears(expected) if is_found(&expected) => {}
            Judgement::Writes(expected) | Judgement::Takes(expected) | Judgement::Hears(expected) => {
                let expected = (expected.kind(), expected.encode());
                self.report.divergence = Some(differing(seq, expected, (payload.kind(), found)));
            }
            Judgement::Refuses => {
                let (kind, found) = (DivergenceKind::Unexpected, Some(shown(payload.kind(), &found)));
                let differences = Vec::new();
                self.report.divergence = Some(Divergence { seq, kind, expected: None, found, differences });
            }
        }
    }
}

/// An event of a v1 log, read.
struct Event {
    seq: Seq,
    payload: Payload,
}

impl Event {
    fn read(record: &Record) -> Result<Self, FoldError> {
        let header = v1::Header::decode(&record.header);
        let Some((seq, header)) = header.and_then(|header| Some((Seq::new(header.seq)?, header))) else {
            return Err(FoldError::Unreadable { seq: 0, reason: v1::NotV1.to_string() });
        };
        match v1::read_payload(header.kind, record.payload.as_ref()) {
            Ok(payload) => Ok(Self { seq, payload }),
            Err(err) => Err(FoldError::Unreadable { seq: seq.get(), reason: err.to_string() }),
        }
    }
}

fn differing(seq: Seq, expected: (Kind, Bytes), found: (Kind, Bytes)) -> Divergence {
    let [(expected, expected_bytes), (found, found_bytes)] =
        [expected, found].map(|(kind, bytes)| (shown(kind, &bytes), bytes));
    let mut differences = differences(&expected.data, &found.data);
    if differences.is_empty() {
        // The same values under another kind, or in another spelling than Starling's.
        let whole = |side: &Shown, bytes: &[u8]| Some(format!("{} {}", side.type_name, to_hex(bytes)).into());
        let (expected, found) = (whole(&expected, &expected_bytes), whole(&found, &found_bytes));
        differences.push(Difference { path: String::new(), expected, found });
    }
    Divergence { seq, kind: DivergenceKind::Differs, expected: Some(expected), found: Some(found), differences }
}

fn shown(kind: Kind, bytes: &Bytes) -> Shown {
    let type_name = projection::type_of(Version::V1, kind, Some(bytes)).into_owned();
    Shown { type_name, data: readable_payload(kind, bytes) }
}
