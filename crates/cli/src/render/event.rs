//! One event in one line.

use std::io::Write;

use r1_protocol::Envelope;
use r1_runtime::control::view::EventView;
use serde_json::Value;

use super::text::one_line;
use super::time::time_of_day;
use crate::error::CliError;
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE, write_json};

/// How much of what an event says fits in its line.
const WIDTH: usize = 100;

/// `seq  time  type  what it says`.
pub(crate) fn line(event: &EventView) -> String {
    line_of(event, WIDTH)
}

/// The same, with at most so many characters of what it says.
pub(crate) fn line_of(event: &EventView, width: usize) -> String {
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
    let time = if event.damaged { "--:--:--.---".into() } else { time_of_day(*ts) };
    let name = one_line(type_name, 60);
    let said = one_line(&summary(event), width);
    format!("{seq:>6}  {DIM}{time}{DIM:#}  {style}{name:<26}{style:#}  {said}").trim_end().to_owned()
}

/// Says which events are not there any more, in a line or as the envelope that is served instead of them.
pub(crate) fn write_gap(out: &mut impl Write, marker: &Envelope, json: bool) -> Result<(), CliError> {
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
    Ok(writeln!(out, "{}", line(&view))?)
}

fn summary(event: &EventView) -> String {
    let data = &event.data;
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    // Under its name in the log, or the one it is served with.
    let either = |stored: &str, served: &str| if data.get(stored).is_some() { text(stored) } else { text(served) };
    if event.damaged {
        return "the header of this event cannot be read".into();
    }
    if event.erased {
        return match data.pointer("/redaction/seq").zip(data.pointer("/redaction/run_id")) {
            Some((seq, run)) => format!("erased, as event {seq} of {} says", run.as_str().unwrap_or_default()),
            None => "erased".into(),
        };
    }
    match event.type_name.as_str() {
        "run.queued" | "run.started" if data.get("goal").or(data.get("title")).is_some() => either("goal", "title"),
        "user.message" | "assistant.thinking_complete" => either("content", "text"),
        "turn.started" => text("turn_id"),
        "turn.completed" => match (text("text"), data.get("tool_uses").and_then(Value::as_array)) {
            (said, Some(uses)) if said.is_empty() => uses.iter().map(planned).collect::<Vec<_>>().join(", "),
            (said, _) => said,
        },
        "tool.invoked" => planned(data).trim_end().to_owned(),
        "tool.completed" if data.get("tool_call_id").is_some() => format!("{} {}", text("summary"), milliseconds(data)),
        "tool.completed" => format!("{} {}", plain(&data["result"]), milliseconds(data)),
        "tool.failed" | "tool.timed_out" | "tool.cancelled" | "run.failed" => either("error", "message"),
        "run.finished" => text("final_text"),
        "run.cancelled" => text("reason"),
        "run.side_effect" => format!("{} = {}", text("name"), plain(&data["value"])),
        "cost.budget_exceeded" => format!("{}: {} of {}", text("limit"), data["actual"], data["cap"]),
        "assistant.text_delta" => text("delta"),
        "assistant.text_complete" => text("text"),
        "assistant.final_answer" => text("summary"),
        "assistant.tool_call_proposed" => format!("{} {}", text("tool_name"), plain(&data["input"])),
        "approval.requested" => format!("{} ({})", text("summary"), text("policy_reason")),
        "approval.resolved" => match text("comment").as_str() {
            "" => format!("{} by {}", text("decision"), text("by")),
            comment => format!("{} by {}: {comment}", text("decision"), text("by")),
        },
        "artifact.created" => format!("{} {}: {}", text("kind"), text("artifact_id"), text("summary")),
        "policy.tool_allowed" | "policy.tool_blocked" => format!("{}: {}", text("tool_name"), text("reason")),
        "tool.shell.command" => plain(&data["argv"]),
        "tool.shell.output_chunk" => text("data"),
        "tool.shell.exited" => format!("exit {}", data["exit_code"]),
        "tool.started" => text("tool_name"),
        "gate.decision" => {
            let measured = data.get("score").map(|score| format!(" ({score} of {})", data["threshold"]));
            let gate = format!("{}.{}/{}", text("phase"), text("boundary"), text("gate_id"));
            format!("{gate}: {} {}{}", text("verdict"), text("reason_code"), measured.unwrap_or_default())
        }
        "gate.override" => {
            let who = data.pointer("/actor/id").and_then(Value::as_str).unwrap_or_default();
            format!("{} by {who}: {}", one_line(&text("of"), 19), text("reason"))
        }
        "phase.transition" => format!("{}>{} in round {}", text("from"), text("to"), data["round"]),
        "phase.transition_refused" => {
            format!("{}>{} in round {}: {}", text("from"), text("to"), data["round"], plain(&data["missing"]))
        }
        "gap.events_pruned" => {
            let place = |key: &str| data.get(key).and_then(Value::as_u64).map_or(0, |sequence| sequence + 1);
            let (first, last) = (place("first_pruned_sequence"), place("last_pruned_sequence"));
            format!("events {first} to {last} were pruned: {}", text("reason"))
        }
        "redaction.applied" => format!("{} by {}: {}", data["sequences"], text("by"), text("reason")),
        _ => plain(data),
    }
}

fn planned(call: &Value) -> String {
    let (tool, args) = if call.get("tool").is_some() { ("tool", "args") } else { ("tool_name", "input") };
    format!("{} {}", call[tool].as_str().unwrap_or_default(), plain(&call[args]))
}

fn milliseconds(data: &Value) -> String {
    data.get("duration_ms")
        .and_then(Value::as_i64)
        .filter(|ms| *ms > 0)
        .map(|ms| format!("({ms} ms)"))
        .unwrap_or_default()
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
