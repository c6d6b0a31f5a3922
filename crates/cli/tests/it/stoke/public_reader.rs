//! Somebody else's reader.

use std::process::Command;

use r1_event::cbor::Value as Cbor;
use r1_event::exchange::Format;
use r1_event::payload::{Payload, Raw, ToolCallCompleted};
use serde_json::Value;

use super::{READS, lines, project};
use crate::support::{RUN, Sandbox, log_of, payloads, text};

/// Runs where `R1_TEST_PYTHON` names a Python that has what `tools/requirements.txt` lists; `./test python` does.
#[test]
fn stoke_04_every_line_is_read_by_a_public_reader_of_claude_codes_stream() {
    let Some(python) = std::env::var_os("R1_TEST_PYTHON") else {
        eprintln!("skipped: R1_TEST_PYTHON is not set");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/test_stoke_stream.py");
    let output = Command::new(python).args(["-B", script, env!("CARGO_BIN_EXE_r1")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What readers of Claude Code's stream take for granted in a line of each type.
fn demanded(type_name: &str) -> &'static [&'static str] {
    match type_name {
        "system" => &["/subtype", "/session_id", "/uuid"],
        "assistant" => &["/message/id", "/message/model", "/message/content/0/type", "/message/usage/output_tokens"],
        "user" => &["/message/content/0/type"],
        "stream_event" => &["/event/type", "/session_id", "/uuid"],
        "result" => &[
            "/subtype",
            "/duration_ms",
            "/duration_api_ms",
            "/is_error",
            "/num_turns",
            "/session_id",
            "/total_cost_usd",
            "/usage/input_tokens",
            "/result",
        ],
        _ => &[],
    }
}

#[test]
fn stoke_04_lines_have_what_readers_of_claude_codes_stream_take_for_granted() {
    let flags = ["--include-partial-messages", "--include-thinking", "--replay-user-messages", "--events", "all"];
    let (lines, code) = lines(&project(READS), &flags);
    assert_eq!(code, 0);
    for name in ["system", "assistant", "user", "stream_event", "result"] {
        assert!(lines.iter().any(|line| line["type"] == name), "no {name}");
    }
    for line in &lines {
        for pointer in demanded(line["type"].as_str().unwrap()) {
            assert!(line.pointer(pointer).is_some(), "{pointer} is not in {line}");
        }
    }
}

#[test]
fn stoke_04_no_result_of_a_tool_makes_a_line_too_long_or_two_of_it() {
    let sandbox = Sandbox::new();
    let separators = "one\u{2028}two\u{2029}three\u{85}four";
    let result = |(said, number): (&str, usize)| {
        let (call_id, result) = (format!("c{number}"), Raw::from(&Cbor::text(said)));
        Payload::ToolCallCompleted(ToolCallCompleted { call_id, result, attempt: 1, ..Default::default() })
    };
    let huge = "x".repeat(5_000_000);
    let results = [huge.as_str(), separators].into_iter().zip(0..).map(result);
    let records = log_of(RUN, payloads().into_iter().take(1).chain(results).collect());
    let log = sandbox.file("log.cborseq", Format::Cborseq, &records);
    let printed = sandbox.ok(&["log", "export", text(&log), "--format", "stoke"]);
    assert!(!printed.contains(['\u{2028}', '\u{2029}', '\u{85}']), "some readers end a line there");
    assert!(printed.lines().all(|line| line.len() < 1_000_000));
    let lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: Vec<Value> = lines.filter(|line| line["type"] == "user").collect();
    let [cut, whole] = &told[..] else { panic!("{} lines", told.len()) };
    let content = |line: &Value| line["message"]["content"][0]["content"].as_str().unwrap().to_owned();
    assert_eq!((content(cut).len(), content(whole).as_str()), (200_000, separators));
    assert_eq!(cut["_stoke.dev/truncated"], serde_json::json!(["/message/content/0/content"]));
}
