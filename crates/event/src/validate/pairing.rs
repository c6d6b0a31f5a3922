//! Turns and tool calls: each opened one is closed (invariants 6 and 7).

use std::collections::BTreeMap;

use super::ended::{Ended, EndedBefore};
use super::facts::Call;
use crate::finding::{Finding, Part};
use crate::id::Seq;
use crate::kind::Kind;

/// What is open at this point of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairing {
    turn: Option<(String, u64)>,
    /// A turn whose last attempt failed: an answer of a session may still say that it is over.
    failed: Option<String>,
    calls: BTreeMap<Call, u64>,
    ended: Ended,
}

impl Pairing {
    /// What was open where a log was pruned.
    pub(super) fn restored(turn: Option<String>, calls: &[(String, u32, Seq)], at: Seq) -> Self {
        let calls = calls.iter().map(|(id, attempt, seq)| (Call { id: id.clone(), attempt: *attempt }, seq.get()));
        Self { turn: turn.map(|turn| (turn, at.get())), calls: calls.collect(), ..Self::default() }
    }

    pub(super) fn turn_started(&mut self, seq: u64, turn_id: String, findings: &mut Vec<Finding>) {
        if let Some((open, since)) = &self.turn {
            findings.push(structure(
                "turn_still_open",
                seq,
                format!("turn {turn_id} starts while turn {open}, started at {since}, is still open"),
            ));
        }
        self.turn = Some((turn_id, seq));
        self.failed = None;
    }

    /// A model call ended: it must be the open turn's, or say that the one that just failed is over.
    pub(super) fn turn_completed(&mut self, seq: u64, turn_id: &str, findings: &mut Vec<Finding>) {
        let failed = self.failed.take();
        if self.turn.is_some() || failed.as_deref() != Some(turn_id) {
            self.close_turn(seq, turn_id, findings);
        }
    }

    /// A budget trip or a failed attempt closes the open turn, if there is one; it may name none.
    pub(super) fn turn_cut(&mut self, seq: u64, turn_id: &str, findings: &mut Vec<Finding>) {
        if self.turn.is_some() && !turn_id.is_empty() {
            self.close_turn(seq, turn_id, findings);
        }
        self.turn = None;
        self.failed = Some(turn_id.to_owned()).filter(|turn| !turn.is_empty());
    }

    fn close_turn(&mut self, seq: u64, turn_id: &str, findings: &mut Vec<Finding>) {
        match self.turn.take() {
            Some((open, _)) if open == turn_id => {}
            open => {
                let open = open.map_or_else(|| "none".to_owned(), |(open, _)| open);
                let message = format!("event {seq} closes turn {turn_id}, which is not open");
                findings.push(structure("turn_mismatch", seq, message).with(open, turn_id));
            }
        }
    }

    pub(super) fn call_scheduled(&mut self, seq: u64, call: Call, findings: &mut Vec<Finding>) {
        let (id, attempt) = (call.id.clone(), call.attempt);
        if let Some(since) = self.calls.insert(call, seq) {
            let message = format!("call {id}, attempt {attempt}, is scheduled again while open since {since}");
            findings.push(structure("call_already_open", seq, message));
        }
    }

    pub(super) fn call_ended(&mut self, seq: u64, call: &Call, findings: &mut Vec<Finding>) {
        let was_open = self.calls.remove(call).is_some();
        let ended_before = self.ended.take(call);
        if !was_open {
            let message = format!("call {}, attempt {}, ends but is not open", call.id, call.attempt);
            findings.push(structure("call_not_open", seq, message));
        } else if ended_before == EndedBefore::Yes {
            let message = format!("call {}, attempt {}, ends a second time", call.id, call.attempt);
            findings.push(structure("call_ended_twice", seq, message));
        }
        if ended_before == EndedBefore::Unknown {
            self.ended.tell_of_bound(seq, findings);
        }
    }

    /// A seam: nobody will close what an earlier process left open.
    pub(super) fn resumed(&mut self) {
        self.turn = None;
        self.calls.clear();
    }

    /// The run ends: only a failed or cancelled one may leave a turn open, and none a call.
    pub(super) fn ended(&mut self, kind: Kind, findings: &mut Vec<Finding>) {
        if let Some((turn, since)) = self.turn.take()
            && kind == Kind::RunCompleted
        {
            findings.push(structure("turn_never_closed", since, format!("turn {turn} is still open at the end")));
        }
        let mut open: Vec<_> = std::mem::take(&mut self.calls).into_iter().collect();
        open.sort_by_key(|(_, since)| *since);
        for (call, since) in open {
            let message = format!("call {}, attempt {}, has no outcome", call.id, call.attempt);
            findings.push(structure("call_never_ended", since, message));
        }
    }

    /// The open turn and the open calls in order of schedule, to be kept in a prune record.
    pub(super) fn open(&self) -> (Option<String>, Vec<(String, u32, Seq)>) {
        let calls = self.calls.iter().filter_map(|(call, seq)| Some((call.id.clone(), call.attempt, Seq::new(*seq)?)));
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by_key(|(_, _, seq)| *seq);
        (self.turn.as_ref().map(|(turn, _)| turn.clone()), calls)
    }
}

fn structure(code: &'static str, seq: u64, message: String) -> Finding {
    Finding::new(Part::Structure, code, Some(seq), message)
}
