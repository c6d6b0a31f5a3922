//! What Starling never looks at: order of time, seams, the plan behind a call, and the terminal event,
//! which neither chain nor tree covers.

use bytes::Bytes;

use super::cause::{Causes, Open};
use super::examine::Examined;
use super::fields::Fields;
use super::plan::Plan;
use super::totals::Totals;
use super::validate::{Report, is_terminal, text};

/// Follows a log for the strict findings.
#[derive(Debug, Default)]
pub(super) struct Strict {
    clock: Option<Clock>,
    turn: Option<Bytes>,
    plan: Plan,
    totals: Totals,
    causes: Causes,
    /// What the user message after a seam has to say.
    announced: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    first: i64,
    /// When the process began that the log ends with.
    started: i64,
    last: i64,
}

/// Clocks are read a little apart.
const CLOCK_SLACK_MS: i64 = 1000;

impl Strict {
    /// `open_calls` is how many calls were open before this event.
    pub(super) fn observe(&mut self, event: &Examined, open_calls: u64, report: &mut Report<'_>) {
        self.time(event, report);
        self.announcement(event, report);
        self.causes.next(event.kind, report);
        let Some(fields) = event.readable() else {
            self.totals.skip(event.kind);
            self.causes.skip(event.kind);
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
                self.causes.turn();
            }
            4 => self.reasoning(fields, report),
            5 => self.answer(fields, report),
            6 => {
                let attempt = fields.uint("attempt");
                self.plan.schedule(fields, report);
                self.totals.call(attempt);
                self.causes.call(attempt);
            }
            7 | 8 => {
                let failed = event.kind == 8;
                self.plan.outcome(fields, failed);
                self.causes.outcome(fields, failed);
            }
            10 => self.budget(fields, report),
            15 => self.seam(fields, open_calls, report),
            kind if is_terminal(kind) => {
                if kind == 12 {
                    self.plan.check_done(report);
                    self.totals.check(fields, report);
                }
                self.causes.check(kind, fields, Open { turn: self.turn.is_some(), calls: open_calls }, report);
                self.duration(fields, report);
            }
            // The other kinds stand for themselves.
            _ => {}
        }
    }

    fn time(&mut self, event: &Examined, report: &mut Report<'_>) {
        let ts = event.ts;
        let clock = self.clock.get_or_insert(Clock { first: ts, started: ts, last: ts });
        if ts < clock.last {
            let message = "the event claims to be older than the one before it".into();
            report.notice_with("time_backwards", message, format_args!(">= {}", clock.last), ts);
        }
        clock.last = ts;
        if event.kind == 15 {
            clock.started = ts.max(clock.first);
        }
    }

    /// A run is timed by the process that ends it, and not with the clock that dates its events: the two agree but for a
    /// moment, and for what the clocks drift.
    fn duration(&self, terminal: &Fields, report: &mut Report<'_>) {
        let Some(Clock { first, started, last }) = self.clock else { return };
        let since = |start: i64| last.saturating_sub(start) / 1_000_000;
        let longest = since(first).max(0) + CLOCK_SLACK_MS;
        let shortest = since(started) - CLOCK_SLACK_MS.max(since(started) / 10);
        let duration = terminal.int("duration_ms");
        let message = if duration < shortest.max(0) {
            "the run claims to have taken less time than its events"
        } else if duration > longest {
            "the run claims to have taken longer than its events"
        } else {
            return;
        };
        let expected = format_args!("{}..={longest}", shortest.max(0));
        report.notice_with("terminal_duration", message.into(), expected, duration);
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

    fn answer(&mut self, fields: &Fields, report: &mut Report<'_>) {
        // Starling itself misses the turn of an answer that names one.
        if self.turn.take().is_none() && fields.text("turn_id").is_empty() {
            report.notice("answer_outside_turn", "the answer belongs to no turn".into());
        }
        self.plan.planned(fields);
        self.totals.answer(fields);
        self.causes.answer(self.plan.is_done());
    }

    fn budget(&mut self, fields: &Fields, report: &mut Report<'_>) {
        let turn = fields.text("turn_id");
        if self.turn.take().is_none() && !turn.is_empty() {
            let message = format!("the budget was exceeded in turn {}, which is not open", text(turn));
            report.notice("budget_outside_turn", message);
        }
        self.causes.budget();
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
        self.causes.seam();
        self.announced = Some(fields.text_bytes("extra_message")).filter(|message| !message.is_empty());
    }
}
