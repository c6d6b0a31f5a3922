//! Turns and calls: what opens has to be closed, once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;

use super::examine::Examined;
use super::fields::Fields;
use super::kind::{KindName, Quoted};
use super::validate::{Report, text};
use crate::finding::{Finding, Part, Rejection};

/// What is open, as Starling keeps track of it.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Empty if no turn is open.
    turn: Bytes,
    calls: HashMap<Call, Place>,
}

/// One attempt at a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Call {
    id: Bytes,
    attempt: u64,
}

/// Where a call was scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    index: u64,
    seq: u64,
}

impl Pairing {
    /// How many calls wait for their outcome.
    pub(super) fn open_calls(&self) -> u64 {
        self.calls.len() as u64
    }

    pub(super) fn observe(&mut self, event: &Examined, report: &mut Report<'_>, stage: &mut Option<Rejection>) {
        match event.kind {
            3 => {
                self.still_open_turn(report, stage);
                if let Some(fields) = readable(event, report, stage) {
                    self.turn = fields.text_bytes("turn_id");
                    if self.turn.is_empty() {
                        let message = format!("TurnStarted at {} has empty TurnID", report.index);
                        report.reject(stage, Part::Structure, "turn_id_empty", &message, None);
                    }
                }
            }
            5 => {
                if let Some(fields) = readable(event, report, stage) {
                    let turn = fields.text("turn_id");
                    if turn != &self.turn[..] {
                        self.wrong_turn("turn_mismatch", event.kind, turn, report, stage);
                    }
                    self.turn.clear();
                }
            }
            10 => {
                if let Some(fields) = readable(event, report, stage) {
                    let turn = fields.text("turn_id");
                    if !turn.is_empty() && !self.turn.is_empty() && turn != &self.turn[..] {
                        self.wrong_turn("budget_turn_mismatch", event.kind, turn, report, stage);
                    }
                    self.turn.clear();
                }
            }
            6 => {
                if let Some(fields) = readable(event, report, stage) {
                    self.schedule(call(fields), report, stage);
                }
            }
            7 | 8 => {
                if let Some(fields) = readable(event, report, stage) {
                    self.outcome(event.kind, &call(fields), report, stage);
                }
            }
            12 => self.completed(report, stage),
            15 => {
                self.turn.clear();
                self.calls.clear();
            }
            // No other kind opens or closes anything.
            _ => {}
        }
    }

    fn still_open_turn(&self, report: &mut Report<'_>, stage: &mut Option<Rejection>) {
        if !self.turn.is_empty() {
            let turn = text(&self.turn);
            let message = format!("TurnStarted at index {} while turn {} is still open", report.index, Quoted(&turn));
            report.reject(stage, Part::Structure, "turn_open", &message, None);
        }
    }

    fn wrong_turn(
        &self,
        code: &'static str,
        kind: u8,
        turn: &[u8],
        report: &mut Report<'_>,
        stage: &mut Option<Rejection>,
    ) {
        let (kind, at, found, expected) = (KindName(kind), report.index, text(turn), text(&self.turn));
        let message = format!("{kind} at {at} turn {}, want open turn {}", Quoted(&found), Quoted(&expected));
        report.reject(stage, Part::Structure, code, &message, Some((expected.into_owned(), found.into_owned())));
    }

    fn schedule(&mut self, call: Call, report: &mut Report<'_>, stage: &mut Option<Rejection>) {
        let at = report.index;
        if call.id.is_empty() {
            let message = format!("ToolCallScheduled at {at} has empty CallID");
            report.reject(stage, Part::Structure, "call_id_empty", &message, None);
        }
        match self.calls.entry(call) {
            Entry::Vacant(free) => {
                free.insert(Place { index: at, seq: report.seq });
            }
            Entry::Occupied(taken) => {
                let Call { id, attempt } = taken.key();
                let message = format!("ToolCallScheduled at {at} duplicates open call {}/attempt={attempt}", text(id));
                report.reject(stage, Part::Structure, "call_duplicate", &message, None);
            }
        }
    }

    fn outcome(&mut self, kind: u8, call: &Call, report: &mut Report<'_>, stage: &mut Option<Rejection>) {
        if self.calls.remove(call).is_none() {
            let (kind, at, Call { id, attempt }) = (KindName(kind), report.index, call);
            let message = format!("{kind} at {at} has no matching schedule (call={} attempt={attempt})", text(id));
            report.reject(stage, Part::Structure, "call_unmatched", &message, None);
        }
    }

    /// Only a run that succeeded may leave nothing open.
    fn completed(&mut self, report: &mut Report<'_>, stage: &mut Option<Rejection>) {
        if !self.turn.is_empty() {
            let message = format!("turn {} still open at RunCompleted", Quoted(&text(&self.turn)));
            report.reject(stage, Part::Structure, "turn_open_at_end", &message, None);
        }
        let mut open: Vec<_> = self.calls.drain().map(|(call, place)| (place, call)).collect();
        open.sort_by_key(|(place, _)| *place);
        for (Place { index, seq }, Call { id, attempt }) in open {
            let message = format!(
                "ToolCallScheduled (call={} attempt={attempt}) has no matching outcome at RunCompleted",
                text(&id)
            );
            let mut report = Report { index, seq, findings: report.findings };
            report.reject(stage, Part::Structure, "call_open_at_end", &message, None);
        }
    }

    /// What a run that failed or was stopped left open, which Starling does not mind.
    pub(super) fn left_open(&self) -> impl Iterator<Item = Finding> {
        let mut open: Vec<_> = self.calls.iter().map(|(call, place)| (*place, call)).collect();
        open.sort_by_key(|(place, _)| *place);
        open.into_iter().map(|(place, Call { id, attempt })| {
            let message = format!("the run ended before call {} (attempt {attempt}) had an outcome", text(id));
            Finding::new(Part::Notice, "call_left_open", Some(place.seq), message)
        })
    }
}

/// The payload's values; if Starling cannot read them, it refuses the log.
fn readable<'a>(event: &'a Examined, report: &mut Report<'_>, stage: &mut Option<Rejection>) -> Option<&'a Fields> {
    match event.fields.as_ref()? {
        Ok(fields) => Some(fields),
        Err(why) => {
            let kind = KindName(event.kind);
            let rejection =
                format!("decode {kind} at {}: event: decode {kind} payload: {}", report.index, why.starling_text());
            report.reject_for(stage, Part::Structure, "decode", &rejection, &format!("{kind} cannot be read: {why}"));
            event.beyond_limits.as_deref()
        }
    }
}

fn call(fields: &Fields) -> Call {
    Call { id: fields.text_bytes("call_id"), attempt: fields.uint("attempt") }
}
