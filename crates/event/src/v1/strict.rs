//! What Starling never looks at: order of time, seams, the plan behind a call, and the terminal event,
//! which neither chain nor tree covers.

use bytes::Bytes;

use super::examine::Examined;
use super::fields::Fields;
use super::plan::Plan;
use super::totals::Totals;
use super::validate::{Report, is_terminal};

/// Follows a log for the strict findings.
#[derive(Debug, Default)]
pub(super) struct Strict {
    clock: Option<Clock>,
    turn: Option<Bytes>,
    plan: Plan,
    totals: Totals,
    /// What the user message after a seam has to say.
    announced: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    first: i64,
    last: i64,
}

impl Strict {
    /// `open_calls` is how many calls were open before this event.
    pub(super) fn observe(&mut self, event: &Examined, open_calls: u64, report: &mut Report<'_>) {
        let first = self.clock.map_or(event.ts, |clock| clock.first);
        self.time(event.ts, report);
        self.announcement(event, report);
        let Some(fields) = event.readable() else {
            self.totals.skip(event.kind);
            if event.kind == 15 {
                self.turn = None;
                self.plan.resume(open_calls);
            }
            return;
        };
        match event.kind {
            1 if report.index > 0 => report.notice("second_run_started", "a run starts only once".into()),
            3 => {
                if open_calls > 0 {
                    report.notice("turn_with_open_calls", format!("a turn begins while {open_calls} calls are open"));
                }
                self.plan.check_done(report);
                self.turn = Some(fields.text_bytes("turn_id"));
                self.totals.turn();
            }
            4 => self.reasoning(fields, report),
            5 => {
                self.turn = None;
                self.plan.planned(fields);
                self.totals.answer(fields, self.plan.is_done());
            }
            6 => {
                self.plan.schedule(fields, report);
                self.totals.call(fields);
            }
            7 | 8 => {
                let failed = event.kind == 8;
                self.plan.outcome(fields, failed);
                self.totals.outcome(fields, failed);
            }
            10 => {
                self.turn = None;
                self.totals.budget();
            }
            15 => self.seam(fields, open_calls, report),
            kind if is_terminal(kind) => {
                if kind == 12 {
                    self.plan.check_done(report);
                }
                self.totals.check(kind, fields, self.turn.is_some(), event.ts.saturating_sub(first), report);
            }
            // The other kinds stand for themselves.
            _ => {}
        }
    }

    fn time(&mut self, ts: i64, report: &mut Report<'_>) {
        let clock = self.clock.get_or_insert(Clock { first: ts, last: ts });
        if ts < clock.last {
            let message = "the event claims to be older than the one before it".into();
            report.notice_with("time_backwards", message, format_args!(">= {}", clock.last), ts);
        }
        clock.last = ts;
    }

    /// A seam's extra message is the next event.
    fn announcement(&mut self, event: &Examined, report: &mut Report<'_>) {
        let Some(announced) = self.announced.take() else { return };
        let said = event.readable().filter(|_| event.kind == 2).map(|fields| fields.text("content"));
        if said != Some(&announced[..]) {
            report.notice("resume_message", "the message of the resume seam before does not follow it".into());
        }
    }

    fn reasoning(&self, fields: &Fields, report: &mut Report<'_>) {
        if self.turn.as_deref() != Some(fields.text("turn_id")) {
            report.notice("reasoning_outside_turn", "the reasoning does not belong to the open turn".into());
        }
    }

    fn seam(&mut self, fields: &Fields, open_calls: u64, report: &mut Report<'_>) {
        let (expected, found) = (report.seq.wrapping_sub(1), fields.uint("at_seq"));
        if found != expected {
            report.notice_with(
                "resume_at_seq",
                "the seam names another event than the one before it".into(),
                expected,
                found,
            );
        }
        let (pending, waiting) = (fields.uint("pending_calls"), self.plan.waiting());
        if pending < open_calls || pending > open_calls + waiting {
            let message = "the seam counts other calls than those in flight".into();
            report.notice_with("resume_pending_calls", message, open_calls, pending);
        }
        self.turn = None;
        self.plan.resume(open_calls);
        self.totals.seam();
        self.announced = Some(fields.text_bytes("extra_message")).filter(|message| !message.is_empty());
    }
}
