//! One event in one line.

mod facts;
mod summary;

use std::io::Write;

use r1_protocol::{Envelope, registry};
use r1_runtime::control::view::EventView;

use self::summary::summary;
use super::terminal;
use super::text::{one_line, padded};
use super::time::{clock, time_of_day};
use crate::error::CliError;
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE, write_json};

/// How much of what an event says stands in its line where nobody says how wide that may be.
const SAID: usize = 100;

/// Where there are fewer columns, the time of day is told to the second.
const NARROW: usize = 100;

/// Columns that what an event says has at least.
const LEAST_SAID: usize = 20;

/// Events as lines with the same columns: `seq  time  type  what it says`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventLines {
    types: usize,
    said: usize,
    to_the_second: bool,
}

impl EventLines {
    /// For where the output goes.
    pub(crate) fn here() -> Self {
        Self::fitting(terminal::width())
    }

    /// The same, if no other types than these are shown.
    pub(crate) fn here_of(types: &[&str]) -> Self {
        Self::with(terminal::width(), types.iter().map(|name| name.len()).max().unwrap_or(0))
    }

    /// For so many columns, if they are limited.
    fn fitting(width: Option<usize>) -> Self {
        Self::with(width, registry::all().map(|row| row.name.len()).max().unwrap_or(0))
    }

    fn with(width: Option<usize>, types: usize) -> Self {
        let to_the_second = width.is_some_and(|width| width < NARROW);
        let taken = 6 + 2 + if to_the_second { 8 } else { 12 } + 2 + types + 2;
        Self { types, said: width.map_or(SAID, |width| width.saturating_sub(taken).max(LEAST_SAID)), to_the_second }
    }

    pub(crate) fn line(&self, event: &EventView) -> String {
        let EventView { seq, ts, type_name, .. } = event;
        let style = match type_name.as_str() {
            "run.finished" => GOOD,
            "run.failed" | "run.cancelled" | "log.unreadable" => BAD,
            "user.message" => BOLD,
            name if name.ends_with("failed") || name.ends_with("timed_out") || name.ends_with("exceeded") => NOTICE,
            "phase.transition_refused" | "gate.override" => NOTICE,
            name if name.starts_with("redaction.") || name.starts_with("gap.") => NOTICE,
            _ => NAME,
        };
        let time = match (event.damaged, self.to_the_second) {
            (true, true) => "--:--:--".into(),
            (true, false) => "--:--:--.---".into(),
            (false, true) => clock(*ts),
            (false, false) => time_of_day(*ts),
        };
        let name = padded(&one_line(type_name, self.types), self.types);
        let said = one_line(&summary(event), self.said);
        format!("{seq:>6}  {DIM}{time}{DIM:#}  {style}{name}{style:#}  {said}").trim_end().to_owned()
    }

    /// Says which events are not there any more, in a line or as the envelope that is served instead of them.
    pub(crate) fn write_gap(&self, out: &mut impl Write, marker: &Envelope, json: bool) -> Result<(), CliError> {
        if json {
            return write_json(out, marker);
        }
        let view = EventView {
            run_id: marker.run_id.clone(),
            seq: marker.sequence + 1,
            ts: marker.occurred_at.nanos().map_or(0, |at| at.0),
            kind: 0,
            type_name: marker.type_name.clone(),
            hash: String::new(),
            data: marker.data.clone().into(),
            erased: false,
            damaged: false,
            envelope: None,
        };
        Ok(writeln!(out, "{}", self.line(&view))?)
    }
}

#[cfg(test)]
mod tests {
    use r1_protocol::example;
    use serde_json::Value;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    fn view(event: &Envelope) -> EventView {
        EventView {
            run_id: event.run_id.clone(),
            seq: event.sequence + 1,
            ts: 0,
            kind: 17,
            type_name: event.type_name.clone(),
            hash: String::new(),
            data: Value::Object(event.data.clone()),
            erased: false,
            damaged: false,
            envelope: None,
        }
    }

    fn shown(lines: EventLines, event: &Envelope) -> String {
        anstream::adapter::strip_str(&lines.line(&view(event))).to_string()
    }

    #[test]
    fn every_type_of_event_has_a_line_for_people() {
        for row in registry::all() {
            for event in [example::most(row), example::least(row)] {
                let line = shown(EventLines::fitting(None), &event);
                assert!(!line.contains(['{', '}', '[', ']']), "raw JSON: {line}");
            }
        }
    }

    #[test]
    fn every_type_that_says_something_is_heard() {
        for row in registry::all().filter(|row| !row.fields.is_empty()) {
            let event = example::most(row);
            let said = summary(&view(&event));
            assert!(!said.trim().is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn columns_stand_below_each_other_and_fit_the_terminal() {
        for row in registry::all() {
            let event = example::most(row);
            let line = shown(EventLines::fitting(Some(80)), &event);
            assert!(line.width() <= 80, "{}: {line}", line.width());
            assert!(line[..18].ends_with("  ") && line[18..].starts_with(&event.type_name), "{line}");
            assert!(line.len() < 51 || &line[49..51] == "  ", "{line}");
        }
    }
}
