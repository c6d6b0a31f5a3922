//! L1 and L2: how a run begins and ends, and who works on it.

use super::{Event, Report, Rule, Writer};

#[derive(Debug, Default)]
pub(super) struct Run {
    last: Option<u64>,
    started: bool,
    ended_at: Option<u64>,
}

impl Run {
    pub(super) fn observe(&mut self, event: &Event<'_>, report: &mut Report) {
        if self.last.is_none() {
            first(event, report);
        }
        self.last = Some(event.sequence);
        if let Some(end) = self.ended_at
            && !event.type_name.starts_with("gap.")
        {
            report.add(Rule::L1, event, format!("`{}` after the run ended at sequence {end}", event.type_name));
        }
        match event.type_name {
            "run.finished" | "run.failed" | "run.cancelled" => self.ended_at = Some(event.sequence),
            "run.started" if self.started => report.add(Rule::L2, event, "the run started a second time"),
            "run.started" => self.started = true,
            "turn.started" | "tool.invoked" | "run.resumed" if !self.started => {
                report.add_missing(Rule::L2, event, format!("`{}` before `run.started`", event.type_name));
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self, report: &mut Report) {
        if self.ended_at.is_none() {
            report.add_at(Rule::L1, self.last.unwrap_or(0), "the run is over, but no event says how it ended");
        }
    }
}

fn first(event: &Event<'_>, report: &mut Report) {
    let fits = match event.type_name {
        "run.started" => report.writer == Writer::V1,
        "run.queued" | "run.resumed_from_event" => report.writer != Writer::V1,
        "gap.events_pruned" => true,
        _ => false,
    };
    if !fits {
        report.add(Rule::L1, event, format!("a run cannot begin with `{}`", event.type_name));
    }
}
