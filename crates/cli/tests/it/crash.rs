//! `r1 demo`, whole and killed half way.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Sandbox, text};

/// The project after the agent was there.
const MENDED: &str = "\
if [ $((year % 400)) -eq 0 ]; then
    echo yes
elif [ $((year % 100)) -eq 0 ]; then
    echo no
elif [ $((year % 4)) -eq 0 ]; then
    echo yes
";

/// A demo that is under way, at a pace at which it can be caught.
struct Demo {
    sandbox: Sandbox,
    child: Child,
}

impl Demo {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command();
        command.args(["demo", "--dir", "leap", "--pace", "human"]).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.env("PATH", std::env::var_os("PATH").unwrap()).spawn().unwrap();
        Self { sandbox, child }
    }

    /// Kills it as soon as its log tells of such an event.
    fn kill_at(&mut self, type_name: &str, times: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.events().iter().filter(|event| event["type"] == type_name).count() < times {
            assert!(self.child.try_wait().unwrap().is_none(), "the demo ended before {times} {type_name}");
            assert!(Instant::now() < deadline, "no {type_name} within a minute");
            std::thread::yield_now();
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn events(&self) -> Vec<Value> {
        let shown = self.sandbox.r1(&["log", "show", "last", "--json"]).stdout;
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn script(&self) -> String {
        fs::read_to_string(self.sandbox.path("leap/leap.sh")).unwrap()
    }
}

/// Calls of one turn end in any order: their lines are put into one.
fn settled(shown: &str) -> String {
    let mut lines: Vec<_> = shown.lines().collect();
    let ends_a_call = |line: &str| line.starts_with('─') && !line.starts_with("──") || line.contains("tool.completed");
    let said = |line: &str| line.trim_start_matches(|c: char| c.is_ascii_digit() || " :.".contains(c)).to_owned();
    for group in lines.chunk_by_mut(|a, b| ends_a_call(a) && ends_a_call(b)) {
        group.sort_by_key(|line| said(line));
    }
    lines.join("\n")
}

fn resume_and_check(demo: &Demo) {
    let before = demo.events();
    assert!(before.iter().all(|event| event["type"] != "run.finished"), "it was killed before its end");
    let resumed = demo.sandbox.r1_in_world(&["resume"]);
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.stdout, resumed.stderr);
    let header = format!("r1 {} · scripted/demo\n", before[0]["run_id"].as_str().unwrap());
    assert!(resumed.stdout.starts_with(&header), "it says what it goes on with:\n{}", resumed.stdout);
    assert!(resumed.stdout.contains("/leap\n\n! the process that worked on this run is gone\n"), "{}", resumed.stdout);
    let after = demo.events();
    assert_eq!(after[..before.len()], before, "nothing of what was written is lost or changed");
    assert_eq!(after.last().unwrap()["type"], "run.finished");
    assert!(after.iter().any(|event| event["type"] == "run.resumed"), "the log says where it was cut");
    let mut begun: HashMap<String, usize> = HashMap::new();
    for event in after.iter().filter(|event| event["type"] == "tool.started") {
        let data = &event["data"];
        if data["kind"] == "shell" {
            *begun.entry(data["tool_call_id"].to_string()).or_default() += 1;
        }
    }
    assert!(begun.values().all(|times| *times == 1), "a program ran twice: {begun:?}");
    let applied = after.iter().filter(|event| event["type"] == "tool.edit.applied").count();
    assert_eq!((applied, demo.script().contains(MENDED)), (1, true), "{}", demo.script());
    assert_eq!(demo.sandbox.r1(&["log", "validate", "last"]).code, 0);
    let replayed = demo.sandbox.r1(&["replay", "last"]);
    assert_eq!(replayed.code, 0, "{}", replayed.stdout);
}

#[test]
fn a_demo_killed_while_the_model_speaks_is_finished_by_resume() {
    let mut demo = Demo::start();
    demo.kill_at("assistant.text_delta", 3);
    resume_and_check(&demo);
}

#[test]
fn a_run_whose_worker_is_gone_is_not_called_running() {
    let mut demo = Demo::start();
    demo.kill_at("assistant.text_delta", 3);
    let status = || {
        let runs: Value = serde_json::from_str(&demo.sandbox.ok(&["runs", "--json"])).unwrap();
        runs["runs"][0]["status"].clone()
    };
    assert_eq!(status(), "running", "its lease has not run out");
    let store = rusqlite::Connection::open(demo.sandbox.home().join("r1.db")).unwrap();
    store.execute("UPDATE leases SET until = 1", []).unwrap();
    assert_eq!(status(), "queued");
}

#[test]
fn a_demo_killed_when_a_program_has_begun_is_finished_by_resume_and_the_program_is_not_run_twice() {
    let mut demo = Demo::start();
    demo.kill_at("tool.shell.command", 1);
    resume_and_check(&demo);
}

#[test]
fn a_demo_killed_at_the_question_is_finished_by_resume() {
    let mut demo = Demo::start();
    demo.kill_at("approval.requested", 1);
    resume_and_check(&demo);
}

#[test]
fn a_demo_killed_right_after_the_edit_is_finished_by_resume_and_the_edit_is_made_once() {
    let mut demo = Demo::start();
    demo.kill_at("tool.edit.applied", 1);
    resume_and_check(&demo);
}

#[test]
fn the_demo_mends_a_real_project_and_leaves_a_run_to_look_at() {
    let sandbox = Sandbox::new();
    let started = Instant::now();
    let shown = sandbox.r1_in_world(&["demo", "--dir", "leap"]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(shown.code, 0, "{}\n{}", shown.stdout, shown.stderr);
    assert!(!shown.stdout.contains("not found"), "{}", shown.stdout);
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"run_[0-9A-Z]{26}", "run_<ULID>");
    settings.add_filter(r"(apr|art|call)_[0-9A-Z]{26}", "${1}_<ULID>");
    settings.add_filter(r"kid:[\w-]{43}", "kid:<KEY>");
    settings.add_filter(r"kid:[\w-]{8} ", "kid:<KEY> ");
    settings.add_filter(r"/\S+/receipts/", "<HOME>/receipts/");
    settings.add_filter(r"[0-9a-f]{24,}", "<HASH>");
    settings.add_filter(r"\d\d:\d\d:\d\d\.\d{3}", "<TIME>");
    settings.add_filter(r"/\S+/leap\b", "<DIR>/leap");
    settings.add_filter(r"\d+(\.\d)? m?s\b", "<SPAN>");
    settings.add_filter(r"(?m)^ *\d+  <TIME>", "     <N>  <TIME>");
    // How text and output are cut into events is up to the machine, and so is the sandbox.
    settings.add_filter(r"\d+ ((other )?events|decisions)\b", "<N> $1");
    settings.add_filter(r"event \d+", "event <N>");
    settings.add_filter(r"<SPAN> · (bwrap|landlock|no sandbox)", "<SPAN> · <SANDBOX>");
    settings.bind(|| insta::assert_snapshot!("demo", settled(&shown.stdout)));
    let script: PathBuf = sandbox.path("leap/leap.sh");
    assert!(fs::read_to_string(script).unwrap().contains(MENDED));
    assert_eq!(sandbox.r1(&["replay", "last"]).code, 0);
    let verdict = sandbox.json(&["log", "validate", "last", "--json"]);
    assert!(verdict["runs"][0]["sealed_by"].is_string(), "{verdict}");

    // The receipt holds for someone who has nothing but the file and the public key.
    let receipt = fs::read_dir(sandbox.home().join("receipts")).unwrap().next().unwrap().unwrap().path();
    let kid = sandbox.json(&["key", "list", "--json"])["keys"][0]["kid"].as_str().unwrap().to_owned();
    sandbox.ok(&["key", "export", &kid, "-o", "key.json"]);
    let told = Sandbox::new().ok(&["receipt", "verify", text(&receipt), "--key", text(&sandbox.path("key.json"))]);
    assert!(told.starts_with("receipt verify: VALID"), "{told}");
    for part in
        ["read      leap.sh, test.sh", "wrote     leap.sh", "ran       sh test.sh", "allowed   edit by operator:"]
    {
        assert!(told.contains(part), "`{part}` is not in:\n{told}");
    }
}

#[test]
fn a_demo_makes_no_project_where_something_is() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("leap")).unwrap();
    sandbox.r1(&["demo", "--dir", "leap"]).fails(2, "leap is there already");
}
