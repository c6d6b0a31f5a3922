//! `r1 memory` and `r1 skill new`, and what agents make of it.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::support::{Outcome, Sandbox};

fn project(scenario: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("project")).unwrap();
    fs::write(sandbox.path("scenario.yaml"), scenario).unwrap();
    sandbox
}

fn run(sandbox: &Sandbox) -> Outcome {
    sandbox.r1(&["run", "go on", "-C", "project", "--scenario", "scenario.yaml", "--approve", "full"])
}

#[test]
fn what_an_operator_sets_and_an_agent_learns_is_there_for_both() {
    let sandbox = project(
        "
turns:
  - tool_calls:
      - { tool: memory_get, input: { tier: L0, key: name } }
      - { tool: memory_put, input: { tier: L1, key: plan, value: { steps: 2 } } }
      - { tool: memory_put, input: { tier: L3, value: tests run with ./test, alias: how to test } }
  - text: Done.
",
    );
    sandbox.ok(&["memory", "set", "-C", "project", "--tier", "L0", "name", "Ada"]);
    let Outcome { code, stdout, stderr } = run(&sandbox);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert_eq!(sandbox.ok(&["memory", "get", "-C", "project", "-t", "L3", "how to test"]), "tests run with ./test");
    let plan = sandbox.json(&["memory", "get", "--run", "last", "-t", "L1", "plan", "--json"]);
    assert_eq!(
        (&plan["value"]["steps"], &plan["store"], &plan["form"]),
        (&2.into(), &"episodic".into(), &"json".into())
    );
    let listed = sandbox.json(&["memory", "list", "-C", "project", "--json"]);
    let keys: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap()).collect();
    assert_eq!((keys.len(), keys[0], keys[1]), (3, "name", "how to test"));
    assert!(sandbox.ok(&["memory", "list", "--run", "last"]).contains("plan"));

    sandbox.r1(&["memory", "set", "--run", "last", "-t", "L1", "plan", "late"]).fails(1, "can only be read");
    sandbox.r1(&["memory", "get", "-C", "project", "-t", "L0", "nothing"]).fails(1, "nothing under `nothing`");
    sandbox.r1(&["memory", "get", "-t", "L1", "plan"]).fails(2, "--run");
    sandbox.r1(&["memory", "get", "-t", "L9", "plan"]).fails(2, "none of L0, L1, L2, L3");
    sandbox.ok(&["memory", "rm", "-C", "project", "-t", "L0", "name"]);
    let history = sandbox.json(&["memory", "history", "-C", "project", "-t", "L0", "name", "--json"]);
    let ops: Vec<_> =
        history["versions"].as_array().unwrap().iter().map(|version| version["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["set", "delete"]);
    assert_eq!(sandbox.r1(&["log", "validate", "last"]).code, 0);
}

#[test]
fn bytes_come_back_as_they_were() {
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = (0..=255).collect();
    fs::write(sandbox.path("in.bin"), &bytes).unwrap();
    sandbox.ok(&["memory", "set", "--tier", "L0", "raw", "--file", "in.bin"]);
    sandbox.ok(&["memory", "get", "--tier", "L0", "raw", "--output", "out.bin"]);
    assert_eq!(fs::read(sandbox.path("out.bin")).unwrap(), bytes);

    let mut command = sandbox.command();
    command
        .args(["memory", "set", "--tier", "L3", "--alias", "long", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let long = "0123456789abcde\n".repeat(10_000);
    child.stdin.take().unwrap().write_all(long.as_bytes()).unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(printed.starts_with("sha256:"), "{printed}");
    assert_eq!(sandbox.ok(&["memory", "get", "--tier", "L3", "long"]), long);
    assert_eq!(sandbox.ok(&["memory", "get", "--tier", "L3", printed.trim()]), long);
}

const ANSWERS: &str = "
- skill.name: fix-tests
  skill.description: Fixes red tests
  skill.when: A test fails.
  skill.inputs: [the name of the test]
  skill.steps: [Run it., Fix it.]
  skill.tools: shell edit
  skill.examples:
  skill.limits: Never delete a test.
  skill.check: All tests pass.
- skill.description: Fixes failing tests, one at a time
";

#[test]
fn stoke_27_the_same_answers_make_the_same_skill() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("answers.yaml"), ANSWERS).unwrap();
    for directory in ["one", "two"] {
        let made = sandbox.json(&["skill", "new", directory, "--answers", "answers.yaml", "--json"]);
        assert_eq!(made["decisions"], 10);
        let receipt = sandbox.path(directory).join("r.json");
        sandbox.ok(&["receipt", "create", made["run_id"].as_str().unwrap(), "-o", receipt.to_str().unwrap()]);
        let verified = sandbox.json(&["receipt", "verify", receipt.to_str().unwrap(), "--json"]);
        assert_eq!(verified["types"]["SKILL_AUTHORING_DECISION"], 10, "{verified}");
    }
    let read = |directory: &str| fs::read(sandbox.path(directory).join("fix-tests/SKILL.md")).unwrap();
    assert_eq!(read("one"), read("two"));
    let text = String::from_utf8(read("one")).unwrap();
    assert!(text.contains("Fixes failing tests, one at a time") && !text.contains("red tests"), "{text}");

    // Once more into the same place changes nothing; another text is never overwritten.
    sandbox.ok(&["skill", "new", "one", "--answers", "answers.yaml"]);
    fs::write(sandbox.path("one/fix-tests/SKILL.md"), "mine").unwrap();
    sandbox.r1(&["skill", "new", "one", "--answers", "answers.yaml"]).fails(2, "is there already");
}

#[test]
fn answers_that_are_missing_or_wrong_are_named() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("few.yaml"), "skill.name: x").unwrap();
    sandbox.r1(&["skill", "new", "--answers", "few.yaml"]).fails(2, "nobody answered skill.description, skill.when");
    fs::write(sandbox.path("bad.yaml"), "skill.name: Not a Name").unwrap();
    sandbox.r1(&["skill", "new", "--answers", "bad.yaml"]).fails(2, "cannot be taken");
    sandbox.r1(&["skill", "new", "--auto", "--scenario", "few.yaml"]).fails(2, "does not know what the skill is for");
}

#[test]
fn a_model_answers_what_is_open_and_that_is_told() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("few.yaml"), "skill.name: x\nskill.description: does x").unwrap();
    let ids = ["when", "inputs", "steps", "tools", "examples", "limits", "check"];
    let answers: Vec<_> =
        ids.iter().map(|id| format!(r#""skill.{id}":{{"answer":"my {id}","confidence":700}}"#)).collect();
    let scenario = format!("turns:\n  - text: 'Here: {{{}}}'\n    cost_micros_usd: 12\n", answers.join(","));
    fs::write(sandbox.path("scenario.yaml"), scenario).unwrap();
    let args = ["skill", "new", "--answers", "few.yaml", "--auto", "--scenario", "scenario.yaml", "--json"];
    let made = sandbox.json(&args);
    let log = sandbox.ok(&["log", "show", made["run_id"].as_str().unwrap(), "--json"]);
    let events: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let proposed = events.iter().filter(|event| event["data"]["mode"] == "llm-best-judgment");
    assert_eq!(
        proposed.filter(|event| event["data"]["confidence"] == 700 && event["data"]["confirmed"] == true).count(),
        7
    );
    assert_eq!(events.iter().filter(|event| event["type"] == "turn.completed").count(), 1, "{log}");
    assert!(fs::read_to_string(sandbox.path("x/SKILL.md")).unwrap().contains("1. my steps"));
    assert_eq!(sandbox.r1(&["log", "validate", made["run_id"].as_str().unwrap()]).code, 0);
}

#[test]
fn what_operators_did_is_listed_only_where_it_is_asked_for() {
    let sandbox = project("turns: [{ text: Done. }]");
    let listed =
        |args: &[&str]| sandbox.json(&[&["runs", "--json"], args].concat())["runs"].as_array().unwrap().clone();
    let set = |key: &str| sandbox.ok(&["memory", "set", "-C", "project", "--tier", "L0", key, "Ada"]);
    set("name");
    let alone = sandbox.r1(&["runs"]);
    assert_eq!((alone.code, alone.stdout.as_str()), (0, ""));
    assert!(alone.stderr.contains("no runs but those of operators"), "{}", alone.stderr);
    assert!(alone.stderr.contains("1 operator run is not shown"), "{}", alone.stderr);
    assert!(listed(&[]).is_empty());

    assert_eq!(run(&sandbox).code, 0);
    set("city");
    let shown = sandbox.r1(&["runs"]);
    assert_eq!(shown.stdout.lines().count(), 2, "a head and the one run: {}", shown.stdout);
    assert!(shown.stderr.contains("2 operator runs are not shown"), "{}", shown.stderr);
    assert!(shown.stderr.contains("r1 runs --kind operator"), "{}", shown.stderr);
    let rows = listed(&["--limit", "1"]);
    assert_eq!((rows.len(), &rows[0]["kind"], &rows[0]["goal"]), (1, &"agent_loop".into(), &"go on".into()));
    let own = listed(&["--kind", "operator"]);
    assert_eq!((own.len(), &own[0]["kind"]), (2, &"operator".into()));
    let told = sandbox.r1(&["runs", "--kind", "operator"]);
    assert!(!told.stderr.contains("not shown"), "{}", told.stderr);
    assert!(sandbox.r1(&["runs", "--kind", "shell"]).stderr.contains("no runs of the kind `shell`"));
}
