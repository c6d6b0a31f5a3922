//! A verdict, for people and for scripts.

use std::fmt::Write as _;

use r1_event::finding::{Finding, Part, State, Verdict};
use r1_protocol::api::{self, integrity_word, state_word};
use serde::Serialize;

use super::text::{count, one_line, visible};
use crate::exit::Exit;
use crate::output::{BAD, BOLD, DIM, GOOD, NOTICE};

/// What `r1 log validate --json` prints.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) runs: Vec<api::Verdict>,
}

/// The exit code that a set of verdicts stands for: the worst of them.
pub(crate) fn exit(verdicts: &[Verdict]) -> Exit {
    if verdicts.iter().any(is_bad) {
        Exit::Failed
    } else if verdicts.iter().any(|verdict| verdict.state == State::Open) {
        Exit::Open
    } else {
        Exit::Ok
    }
}

fn is_bad(verdict: &Verdict) -> bool {
    verdict.is_corrupt() || verdict.state == State::Truncated
}

/// A verdict as text, several lines.
pub(crate) fn text(verdict: &Verdict) -> String {
    let mut out = String::new();
    let version = verdict.schema_version.map_or_else(|| "unknown format".into(), |version| format!("v{version}"));
    let run = if verdict.run_id.is_empty() { "(no run id)".into() } else { visible(&verdict.run_id) };
    let answer = match (is_bad(verdict), verdict.state) {
        (true, _) => format!("{BAD}corrupt{BAD:#}"),
        (false, State::Open) => format!("{NOTICE}valid so far, open{NOTICE:#}"),
        (false, State::Complete | State::Truncated) => format!("{GOOD}valid{GOOD:#}"),
    };
    let events = count(verdict.events, "event");
    let _ = writeln!(out, "{BOLD}{run}{BOLD:#}  {answer}  {DIM}{version}, {events}{DIM:#}");
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(out, "  {DIM}{name:<10}{DIM:#} {value}");
    };
    fact("integrity", integrity_word(verdict.integrity).into());
    fact("structure", structure(verdict));
    fact("state", state_word(verdict.state).into());
    if let Some(through) = verdict.pruned_through {
        fact("pruned", format!("through event {through}"));
    }
    if let Some(compat) = &verdict.compat {
        fact("starling", compat.rejection.as_ref().map_or_else(|| "accepts it".into(), |why| visible(&why.message)));
    }
    fact("sealed", verdict.sealed_by.as_ref().map_or_else(|| "no".into(), |key| format!("by {key}")));
    if let Some(root) = &verdict.merkle_root {
        fact("root", root.to_string());
    }
    if let Some(head) = &verdict.head_hash {
        fact("head", head.to_string());
    }
    for finding in &verdict.findings {
        out.push_str(&finding_text(finding));
    }
    out
}

/// One finding, as text.
pub(crate) fn finding_text(finding: &Finding) -> String {
    let Finding { code, part, seq, message, expected, found } = finding;
    let style = match part {
        Part::Integrity | Part::Structure => BAD,
        Part::Notice => NOTICE,
    };
    let place = seq.map(|seq| format!(" {DIM}at {seq}{DIM:#}")).unwrap_or_default();
    let mut out = format!("  {style}{code}{style:#}{place}  {}\n", visible(message));
    for (name, value) in [("expected", expected), ("found", found)] {
        if let Some(value) = value {
            let _ = writeln!(out, "    {DIM}{name:<8}{DIM:#} {}", one_line(value, 160));
        }
    }
    out
}

fn structure(verdict: &Verdict) -> String {
    let errors = verdict.findings.iter().filter(|finding| finding.part == Part::Structure).count() as u64;
    match (errors, verdict.recorded) {
        (0, _) => "ok".into(),
        (n, true) => format!("{}, as the recorded agent left it", count(n, "finding")),
        (n, false) => count(n, "error"),
    }
}
