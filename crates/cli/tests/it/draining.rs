//! A server that is asked to end in the middle of its work, and one that goes on with it.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serving::{Serving, get, post};
use crate::support::Sandbox;

const RUNS: usize = 10;

/// Three turns that take their time.
const SCENARIO: &str = "turns:
  - {text: one, delay_ms: 150, tool_calls: [{tool: todo_write, input: {todos: []}}]}
  - {text: two, delay_ms: 150, tool_calls: [{tool: todo_write, input: {todos: []}}]}
  - {text: three, delay_ms: 150}
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.home()).unwrap();
    let script = sandbox.path("script.yaml");
    std::fs::write(&script, SCENARIO).unwrap();
    let settings = format!(
        "[run]\nprovider = \"script\"\n[providers.script]\nwire = \"scripted\"\nscenario = {:?}\n",
        script.to_str().unwrap()
    );
    std::fs::write(sandbox.home().join("config.toml"), settings).unwrap();
    sandbox
}

fn ok(answer: (u16, String)) -> Value {
    assert_eq!(answer.0, 200, "{}", answer.1);
    serde_json::from_str(&answer.1).unwrap()
}

/// A run's events, once it has ended.
fn events(serving: &Serving, run: &str, token: &str) -> Vec<Value> {
    let path = format!("/hecate/v1/runs/{run}/events?format=ndjson&follow=true");
    let (status, lines) = get(serving.url(), &path, token);
    assert_eq!(status, 200, "{lines}");
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn ep_19_a_server_that_is_terminated_under_load_fails_nothing_and_another_finishes_all() {
    let sandbox = sandbox();
    let first = Serving::start(&sandbox, &["--workers", "4"]);
    let token = first.said["token"].as_str().unwrap().to_owned();
    let make = |number: usize| {
        let wanted = json!({ "prompt": format!("number {number}") });
        let task = ok(post(first.url(), "/hecate/v1/tasks", &token, &wanted));
        task["data"]["latest_run_id"].as_str().unwrap().to_owned()
    };
    let runs: Vec<_> = (0..RUNS).map(make).collect();
    let is_busy = || {
        let running = ok(get(first.url(), "/hecate/v1/runs?status=running", &token));
        running["data"].as_array().unwrap().iter().any(|run| run["turns"] == 1)
    };
    while !is_busy() {
        std::thread::yield_now();
    }
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), 0);

    let second = Serving::start(&sandbox, &["--workers", "4"]);
    let mut handed_over = 0;
    for run in &runs {
        let events = events(&second, run, &token);
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types.last(), Some(&"run.finished"), "{run}: {types:?}");
        assert!(!types.contains(&"run.cancelled") && !types.contains(&"run.failed"), "{run}: {types:?}");
        assert!(!types.contains(&"gap.run_disconnected"), "nothing was lost, all was handed over: {types:?}");
        handed_over += types.iter().filter(|name| **name == "run.handed_over").count();
    }
    assert!(handed_over > 0, "the first server had work when it was terminated");
}

#[test]
fn what_was_left_behind_is_finished_by_resume_all() {
    let sandbox = sandbox();
    let mut serving = Serving::start(&sandbox, &["--workers", "1"]);
    let token = serving.said["token"].as_str().unwrap().to_owned();
    for number in 0..3 {
        ok(post(serving.url(), "/hecate/v1/tasks", &token, &json!({ "prompt": format!("number {number}") })));
    }
    serving.kill();
    let outcome = sandbox.r1(&["resume", "--all"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no run is open"), "{}", outcome.stderr);
    sandbox.r1(&["resume", "--all", "last"]).fails(2, "cannot be used with");
}
