//! What an event says, in words.

use r1_runtime::control::view::EventView;
use serde_json::Value;

use super::facts::{brief, facts, pairs};
use crate::render::number::usd;
use crate::render::text::one_line;

pub(super) fn summary(event: &EventView) -> String {
    let data = &event.data;
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or(0);
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
        "run.started" => format!("by {}", either("worker_id", "instance_id")),
        "user.message" | "assistant.thinking_complete" => either("content", "text"),
        "turn.started" => text("turn_id"),
        "turn.completed" if data.get("text").or(data.get("tool_uses")).is_some() => {
            match (text("text"), data.get("tool_uses").and_then(Value::as_array)) {
                (said, Some(uses)) if said.is_empty() => uses.iter().map(planned).collect::<Vec<_>>().join(", "),
                (said, _) => said,
            }
        }
        "tool.invoked" => planned(data),
        "tool.completed" if data.get("tool_call_id").is_some() => format!("{} {}", text("summary"), milliseconds(data)),
        "tool.completed" => format!("{} {}", brief(&data["result"]), milliseconds(data)),
        "tool.failed" | "tool.timed_out" | "tool.cancelled" | "run.failed" => either("error", "message"),
        "run.finished" => text("final_text"),
        "run.cancelled" => text("reason"),
        "run.side_effect" => format!("{} = {}", text("name"), brief(&data["value"])),
        "run.context_truncated" => format!("from {} to {} tokens", number("tokens_before"), number("tokens_after")),
        "cost.budget_exceeded" => {
            format!("{}: {} of {}", text("limit"), brief(&data["actual"]), brief(&data["cap"]))
        }
        "cost.tick" => format!("{} so far", usd(number("cumulative_cost_micros_usd"))),
        "assistant.text_delta" | "assistant.thinking_delta" | "assistant.tool_call_input_delta" => text("delta"),
        "assistant.text_complete" => text("text"),
        "assistant.final_answer" => text("summary"),
        "assistant.tool_call_proposed" => planned(data),
        "approval.requested" => format!("{} ({})", text("summary"), text("policy_reason")),
        "approval.resolved" => match text("comment").as_str() {
            "" => format!("{} by {}", text("decision"), text("by")),
            comment => format!("{} by {}: {comment}", text("decision"), text("by")),
        },
        "artifact.created" => format!("{}: {} ({})", text("kind"), text("summary"), text("artifact_id")),
        "policy.tool_allowed" | "policy.tool_blocked" => format!("{}: {}", text("tool_name"), text("reason")),
        "tool.shell.command" => words(&data["argv"]),
        "tool.git.completed" => format!("{}: exit {}", words(&data["argv"]), brief(&data["exit_code"])),
        "tool.shell.output_chunk" => text("data"),
        "tool.shell.exited" => match data.get("signal").and_then(Value::as_str) {
            Some(signal) => format!("ended by {signal}"),
            None => format!("exit {}", brief(&data["exit_code"])),
        },
        "tool.started" => text("tool_name"),
        "tool.file_read.completed" => format!("{} lines {}–{}", text("path"), number("start_line"), number("end_line")),
        "gate.decision" if data.get("gate_id").is_some() => {
            let measured =
                data.get("score").map(|score| format!(" ({} of {})", brief(score), brief(&data["threshold"])));
            let gate = format!("{}.{}/{}", text("phase"), text("boundary"), text("gate_id"));
            format!("{gate}: {} {}{}", text("verdict"), text("reason_code"), measured.unwrap_or_default())
        }
        "gate.override" => {
            let who = data.pointer("/actor/id").and_then(Value::as_str).unwrap_or_default();
            format!("{} by {who}: {}", one_line(&text("of"), 19), text("reason"))
        }
        "phase.transition" => format!("{}>{} in round {}", text("from"), text("to"), number("round")),
        "phase.transition_refused" => {
            format!("{}>{} in round {}: {}", text("from"), text("to"), number("round"), brief(&data["missing"]))
        }
        "gap.events_pruned" => {
            let (first, last) = (number("first_pruned_sequence") + 1, number("last_pruned_sequence") + 1);
            format!("events {first} to {last} were pruned: {}", text("reason"))
        }
        "redaction.applied" => format!("{} by {}: {}", brief(&data["sequences"]), text("by"), text("reason")),
        name => facts(name, data),
    }
}

/// A call of a tool, as it stands in a log or as it is served.
fn planned(call: &Value) -> String {
    let (tool, args) = if call.get("tool").is_some() { ("tool", "args") } else { ("tool_name", "input") };
    format!("{} {}", call[tool].as_str().unwrap_or_default(), input(&call[args])).trim_end().to_owned()
}

/// What a tool is given: first what it is about, then the rest.
fn input(args: &Value) -> String {
    let Value::Object(members) = args else { return brief(args) };
    let Some(subject) = SUBJECTS.into_iter().find(|key| members.contains_key(*key)) else { return brief(args) };
    let mut rest = members.clone();
    let subject = rest.remove(subject).map(|subject| words(&subject)).unwrap_or_default();
    format!("{subject} {}", pairs(&rest)).trim_end().to_owned()
}

/// Where the input of a tool says what it is about.
const SUBJECTS: [&str; 7] = ["path", "file_path", "argv", "command", "url", "query", "pattern"];

/// A command as one would type it.
fn words(argv: &Value) -> String {
    let words = argv.as_array().map(|words| words.iter().map(brief).collect::<Vec<_>>().join(" "));
    words.unwrap_or_else(|| brief(argv))
}

fn milliseconds(data: &Value) -> String {
    data.get("duration_ms")
        .and_then(Value::as_i64)
        .filter(|ms| *ms > 0)
        .map(|ms| format!("({ms} ms)"))
        .unwrap_or_default()
}
