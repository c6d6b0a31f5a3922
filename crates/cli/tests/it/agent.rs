//! `r1 run` and what follows it: a scripted agent with real files and real programs.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Outcome, Sandbox};

const READS: &str = "
turns:
  - text: I look.
    tool_calls: [{ tool: file_read, input: { path: note.txt } }]
    usage: { input_tokens: 100, output_tokens: 10 }
    cost_micros_usd: 1500
  - text: It says hello.
    usage: { input_tokens: 20, output_tokens: 5 }
    cost_micros_usd: 500
";

const EDITS: &str = "
turns:
  - tool_calls: [{ tool: edit, input: { path: note.txt, old_string: hello, new_string: goodbye } }]
  - text: Done.
";

/// A project with one file, and a scenario.
fn project(scenario: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("project")).unwrap();
    fs::write(sandbox.path("project/note.txt"), "hello\n").unwrap();
    fs::write(sandbox.path("scenario.yaml"), scenario).unwrap();
    sandbox
}

fn run(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    let args = ["run", "look at the note", "-C", "project", "--scenario", "scenario.yaml"];
    sandbox.r1(&[&args, more].concat())
}

fn note(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("project/note.txt")).unwrap()
}

fn types(sandbox: &Sandbox) -> Vec<String> {
    let events = sandbox.ok(&["log", "show", "last", "--json"]);
    events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().into()).collect()
}

#[test]
fn a_run_is_shown_as_it_happens_and_kept() {
    let sandbox = project(READS);
    let Outcome { code, stdout, stderr } = run(&sandbox, &[]);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"run_[0-9A-Z]{26}", "run_<ULID>");
    settings.add_filter(r"in /\S+/project", "in <DIR>/project");
    settings.add_filter(r"\d+(\.\d)? m?s\b", "<TIME>");
    settings.bind(|| insta::assert_snapshot!("run", stdout));
    assert_eq!(sandbox.r1(&["log", "validate", "last"]).code, 0);
    let replayed = sandbox.json(&["replay", "last", "--json"]);
    assert_eq!((&replayed["equal"], replayed["compared"].as_u64() > Some(5)), (&true.into(), true), "{replayed}");
}

#[test]
fn a_script_gets_one_line_of_json_and_an_exit_code() {
    let sandbox = project(READS);
    let Outcome { code, stdout, .. } = run(&sandbox, &["--json"]);
    assert_eq!((code, stdout.lines().count()), (0, 1), "{stdout}");
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result["type"], "result");
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["result"], "It says hello.");
    assert_eq!(result["num_turns"], 2);
    assert!(stdout.contains(r#""total_cost_usd":0.002,"#), "{stdout}");
    assert_eq!(result["usage"]["input_tokens"], 120);
    let session = result["session_id"].as_str().unwrap();
    assert!(sandbox.ok(&["log", "show", session, "--to", "1"]).contains("look at the note"), "the id finds the run");
}

#[test]
fn where_nobody_can_be_asked_it_is_refused_unless_a_mode_allows_it() {
    let sandbox = project(EDITS);
    let refused = run(&sandbox, &["--json"]);
    let result: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(result["permission_denials"][0]["tool_name"], "edit", "{result}");
    assert_eq!(note(&sandbox), "hello\n");
    assert_eq!(run(&sandbox, &["--approve", "edits"]).code, 0);
    assert_eq!(note(&sandbox), "goodbye\n");
}

#[test]
fn an_edit_is_shown_as_a_diff() {
    let sandbox = project(EDITS);
    let shown = run(&sandbox, &["--approve", "edits"]).stdout;
    assert!(shown.contains("│ -hello") && shown.contains("│ +goodbye"), "{shown}");
}

#[test]
fn the_exit_code_says_how_a_run_ended() {
    let fails = "turns: [{ failures: [{ kind: status, status: 400, message: refused }] }]";
    assert_eq!(run(&project(fails), &[]).code, 1);
    let costly = READS.replace("1500", "1500000");
    let over = run(&project(&costly), &["--budget-usd", "1", "--json"]);
    assert_eq!(over.code, 4, "{}", over.stdout);
    assert!(over.stdout.contains(r#""subtype":"error_max_budget_usd""#), "{}", over.stdout);
    let long = run(&project(READS), &["--max-turns", "1", "--json"]);
    assert_eq!(long.code, 1);
    assert!(long.stdout.contains(r#""subtype":"error_max_turns""#), "{}", long.stdout);
}

#[test]
fn wrong_orders_are_refused_before_anything_is_made() {
    let sandbox = project(READS);
    let wrong = |args: &[&str], message: &str| {
        sandbox.r1(&[&["run", "do it"], args].concat()).fails(2, message);
        assert!(!sandbox.home().join("r1.db").exists(), "{args:?}");
    };
    wrong(&["--provider", "anthropic", "--model", "claude-sonnet-4-5"], "ANTHROPIC_API_KEY");
    wrong(&["--provider", "nobody", "--model", "x"], "there is no provider `nobody`");
    wrong(&[], "which model?");
    let name = "m".repeat(1025);
    wrong(&["--provider", "ollama", "--model", &name], "the name of the model has 1025 bytes");
    wrong(&["--scenario", "missing.yaml"], "cannot read missing.yaml");
    wrong(&["-C", "nowhere", "--scenario", "scenario.yaml"], "cannot work in nowhere");
    wrong(&["--scenario", "scenario.yaml", "--attach", "missing.png"], "cannot read missing.png");
    let missing_key = sandbox.r1(&["run", "x", "--provider", "openai", "--model", "gpt-5"]);
    insta::assert_snapshot!("error_missing_key", missing_key.stderr);
}

#[test]
fn a_prompt_can_come_from_standard_input() {
    let sandbox = project(READS);
    let mut child = sandbox
        .command()
        .args(["run", "-", "-C", "project", "--scenario", "scenario.yaml", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"read the note\nplease").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(sandbox.ok(&["log", "show", "last"]).contains("read the note please"));
}

#[test]
fn two_runs_can_be_compared() {
    let sandbox = project(READS);
    run(&sandbox, &["--json"]);
    let listed = sandbox.json(&["runs", "--json"])["runs"][0].clone();
    let first = listed["run_id"].as_str().unwrap().to_owned();
    for moment in ["started_at", "updated_at"] {
        let written: r1_protocol::data::Time = serde_json::from_value(listed[moment].clone()).unwrap();
        assert!(written.nanos().is_some_and(|at| at.0 > 0), "{listed}");
    }
    run(&sandbox, &["--json"]);
    let same = sandbox.r1(&["diff", &first, "last"]);
    assert_eq!(same.code, 0, "{}", same.stdout);
    fs::write(sandbox.path("project/note.txt"), "changed\n").unwrap();
    run(&sandbox, &["--json"]);
    let parted: Value = serde_json::from_str(&sandbox.r1(&["diff", &first, "last", "--json"]).stdout).unwrap();
    assert_eq!(parted["first_difference"]["a"]["kind"], "gets", "{parted}");
}

#[test]
fn a_failed_run_is_gone_on_with_in_a_new_one_and_a_task_can_begin_again() {
    let sandbox = project(READS);
    run(&sandbox, &["--max-turns", "1"]);
    let resumed = sandbox.r1(&["resume", "last", "--message", "go on"]);
    assert!(resumed.stdout.contains("goes on from"), "{}\n{}", resumed.stdout, resumed.stderr);
    assert!(types(&sandbox).contains(&"run.resumed_from_event".to_owned()));
    let retried = sandbox.r1(&["retry", "last"]);
    assert!(retried.stdout.contains("look at the note") || retried.stdout.contains("go on"), "{}", retried.stdout);
}

#[test]
fn a_run_is_forked_where_one_wants() {
    let sandbox = project(READS);
    run(&sandbox, &["--json"]);
    let forked = sandbox.r1(&["fork", "last", "--at", "3", "--message", "in one word"]);
    assert_eq!(forked.code, 0, "{}\n{}", forked.stdout, forked.stderr);
    assert!(forked.stdout.contains("forked from"), "{}", forked.stdout);
    sandbox.r1(&["fork", "last", "--at", "999"]).fails(2, "has no event 999");
    // `-m` is the model wherever there is one, and a sentence is none.
    sandbox.r1(&["fork", "last", "--at", "3", "-m", "in one word"]).fails(2, "`--message`");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_closed_in_order_with_all_that_it_started() {
    let waits = "turns: [{ tool_calls: [{ tool: shell, input: { argv: [sleep, '60'] } }] }]";
    let sandbox = project(waits);
    let mut command = sandbox.command();
    command.env("PATH", std::env::var_os("PATH").unwrap()).stdout(Stdio::null()).stderr(Stdio::null());
    command.args(["run", "wait", "-C", "project", "--scenario", "scenario.yaml", "--approve", "full"]);
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !sandbox.r1(&["log", "show", "last"]).stdout.contains("tool.shell.command") {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "the program never began");
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let types = types(&sandbox);
    assert!(types.contains(&"tool.cancelled".to_owned()), "{types:?}");
    assert_eq!(types.last().unwrap(), "run.cancelled");
    assert_eq!(sandbox.r1(&["log", "validate", "last"]).code, 0);
    sandbox.r1(&["send", "last", "hello?"]).fails(2, "the run has ended");
    assert_eq!(sandbox.r1(&["cancel", "last"]).code, 0, "it had ended already");
}

#[test]
fn where_nothing_waits_approve_says_so() {
    let sandbox = project(EDITS);
    run(&sandbox, &["--json"]);
    let none = sandbox.json(&["approve", "--json"]);
    assert_eq!(none["approvals"].as_array().unwrap().len(), 0, "{none}");
    sandbox.r1(&["approve", "appr_01"]).fails(2, "no pending request matches `appr_01`");
}

#[test]
fn settings_are_written_once() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init"]);
    let written = fs::read_to_string(sandbox.path("r1.toml")).unwrap();
    assert!(written.lines().filter(|line| line.starts_with('#')).count() > 10, "{written}");
    sandbox.r1(&["init"]).fails(2, "r1.toml is there already");
}
