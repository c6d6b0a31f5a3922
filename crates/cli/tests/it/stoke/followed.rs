//! A run that is followed while the process that works on it is killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use super::{Steered, WAITS, project, until_it_waits};
use crate::support::Sandbox;

const FOLLOW: [&str; 5] = ["tail", "last", "--output-format", "stream-json", "--include-partial-messages"];

/// Another process that prints the run as it grows.
struct Follower {
    child: Child,
    output: BufReader<ChildStdout>,
    printed: String,
}

impl Follower {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command();
        command.args(FOLLOW).arg("--follow");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output, printed: String::new() }
    }

    /// The next line, whole; `None` when no more will come.
    fn next(&mut self) -> Option<Value> {
        let start = self.printed.len();
        let read = self.output.read_line(&mut self.printed).unwrap();
        (read > 0).then(|| serde_json::from_str(self.printed[start..].strip_suffix('\n').unwrap()).unwrap())
    }

    fn until(&mut self, fits: impl Fn(&Value) -> bool) {
        while !fits(&self.next().unwrap_or_else(|| panic!("the stream ended:\n{}", self.printed))) {}
    }

    /// All that was printed, once it ends by itself.
    fn finish(mut self) -> String {
        while self.next().is_some() {}
        assert!(self.child.wait().unwrap().success());
        self.printed
    }
}

/// A run that was killed when a follower had seen such a line of it, and something else had come about.
fn killed_at(sandbox: &Sandbox, fits: impl Fn(&Value) -> bool, and_then: impl Fn(&Sandbox)) -> Follower {
    let mut steered = Steered::start(sandbox, &["look", "--approve", "full"]);
    // There is a run.
    steered.of_type("system");
    let mut follower = Follower::start(sandbox);
    follower.until(fits);
    and_then(sandbox);
    steered.signal("-KILL");
    assert!(!steered.stop_reading().wait().unwrap().success());
    follower
}

/// Each line once, in the order of the log, and one end. `complete` tells of a process, and a follower's says
/// nothing of the run.
fn assert_well_formed(sandbox: &Sandbox, printed: &str) -> Vec<Value> {
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| lines.iter().filter(|line| line["type"] == name).count();
    assert_eq!((of("result"), of("complete"), of("stoke.session.end")), (1, 0, 1), "{printed}");
    assert_eq!(lines.last().unwrap()["type"], "result", "{printed}");
    let mut names: Vec<_> = lines.iter().map(|line| line["uuid"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), lines.len(), "no line comes twice: {printed}");
    let seqs = lines.iter().map(|line| line.get("seq").or(line.get("_stoke.dev/seq")).unwrap().as_u64().unwrap());
    assert!(seqs.is_sorted(), "{printed}");
    assert_eq!(sandbox.ok(&FOLLOW), printed, "whoever comes later sees the same");
    lines
}

#[test]
fn stoke_02_a_follower_sees_one_whole_stream_although_the_worker_is_killed_and_another_goes_on() {
    let sandbox = project(WAITS);
    let follower = killed_at(&sandbox, |line| line["message"]["content"][0]["text"] == "I wait.", until_it_waits);
    sandbox.ok(&["resume", "last", "--json"]);
    let lines = assert_well_formed(&sandbox, &follower.finish());
    let last = lines.last().unwrap();
    assert_eq!((&last["subtype"], &last["result"]), (&"success".into(), &"It says hello.".into()), "{last}");
    let answers: Vec<_> = lines.iter().filter(|line| line["type"] == "user").collect();
    assert_eq!(answers.len(), 2, "each call is answered once: {answers:?}");
    assert_eq!(answers[1]["message"]["content"][0]["is_error"], true, "nobody knows what became of it: {answers:?}");
}

#[test]
fn stoke_02_a_follower_sees_the_end_of_a_run_that_is_cancelled_after_its_worker_was_killed() {
    let sandbox = project(&format!("turns: [{{ text: {}, chunk_chars: 1, delay_ms: 200 }}]", "x".repeat(3_000)));
    let follower = killed_at(&sandbox, |line| line["event"]["type"] == "content_block_delta", |_| {});
    sandbox.ok(&["cancel", "last"]);
    let lines = assert_well_formed(&sandbox, &follower.finish());
    let last = lines.last().unwrap();
    assert_eq!((&last["subtype"], &last["is_error"]), (&"error_during_execution".into(), &true.into()), "{last}");
    let aborted: Vec<_> = lines.iter().filter(|line| line["type"] == "mission.aborted").collect();
    assert_eq!((aborted.len(), &aborted[0]["reason"]), (1, &"operator".into()));
}
