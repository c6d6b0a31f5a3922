//! A reader that stops in the middle.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{command, project};
use crate::support::Sandbox;

/// Each is a dozen events, most of them with pieces of the answer.
const TURNS: usize = 300;

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// The lines of the run once it has ended, as its log tells them.
fn logged(sandbox: &Sandbox, deadline: Instant) -> String {
    loop {
        let args = ["tail", "last", "--output-format", "stream-json", "--include-partial-messages", "--follow"];
        let tail = sandbox.r1(&args);
        if tail.code == 0 {
            return tail.stdout;
        }
        assert!(Instant::now() < deadline, "no run: {}", tail.stderr);
    }
}

fn is_partial(line: &str) -> bool {
    line.contains(r#""type":"stream_event""#)
}

fn is_dropped(line: &str) -> bool {
    line.contains(r#""subtype":"stream.dropped""#)
}

#[test]
#[cfg(unix)]
fn stoke_07_a_stopped_reader_does_not_hold_up_a_run_and_gets_all_that_matters() {
    let turn = "  - { text: I look again., tool_calls: [{ tool: file_read, input: { path: note.txt } }] }\n";
    let sandbox = project(&format!("turns:\n{}  - text: Done.\n", turn.repeat(TURNS)));
    let mut run = command(&sandbox, &["look", "--include-partial-messages", "--max-turns", "1000"]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let page = File::create(sandbox.path("page")).unwrap();
    let mut reader = Command::new("cat").stdin(run.stdout.take().unwrap()).stdout(page).spawn().unwrap();
    signal(&reader, "-STOP");
    let logged = logged(&sandbox, Instant::now() + Duration::from_secs(30));
    signal(&reader, "-CONT");
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(reader.wait().unwrap().success());

    let page = fs::read_to_string(sandbox.path("page")).unwrap();
    let dropped = page.lines().filter(|line| is_dropped(line));
    let dropped =
        dropped.map(|line| serde_json::from_str::<Value>(line).unwrap()["_stoke.dev/count"].as_u64().unwrap());
    let (printed, dropped) = (page.lines().filter(|line| is_partial(line)).count(), dropped.sum::<u64>());
    let all = logged.lines().filter(|line| is_partial(line)).count();
    assert!(all > 8 * TURNS && dropped > 1_000, "{dropped} of {all} were dropped");
    assert_eq!(printed as u64 + dropped, all as u64, "every one is accounted for");
    let rest = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !is_partial(line) && !is_dropped(line)).map(str::to_owned).collect()
    };
    let (mut seen, logged) = (rest(&page), rest(&logged));
    assert!(seen.pop().is_some_and(|last| last.contains(r#""type":"complete""#)));
    assert_eq!(seen, logged, "nothing else is missing");
}
