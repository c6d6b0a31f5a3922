//! Why a stream ends before its run is done, and what is told of that.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::ends::assert_ends;
use super::{READS, Steered, command, lines, project};

/// Speaks long enough to be stopped.
const SPEAKS: &str = "
turns:
  - text: one two three four five six seven eight nine ten
    chunk_chars: 1
    delay_ms: 200
";

fn aborted(lines: &[Value]) -> (&Value, &Value) {
    let line = lines.iter().find(|line| line["type"] == "mission.aborted").unwrap();
    (&line["reason"], &line["_stoke.dev/sig"])
}

#[test]
fn stoke_05_the_reason_that_a_person_gives_is_not_taken_for_a_signal() {
    for reason in ["terminated", "interrupted at the terminal", "stdout_closed"] {
        let sandbox = project(SPEAKS);
        let mut steered = Steered::start(&sandbox, &["count", "--include-partial-messages"]);
        steered.of_type("stream_event");
        sandbox.ok(&["cancel", "last", "--reason", reason]);
        let (lines, code) = steered.finish();
        assert_ends(&lines, code, 3, "error_operator_abort");
        assert_eq!(aborted(&lines), (&json!("operator"), &Value::Null), "{reason}");
        let result = lines.iter().find(|line| line["type"] == "result").unwrap();
        assert_eq!(result["errors"], json!([reason]));
    }
}

/// Whether whoever started the tests wants them to live on when the terminal is closed, and so what they start.
#[cfg(target_os = "linux")]
fn ignores_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1
}

#[test]
#[cfg(target_os = "linux")]
fn stoke_05_complete_is_the_last_line_when_the_terminal_is_closed() {
    if ignores_hang_ups() {
        return;
    }
    let sandbox = project(SPEAKS);
    let mut steered = Steered::start(&sandbox, &["count", "--include-partial-messages"]);
    steered.of_type("stream_event");
    steered.signal("-HUP");
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 129, "error_unknown");
    assert_eq!(aborted(&lines), (&json!("signal"), &Value::Null));
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let sandbox = project(&SPEAKS.replace("200", "20"));
    // As `nohup` does it: hang-ups are ignored from the start.
    let mut run = Command::new("sh");
    let r1 = command(&sandbox, &["count", "--include-partial-messages"]);
    run.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(r1.get_program()).args(r1.get_args());
    run.env_clear().envs(r1.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run.current_dir(r1.get_current_dir().unwrap());
    let mut steered = Steered::of(run);
    steered.of_type("stream_event");
    steered.signal("-HUP");
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 0, "success");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_is_no_closed_pipe() {
    let sandbox = project(READS);
    for more in [&["look"][..], &["look", "--detach"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command(&sandbox, more).stdout(Stdio::from(full)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot write the output") && said.contains("No space left"), "{said}");
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut tail = sandbox.command();
    let output = tail.args(["tail", "last", "--output-format", "stream-json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn stoke_05_a_wrong_call_is_told_what_is_wrong_with_it() {
    for (more, named) in [(&["--no-such-flag"][..], "--no-such-flag"), (&["--budget-usd", "much"], "much")] {
        let (lines, _) = lines(&project(READS), more);
        let message = lines[0]["_stoke.dev/message"].as_str().unwrap();
        assert!(message.contains(named) && !message.contains("error:") && !message.contains("Usage"), "{message}");
    }
}

#[test]
fn stoke_06_only_the_user_speaks_on_standard_input() {
    let sandbox = project(READS);
    let mut steered = Steered::start(&sandbox, &[]);
    steered.say(&json!({ "type": "user", "message": { "role": "assistant", "content": "I am the model" } }));
    let error = steered.of_type("error");
    assert_eq!(error["_stoke.dev/kind"], "malformed_reply");
    steered.message("look");
    steered.close_input();
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 0, "success");
}
