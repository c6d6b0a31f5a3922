//! How a stream ends: always with `complete`.

use serde_json::{Value, json};

use super::{READS, Steered, command, lines, project};

const SPEAKS_SLOWLY: &str = "
turns:
  - text: one two three four five six seven eight nine ten
    chunk_chars: 1
    delay_ms: 200
";

pub(super) fn assert_ends(lines: &[Value], code: i32, expected: i32, subtype: &str) {
    let completes: Vec<_> = lines.iter().filter(|line| line["type"] == "complete").collect();
    assert_eq!(completes.len(), 1, "{lines:?}");
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "complete", "{last}");
    assert_eq!((code, &last["subtype"]), (expected, &subtype.into()), "{last}");
    assert_eq!(last["_stoke.dev/exit_code"], expected);
}

#[test]
fn stoke_05_complete_is_the_last_line_of_a_run_however_it_ended() {
    let fails = "turns: [{ failures: [{ kind: status, status: 400, message: refused }] }]";
    let costly = READS.replace("1500", "1500000");
    let cases: [(&str, &[&str], i32, &str); 4] = [
        (READS, &[], 0, "success"),
        (fails, &[], 1, "error_run_failed"),
        (&costly, &["--budget-usd", "1"], 4, "error_budget_or_usage"),
        (READS, &["--max-turns", "1"], 1, "error_run_failed"),
    ];
    for (scenario, more, expected, subtype) in cases {
        let (lines, code) = lines(&project(scenario), more);
        assert_ends(&lines, code, expected, subtype);
        assert_eq!(lines.iter().filter(|line| line["type"] == "result").count(), 1);
        assert_eq!(lines.last().unwrap()["session_id"], lines[0]["session_id"]);
    }
}

#[test]
fn stoke_05_complete_is_the_last_line_of_a_wrong_call() {
    for more in [&["--no-such-flag"][..], &["--budget-usd", "much"], &["--attach", "no/such/file"]] {
        let (lines, code) = lines(&project(READS), more);
        assert_ends(&lines, code, 2, "error_budget_or_usage");
        assert_eq!((&lines[0]["type"], &lines[0]["_stoke.dev/kind"]), (&"error".into(), &"usage".into()), "{lines:?}");
    }
    let sandbox = project(READS);
    let mut steered = Steered::start(&sandbox, &[]);
    steered.close_input();
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 2, "error_budget_or_usage");
}

#[test]
fn stoke_05_a_store_that_cannot_be_made_is_told_as_the_stores_fault() {
    let (lines, code) = lines(&project(READS), &["--store", "/dev/null/x"]);
    assert_ends(&lines, code, 2, "error_budget_or_usage");
    assert_eq!((&lines[0]["type"], &lines[0]["_stoke.dev/kind"]), (&"error".into(), &"store".into()), "{lines:?}");
}

#[test]
fn stoke_05_complete_is_the_last_line_after_a_signal() {
    for (signal, name, code, subtype) in
        [("-INT", "SIGINT", 130, "error_sigint"), ("-TERM", "SIGTERM", 143, "error_sigterm")]
    {
        let sandbox = project(SPEAKS_SLOWLY);
        let mut steered = Steered::start(&sandbox, &["count", "--include-partial-messages"]);
        steered.of_type("stream_event");
        steered.signal(signal);
        let (lines, exit) = steered.finish();
        assert_ends(&lines, exit, code, subtype);
        let aborted = lines.iter().find(|line| line["type"] == "mission.aborted").unwrap();
        assert_eq!((&aborted["reason"], &aborted["_stoke.dev/sig"]), (&"signal".into(), &name.into()));
    }
}

#[test]
fn stoke_05_complete_is_the_last_line_of_what_never_became_a_run() {
    let sandbox = project(READS);
    let mut steered = Steered::start(&sandbox, &[]);
    steered.say(&json!({ "decision": true }));
    assert_eq!(steered.of_type("error")["_stoke.dev/kind"], "malformed_reply");
    steered.signal("-TERM");
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 143, "error_sigterm");
    let output = command(&sandbox, &["look"]).env("R1_HOME", "/dev/null/r1").output().unwrap();
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_ends(&lines, output.status.code().unwrap(), 2, "error_budget_or_usage");
}

#[test]
fn a_second_signal_does_not_wait_for_a_reader_that_has_stopped() {
    let long = format!("turns: [{{ text: {}, chunk_chars: 1000 }}]", "x".repeat(400_000));
    let sandbox = project(&long);
    let mut steered = Steered::start(&sandbox, &["speak", "--include-partial-messages"]);
    steered.of_type("stream_event");
    // Ends when the run does; what is printed of it waits for a reader.
    sandbox.ok(&["tail", "last", "--output-format", "stream-json", "--follow"]);
    steered.signal("-INT");
    steered.signal("-TERM");
    let code = steered.wait();
    assert!(code == 130 || code == 143, "{code}");
}

#[test]
fn stoke_05_a_run_that_somebody_cancels_says_so() {
    let sandbox = project(SPEAKS_SLOWLY);
    let mut steered = Steered::start(&sandbox, &["count", "--include-partial-messages"]);
    steered.of_type("stream_event");
    sandbox.ok(&["cancel", "last"]);
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 3, "error_operator_abort");
}

#[test]
fn a_reader_that_goes_away_cancels_the_run_unless_it_is_detached() {
    let sandbox = project(SPEAKS_SLOWLY);
    let mut steered = Steered::start(&sandbox, &["count", "--include-partial-messages"]);
    steered.of_type("stream_event");
    let code = steered.stop_reading().wait().unwrap().code();
    assert_eq!(code, Some(141));
    let lines = sandbox.ok(&["tail", "last", "--output-format", "stream-json"]);
    assert!(lines.contains(r#""reason":"stdout_closed""#), "{lines}");

    let sandbox = project(&SPEAKS_SLOWLY.replace("200", "20"));
    let mut steered = Steered::start(&sandbox, &["count", "--include-partial-messages", "--detach"]);
    steered.of_type("stream_event");
    assert_eq!(steered.stop_reading().wait().unwrap().code(), Some(0));
    let lines = sandbox.ok(&["tail", "last", "--output-format", "stream-json"]);
    assert!(lines.contains(r#""subtype":"success""#), "{lines}");
}

#[test]
fn json_is_the_result_line_alone() {
    let sandbox = project(READS);
    let args = ["run", "look", "-C", "project", "--scenario", "scenario.yaml"];
    let line = sandbox.ok(&[&args[..], &["--output-format", "json"]].concat());
    assert_eq!(line.lines().count(), 1, "{line}");
    let stream = sandbox.ok(&["tail", "last", "--output-format", "stream-json"]);
    assert_eq!(stream.lines().last(), line.lines().next(), "the same line");
    let short = sandbox.json(&[&args[..], &["--json"]].concat());
    assert_eq!((&short["type"], &short["subtype"]), (&"result".into(), &"success".into()), "{short}");
}
