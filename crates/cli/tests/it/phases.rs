//! `r1 run --phases`: the example, and people at its gates.

use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_runtime::agent::PhasePlan;
use r1_runtime::gate::Preset;
use serde_json::{Value as Json, json};

use crate::approval::{question, wanted_with, work};
use crate::support::{Outcome, Sandbox, text};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/phases");

/// The example's project, committed.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let project = sandbox.path("project");
    fs::create_dir_all(project.join(".stoke")).unwrap();
    for file in ["greet.sh", "test.sh", ".stoke/gates.yaml"] {
        fs::copy(Path::new(EXAMPLE).join("project").join(file), project.join(file)).unwrap();
    }
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "-qm", "start"]);
    sandbox
}

fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(directory).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(sandbox: &Sandbox, scenario: &Path, more: &[&str]) -> Outcome {
    let args =
        ["run", "greet the world", "-C", "project", "--phases", "--approve", "full", "--scenario", text(scenario)];
    sandbox.r1_in_world(&[&args, more].concat())
}

#[test]
fn stoke_22_the_example_goes_through_its_phases_and_its_receipt_is_valid() {
    let sandbox = project();
    let Outcome { code, stdout, stderr } = run(&sandbox, &Path::new(EXAMPLE).join("scenario.yaml"), &[]);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    let shown: Vec<_> = stdout.lines().filter(|line| line.contains('▸') || line.contains("refused")).collect();
    let words = ["PLAN", "EXECUTE", "VERIFY", "VERIFY>COMMIT refused", "EXECUTE", "VERIFY", "COMMIT", "END"];
    assert_eq!(shown.len(), words.len(), "{stdout}");
    for (line, word) in shown.iter().zip(words) {
        assert!(line.contains(word), "{line}: {word}\n{stdout}");
    }
    assert!(stdout.contains("✗ VERIFY.exit/tests below threshold"), "{stdout}");
    assert!(stdout.contains("FAILED: expected 'Hello, world'"), "the person sees what the gate saw\n{stdout}");
    let left = git(&sandbox.path("project"), &["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(left, "", "what R1 writes beside the work is nothing to commit");
    let log = git(&sandbox.path("project"), &["log", "--format=%s"]);
    assert_eq!(log, "Greet the world if nobody is named\nstart\n");
    sandbox.ok(&["receipt", "create", "last", "-o", "run.receipt.json"]);
    let told = sandbox.ok(&["receipt", "verify", "run.receipt.json"]);
    assert!(told.starts_with("receipt verify: VALID\n"), "{told}");
    sandbox.ok(&["replay", "last"]);
}

#[test]
fn stoke_23_a_task_succeeds_in_a_working_tree_that_is_not_clean() {
    let sandbox = project();
    fs::write(sandbox.path("project/notes.txt"), "buy milk\n").unwrap();
    let Outcome { code, stdout, stderr } = run(&sandbox, &Path::new(EXAMPLE).join("scenario.yaml"), &[]);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    let project = sandbox.path("project");
    assert_eq!(git(&project, &["show", "--format=", "--name-only"]), "greet.sh\n");
    assert_eq!(git(&project, &["status", "--porcelain", "--", "notes.txt"]), "?? notes.txt\n");
    sandbox.ok(&["replay", "last"]);
}

#[test]
fn stoke_28_the_statement_of_the_example_names_its_commit_and_no_file_by_the_hash_of_a_diff() {
    let sandbox = project();
    assert_eq!(run(&sandbox, &Path::new(EXAMPLE).join("scenario.yaml"), &[]).code, 0);
    let commit = git(&sandbox.path("project"), &["rev-parse", "HEAD"]).trim().to_owned();
    let made = sandbox.json(&["receipt", "create", "last", "--export", "dsse", "--json"]);
    let read = |name: &Json| -> Json {
        serde_json::from_slice(&fs::read(sandbox.path(name.as_str().unwrap())).unwrap()).unwrap()
    };
    let receipt = read(&made["file"]);
    let events = receipt["events"].as_array().unwrap();
    let node = events.iter().find(|event| event["body"]["kind"] == "commit").unwrap();
    assert_eq!((&node["body"]["commit"], &node["body"]["phase"]), (&json!(commit), &json!("COMMIT")));
    let origin = events.iter().find(|event| event["id"] == node["preds"][0]).unwrap();
    assert_eq!((&origin["type"], &origin["body"]["tool"]), (&json!("TOOL_CALL"), &json!("git")));
    let envelope = read(&made["exports"][0]);
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let statement: Json = serde_json::from_slice(&payload).unwrap();
    let subjects = &statement["subject"].as_array().unwrap()[1..];
    assert_eq!(subjects, [json!({ "name": format!("git:{commit}"), "digest": { "gitCommit": commit } })]);
}

const MAYOR: &str = "  - { id: mayor, threshold: 1, blocker: true, at: [PLAN.exit], command: exit 10 }\n";

#[test]
fn where_nobody_can_be_asked_the_run_fails_and_names_the_gate() {
    let sandbox = project();
    let gates = fs::read_to_string(sandbox.path("project/.stoke/gates.yaml")).unwrap();
    fs::write(sandbox.path("gates.yaml"), gates + MAYOR).unwrap();
    fs::write(sandbox.path("short.yaml"), "{turns: [], default: {text: done}}").unwrap();
    let preset = sandbox.path("gates.yaml");
    let Outcome { code, stdout, stderr } = run(&sandbox, &sandbox.path("short.yaml"), &["--gates", text(&preset)]);
    assert_eq!(code, 1, "{stdout}\n{stderr}");
    assert!(stdout.contains("nobody is there to answer for PLAN.exit/mayor"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stoke_25_an_override_shows_in_the_verified_receipt_with_name_and_reason() {
    let sandbox = Sandbox::new();
    let always = "  - { id: always, threshold: 1, blocker: true, command: 'true', at: [PLAN.entry, PLAN.exit, EXECUTE.entry, \
         EXECUTE.exit, VERIFY.entry, VERIFY.exit, COMMIT.entry, COMMIT.exit] }\n";
    let yaml = format!("preset: town\ncomposite: {{ threshold: 0.5 }}\ngates:\n{always}{MAYOR}");
    let preset = Preset::parse(Path::new("gates.yaml"), yaml.as_bytes()).unwrap();
    let phases = PhasePlan { preset, reviewer: None, criteria: Vec::new(), is_git: false, commits_own_changes: true };
    let script = "{turns: [], default: {text: done}}";
    let (run, engine) = wanted_with(&sandbox, script, |spec| spec.phases = Some(phases)).await;
    let worker = work(run.clone(), engine);
    let asked = question(&sandbox).await;
    assert_eq!((&asked["kind"], &asked["approver"]), (&"gate".into(), &"human".into()));
    tokio::task::block_in_place(|| {
        let id = asked["approval_id"].as_str().unwrap();
        sandbox.r1(&["approve", id]).fails(2, "say why");
        sandbox.r1(&["gate", "override", "last", "clerk", "--reason", "x"]).fails(2, "PLAN.exit/mayor");
        sandbox.ok(&["gate", "override", "last", "mayor", "--reason", "the mayor is on holiday"]);
    });
    worker.await.unwrap();
    tokio::task::block_in_place(|| {
        sandbox.ok(&["receipt", "create", run.as_str(), "-o", "run.receipt.json"]);
        let told = sandbox.ok(&["receipt", "verify", "run.receipt.json"]);
        assert!(told.starts_with("receipt verify: VALID\n"), "{told}");
        assert!(told.contains("operator:tester") && told.contains("the mayor is on holiday"), "{told}");
        let shown = sandbox.ok(&["log", "show", "last"]);
        assert!(shown.contains("by tester: the mayor is on holiday"), "{shown}");
        assert!(shown.contains("PLAN.exit/mayor: escalate"), "{shown}");
    });
}

#[test]
fn wrong_gates_are_told_before_anything_is_made() {
    let sandbox = project();
    fs::write(sandbox.path("short.yaml"), "turns: []").unwrap();
    for (name, content, word) in [
        ("none.yaml", None, "there are no gates"),
        ("bad.yaml", Some("a: ["), "not YAML"),
        ("odd.yaml", Some("a: 1"), "no preset"),
    ] {
        let path = sandbox.path(name);
        content.into_iter().for_each(|content| fs::write(&path, content).unwrap());
        let Outcome { code, stderr, .. } = run(&sandbox, &sandbox.path("short.yaml"), &["--gates", text(&path)]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(word), "{name}: {stderr}");
    }
    let Outcome { code, .. } = sandbox.r1(&["run", "x", "--gates", "fast"]);
    assert_eq!(code, 2, "gates belong to phases");
    assert!(!sandbox.home().join("r1.db").exists());
}
