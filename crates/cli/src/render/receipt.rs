//! Receipts, for people.

mod story;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use r1_receipt::claims::{DOES_NOT_PROVE, PROVES};
use r1_receipt::file::Parts;
use r1_receipt::json::{Object, Value};
use r1_receipt::{Receipt, Report, Verdict};
use r1_runtime::control::receipt::Child;

use super::text::{count, one_line, visible, wrapped};
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE};

/// The first line of every check.
pub(crate) fn verdict_line(verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::Valid => GOOD,
        Verdict::Invalid(_) => BAD,
        Verdict::Untrusted(_) | Verdict::Incomplete(_) => NOTICE,
    };
    format!("receipt verify: {style}{verdict}{style:#}")
}

/// `12 (THOUGHT 3, TOOL_CALL 9)`.
pub(crate) fn counts(events: usize, types: &BTreeMap<&'static str, usize>) -> String {
    let parts: Vec<_> = types.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if parts.is_empty() { events.to_string() } else { format!("{events} ({})", parts.join(", ")) }
}

/// The whole report, with what `receipt` tells if it is to be believed.
pub(crate) fn text(
    file: &Path,
    report: &Report,
    receipt: Option<&Receipt<'_>>,
    verdict: Verdict,
    children: &[Child],
) -> String {
    let mut out = format!("{}\n", verdict_line(verdict));
    let mut row = |name: &str, value: &str| {
        // Into memory: there is nothing that could fail.
        let _ = writeln!(out, "  {DIM}{name:<9}{DIM:#} {}", visible(value));
    };
    if let Some(failure) = &report.failure {
        if let Some(index) = failure.event_index {
            row("event", &format!("{index}{}", failure.event_id.map(|id| format!("  {id}")).unwrap_or_default()));
        }
        if let (Some(expected), Some(found)) = (&failure.expected, &failure.found) {
            row("expected", expected);
            row("found", found);
        }
    }
    row("file", &format!("{}, {}", file.display(), count(report.file_size as u64, "byte")));
    row("events", &counts(report.events, &report.types));
    if !report.stubs.is_empty() {
        let stubs: Vec<_> = report.stubs.iter().map(|(word, count)| format!("{count} {word}")).collect();
        row("stubs", &stubs.join(", "));
    }
    if let Some(digest) = &report.digest {
        row("digest", digest);
        row("key", &key(report));
    }
    if let Some(run) = &report.run {
        row("run", &format!("{}, {}, {}, {}", run.run_id, count(run.size, "event"), run.state, run.outcome));
    }
    for (name, told) in receipt.map(story::rows).unwrap_or_default() {
        row(name, &told);
    }
    if report.transitions + report.decisions + report.overrides.len() > 0 {
        let transitions = count(report.transitions as u64, "transition");
        row("gates", &format!("{transitions}, {}", count(report.decisions as u64, "decision")));
        for given in &report.overrides {
            row("override", &format!("{} by {}: {}", given.gate, given.actor, given.reason));
        }
    }
    for child in children {
        row("child", &format!("{}: {}", child.run_id, child.verdict));
    }
    row("log", if report.log_checked { "compared" } else { "not compared (--log RUN|FILE)" });
    for warning in &report.warnings {
        row("note", warning);
    }
    lists(&mut out);
    out
}

/// Where what a row says begins.
const ROW: usize = 12;

/// What a receipt tells of its run, in lines of so many columns, if they are limited.
pub(crate) fn story(receipt: &Receipt<'_>, width: Option<usize>) -> Vec<String> {
    let row = |(name, told): (&str, String)| {
        let told = visible(&told);
        let lines = width.map_or_else(|| vec![told.clone()], |width| wrapped(&told, width.saturating_sub(ROW)));
        let names = std::iter::once(name).chain(std::iter::repeat(""));
        let line = |(line, name): (String, &str)| format!("  {DIM}{name:<9}{DIM:#} {line}");
        lines.into_iter().zip(names).map(line).collect::<Vec<_>>()
    };
    story::rows(receipt).into_iter().flat_map(row).collect()
}

fn lists(out: &mut String) {
    for (title, lines) in [("A valid receipt proves", PROVES), ("It does not prove", DOES_NOT_PROVE)] {
        let _ = writeln!(out, "{BOLD}{title}{BOLD:#}");
        for line in lines {
            let _ = writeln!(out, "  - {line}");
        }
    }
}

fn key(report: &Report) -> String {
    let key = &report.key;
    let mut text = key.kid.clone();
    if let (Some(scope), Some(subject)) = (key.scope, &key.subject) {
        let _ = write!(text, ", {scope} {subject}");
    }
    if let Some(since) = &key.not_before {
        let _ = write!(text, ", counts from {since}");
    }
    if let Some(until) = &key.not_after {
        let _ = write!(text, " until {until}");
    }
    if let Some(revoked) = &key.revoked {
        let _ = write!(text, ", {revoked}");
    }
    text
}

/// A node in a line, or with all that it says.
pub(crate) fn node(parts: &Parts<'_>, whole: bool) -> String {
    let body = parts.body();
    let seq = body.int("seq").map_or_else(|| "–".to_owned(), |seq| seq.to_string());
    let id = &parts.id.digest().to_string()[..12];
    let summary = one_line(&summary(&parts.type_name, &body), 100);
    let mut line = format!("{DIM}{seq:>6} {id}{DIM:#}  {NAME}{:<16}{NAME:#} {summary}", visible(&parts.type_name));
    if whole {
        let _ = write!(line, "\n  {DIM}id{DIM:#} {}", parts.id);
        for pred in &parts.preds {
            let _ = write!(line, "\n  {DIM}after{DIM:#} {pred}");
        }
        for (key, value) in body.iter() {
            let _ = write!(line, "\n  {DIM}{}{DIM:#} {}", visible(key), visible(&value.to_text()));
        }
    }
    line
}

fn summary(type_name: &str, body: &Object<'_>) -> String {
    let text = |key: &str| body.text(key).unwrap_or_default();
    if let Some(stub) = body.text("stub") {
        return format!("({stub})");
    }
    match type_name {
        "THOUGHT" => {
            let calls = body.get("calls").and_then(Value::as_array).map_or(0, <[_]>::len);
            format!("{} {}, {}", text("model"), text("status"), count(calls as u64, "call"))
        }
        "TOOL_CALL" => {
            let approval = body.get("approval").and_then(Value::as_object);
            let by = approval.map(|given| {
                format!(" [{} by {}]", given.text("decision").unwrap_or_default(), given.text("by").unwrap_or_default())
            });
            format!("{} {}{} {}", text("tool"), text("status"), by.unwrap_or_default(), text("args"))
        }
        "MEMORY_READ" => {
            let hit = if body.get("hit") == Some(&Value::Bool(true)) { "" } else { " (nothing)" };
            format!("{} {}{hit} by {}", text("tier"), text("key"), text("by"))
        }
        "MEMORY_WRITE" => format!("{} {} {} by {}", text("op"), text("tier"), text("key"), text("by")),
        "GATE_DECISION" => {
            let given = body.get("override").and_then(Value::as_object);
            let by = given.map(|given| format!(" by {}", given.text("actor").unwrap_or_default())).unwrap_or_default();
            format!(
                "{}.{}/{} {} ({}){by}",
                text("phase"),
                text("boundary"),
                text("gate_id"),
                text("verdict"),
                text("reason_code")
            )
        }
        "PHASE_TRANSITION" => format!("{} → {}", text("from"), text("to")),
        "ARTIFACT" => match text("kind") {
            kind @ ("run_log" | "child_run") => {
                format!("{kind} {}, {} events, {}", text("run_id"), body.int("size").unwrap_or(0), text("outcome"))
            }
            kind => format!("{kind} {} {} bytes", text("path"), body.int("size").unwrap_or(0)),
        },
        "SKILL_AUTHORING_DECISION" => format!("{} = {}", text("question_id"), text("answer")),
        "BEACON_LEDGER_EVENT" => format!("{} of {}", text("kind"), text("beacon_id")),
        _ => String::new(),
    }
}

/// The graph in Graphviz's language.
pub(crate) fn dot(nodes: &[&Parts<'_>]) -> String {
    let mut out = String::from("digraph receipt {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n");
    for parts in nodes {
        let label = format!("{}\n{}", parts.type_name, one_line(&summary(&parts.type_name, &parts.body()), 40));
        let quoted = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = writeln!(out, "  \"{}\" [label=\"{quoted}\"];", parts.id);
        for pred in &parts.preds {
            let _ = writeln!(out, "  \"{pred}\" -> \"{}\";", parts.id);
        }
    }
    out.push_str("}\n");
    out
}
