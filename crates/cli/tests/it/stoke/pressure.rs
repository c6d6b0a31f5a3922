//! A reader that stops in the middle.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{command, project};
use crate::support::Sandbox;

/// Each character is an event.
const EVENTS: usize = 100_000;

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// The most memory that a process ever had, in KiB.
fn most_memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
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
#[cfg(target_os = "linux")]
fn stoke_07_a_stopped_reader_neither_holds_up_a_run_nor_fills_memory() {
    let sandbox = project(&format!("turns: [{{ text: {}, chunk_chars: 1 }}]", "x".repeat(EVENTS)));
    let mut run = command(&sandbox, &["speak", "--include-partial-messages"]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let page = File::create(sandbox.path("page")).unwrap();
    let mut reader = Command::new("cat").stdin(run.stdout.take().unwrap()).stdout(page).spawn().unwrap();
    signal(&reader, "-STOP");
    let logged = logged(&sandbox, Instant::now() + Duration::from_secs(30));
    let memory = most_memory(&run);
    signal(&reader, "-CONT");
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(reader.wait().unwrap().success());

    let page = fs::read_to_string(sandbox.path("page")).unwrap();
    let dropped = page.lines().filter(|line| is_dropped(line));
    let dropped =
        dropped.map(|line| serde_json::from_str::<Value>(line).unwrap()["_stoke.dev/count"].as_u64().unwrap());
    let (printed, dropped) = (page.lines().filter(|line| is_partial(line)).count(), dropped.sum::<u64>());
    let all = logged.lines().filter(|line| is_partial(line)).count();
    assert!(all > EVENTS && dropped > 0, "{dropped} of {all} were dropped");
    assert_eq!(printed as u64 + dropped, all as u64, "every one is accounted for");
    let rest = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !is_partial(line) && !is_dropped(line)).map(str::to_owned).collect()
    };
    let (mut seen, logged) = (rest(&page), rest(&logged));
    assert!(seen.pop().is_some_and(|last| last.contains(r#""type":"complete""#)));
    assert_eq!(seen, logged, "nothing else is missing");
    // All lines of the run are 40 MB and more.
    assert!(memory < 160 << 10, "{memory} KiB");
}
