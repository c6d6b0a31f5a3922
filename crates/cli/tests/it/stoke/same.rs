//! One run, the same lines wherever they are asked for.

use serde_json::Value;

use super::{READS, Steered, WAITS, command, project, until_it_waits};
use crate::support::Sandbox;

const FLAGS: [&[&str]; 3] = [
    &[],
    &["--include-partial-messages", "--replay-user-messages"],
    &["--include-partial-messages", "--include-thinking", "--replay-user-messages", "--events", "all"],
];

fn of_log(sandbox: &Sandbox, args: &[&str], flags: &[&str]) -> String {
    sandbox.ok(&[args, flags].concat())
}

#[test]
fn stoke_02_live_afterwards_and_exported_a_run_has_the_same_lines() {
    for flags in FLAGS {
        let sandbox = project(READS);
        let output = command(&sandbox, &[&["look"], flags].concat()).output().unwrap();
        let live = String::from_utf8(output.stdout).unwrap();
        let (live, last) = live.trim_end().rsplit_once('\n').unwrap();
        assert!(last.contains(r#""type":"complete""#), "{last}");
        let live = format!("{live}\n");
        let tail = ["tail", "last", "--output-format", "stream-json"];
        assert_eq!(of_log(&sandbox, &tail, flags), live);
        assert_eq!(of_log(&sandbox, &[&tail[..], &["--follow"]].concat(), flags), live);
        assert_eq!(of_log(&sandbox, &["log", "export", "last", "--format", "stoke"], flags), live);
        sandbox.ok(&["log", "export", "last", "-o", "run.cborseq"]);
        assert_eq!(of_log(&sandbox, &["log", "export", "run.cborseq", "--format", "stoke"], flags), live);
        let later = of_log(&sandbox, &[&tail[..], &["--after-seq", "3"]].concat(), flags);
        assert!(live.ends_with(&later) && later.len() < live.len(), "{later}");
    }
}

#[test]
fn stoke_02_a_run_that_goes_on_in_another_process_keeps_its_lines_and_its_trace() {
    let sandbox = project(WAITS);
    let mut steered = Steered::start(&sandbox, &["look", "--approve", "full"]);
    let mut before = vec![steered.next().unwrap()];
    while before.last().unwrap()["type"] != "user" {
        before.push(steered.next().unwrap());
    }
    until_it_waits(&sandbox);
    steered.signal("-KILL");
    assert!(!steered.stop_reading().wait().unwrap().success());
    sandbox.ok(&["resume", "last", "--json"]);
    let tail = sandbox.ok(&["tail", "last", "--output-format", "stream-json"]);
    assert_eq!(sandbox.ok(&["tail", "last", "--output-format", "stream-json"]), tail, "twice");
    assert_eq!(sandbox.ok(&["log", "export", "last", "--format", "stoke"]), tail);
    let lines: Vec<Value> = tail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[..before.len()], before, "what was told stays as it was told");
    let place = |line: &Value| (line["instance_id"].clone(), line["trace_parent"].as_str().unwrap().to_owned());
    let is_stoke = |line: &&Value| line["type"].as_str().unwrap().starts_with("stoke.");
    let (first, last) = (lines.iter().find(is_stoke).unwrap(), lines.iter().rfind(is_stoke).unwrap());
    let ((was, began), (is, goes_on)) = (place(first), place(last));
    assert!(was != is && began != goes_on, "another process has another place: {last}");
    assert_eq!((&began[..36], &began[52..]), (&goes_on[..36], &goes_on[52..]), "in the same trace");
}

#[test]
fn more_lines_are_refused_where_no_lines_are_printed() {
    let sandbox = project(READS);
    let args = ["run", "look", "-C", "project", "--scenario", "scenario.yaml"];
    sandbox.r1(&[&args[..], &["--include-thinking"]].concat()).fails(2, "where lines are printed");
    sandbox.r1(&[&args[..], &["--json"]].concat());
    sandbox.r1(&["tail", "last", "--events", "all"]).fails(2, "where lines are printed");
    sandbox.r1(&["log", "export", "last", "--events", "all"]).fails(2, "where lines are printed");
}
