//! `r1 gate`: preparing a project, showing its gates, holding its files against them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::Sandbox;

/// Gates that need nothing but a shell.
const OWN: &str = "
preset: own
composite: {threshold: 0.5, weights: {policy: 0, scope: 0, checked: 1}}
gates:
  - {id: policy, threshold: 1, blocker: true}
  - {id: scope, threshold: 1, blocker: true}
  - {id: checked, threshold: 1, blocker: true, at: [VERIFY.exit], command: 'test -f checked.txt'}
";

/// A directory with a repository that has one commit.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("README.md"), "# A project\n").unwrap();
    fs::write(sandbox.path(".gitignore"), "/home/\n").unwrap();
    git(&sandbox.path(""), &["init", "--quiet"]);
    git(&sandbox.path(""), &["add", "--all"]);
    git(&sandbox.path(""), &["commit", "--quiet", "--message", "first"]);
    sandbox
}

fn git(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn stoke_24_a_project_is_prepared_once_and_what_is_there_stays() {
    let sandbox = project();
    sandbox.ok(&["gate", "init"]);
    assert_eq!(fs::read_to_string(sandbox.path(".stoke/.gitignore")).unwrap(), "ledger/\nr1.session*.json\n");
    let shown = sandbox.json(&["gate", "show", "--json"]);
    let built_in = sandbox.json(&["gate", "show", "--json", "--gates", "default"]);
    assert_eq!(shown["preset_hash"], built_in["preset_hash"]);
    assert_eq!(shown["configuration"], built_in["configuration"]);
    assert!(shown["source"].as_str().unwrap().ends_with(".stoke/gates.yaml"));

    fs::write(sandbox.path(".stoke/gates.yaml"), OWN).unwrap();
    let again = sandbox.r1(&["gate", "init", "--preset", "strict"]);
    assert_eq!(again.code, 0);
    assert!(again.stderr.contains("left as it is"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(sandbox.path(".stoke/gates.yaml")).unwrap(), OWN);
    assert_eq!(sandbox.json(&["gate", "show", "--json"])["configuration"]["preset"], "own");
}

#[test]
fn files_that_cannot_be_compared_are_one_error() {
    let sandbox = Sandbox::new();
    let outside = sandbox.r1_in_world(&["gate", "run"]);
    assert_eq!((outside.code, outside.stdout.as_str()), (2, ""), "{}", outside.stderr);
    assert_eq!(outside.stderr.matches("is under no version control").count(), 1, "{}", outside.stderr);
    assert!(outside.stderr.contains("hint: gates look at what changed since a commit"), "{}", outside.stderr);
    let lost = project().r1_in_world(&["gate", "run", "--base", "no-such", "--json"]);
    assert_eq!((lost.code, lost.stdout.as_str()), (2, ""), "{}", lost.stderr);
    assert_eq!(lost.stderr.matches("there is no revision `no-such`").count(), 1, "{}", lost.stderr);
}

#[test]
fn stoke_24_templates_mean_the_presets_they_are_made_of() {
    for name in ["default", "strict", "fast"] {
        let sandbox = project();
        sandbox.ok(&["gate", "init", "--preset", name]);
        let shown = sandbox.json(&["gate", "show", "--json"]);
        assert_eq!(shown["configuration"], sandbox.json(&["gate", "show", "--json", "--gates", name])["configuration"]);
    }
}

#[test]
fn stoke_24_gates_are_shown_for_people() {
    let sandbox = project();
    fs::write(sandbox.path("Cargo.toml"), "").unwrap();
    insta::assert_snapshot!("gate_show", sandbox.ok(&["gate", "show"]));
}

#[test]
fn stoke_24_missing_broken_and_malformed_presets_exit_with_2() {
    let sandbox = project();
    sandbox.r1(&["gate", "show", "--gates", "./none.yaml"]).fails(2, "there are no gates in");
    fs::write(sandbox.path("broken.yaml"), "gates: [").unwrap();
    let broken = sandbox.r1(&["gate", "show", "--gates", "broken.yaml"]);
    broken.fails(2, "broken.yaml is not YAML: ").fails(2, "line 1");
    assert!(!broken.stderr.contains("\\n"), "{}", broken.stderr);
    fs::write(sandbox.path("odd.yaml"), "gates: []").unwrap();
    sandbox.r1(&["gate", "run", "--gates", "odd.yaml"]).fails(2, "is no preset of gates");
    sandbox.r1(&["gate", "show", "--gates", "house"]).fails(2, "there is no preset `house`");
    sandbox.r1(&["gate", "run", "nothing"]).fails(2, "has no gate `nothing`; it has syntax, tests,");
    fs::create_dir(sandbox.path(".stoke")).unwrap();
    fs::write(sandbox.path(".stoke/gates.yaml"), "gates: [").unwrap();
    sandbox.r1(&["gate", "run"]).fails(2, "is not YAML");
}

#[test]
fn stoke_23_the_worst_verdict_is_the_exit_code_and_nothing_is_recorded() {
    let sandbox = project();
    fs::write(sandbox.path("own.yaml"), OWN).unwrap();
    let run = |more: &[&str]| sandbox.r1_in_world(&[&["gate", "run", "--gates", "own.yaml"], more].concat());

    let blocked = run(&[]);
    assert_eq!(blocked.code, 1, "{}\n{}", blocked.stdout, blocked.stderr);
    insta::assert_snapshot!("gate_run_blocked", blocked.stdout);
    assert_eq!(run(&["policy", "scope"]).code, 0);

    fs::write(sandbox.path("checked.txt"), "").unwrap();
    let passed = run(&["--json"]);
    assert_eq!(passed.code, 0, "{}\n{}", passed.stdout, passed.stderr);
    let report: Value = serde_json::from_str(&passed.stdout).unwrap();
    let said = |at: usize, key: &str| report["gates"][at][key].clone();
    assert_eq!(report["verdict"], "allow");
    assert_eq!((said(2, "gate_id"), said(2, "score"), said(2, "exit_code")), ("checked".into(), 1000.into(), 0.into()));
    assert_eq!((said(3, "gate_id"), said(3, "boundary")), ("composite".into(), "VERIFY.exit".into()));

    let asks = OWN.replace("test -f checked.txt", "exit 10");
    fs::write(sandbox.path("own.yaml"), asks).unwrap();
    assert_eq!(run(&["checked"]).code, 3);
    assert_eq!(run(&["composite"]).code, 3);

    assert!(!sandbox.home().exists(), "nothing is made where nothing is recorded");
    let clean = Command::new("git").current_dir(sandbox.path("")).args(["diff", "--cached", "--quiet"]).status();
    assert!(clean.unwrap().success());
}

#[test]
fn stoke_23_a_criterion_given_on_the_command_line_counts_as_a_test() {
    let sandbox = project();
    let accept = |command: &str| sandbox.r1_in_world(&["gate", "run", "tests", "--accept", command]);
    assert_eq!(accept("test -f README.md").code, 0);
    assert_eq!(accept("test -f missing").code, 1);
    assert_eq!(sandbox.r1_in_world(&["gate", "run", "tests"]).code, 3);
    assert_eq!(sandbox.r1_in_world(&["gate", "run", "review"]).code, 3);
    sandbox.r1_in_world(&["gate", "run", "review", "--reviewer", "gpt"]).fails(2, "names no model");
}

/// A receipt of a task that went as far as PLAN, and the key that signed it.
const RECEIPT: &[u8] = include_bytes!("../../../receipt/tests/fixtures/vector_b.receipt.json");
const KEY: &str = r#"{"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

#[test]
fn stoke_24_a_verifier_demands_the_gates_of_a_preset_of_its_own() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("task.receipt.json"), RECEIPT).unwrap();
    fs::write(sandbox.path("key.json"), KEY).unwrap();
    let verify =
        |gates: &str| sandbox.r1(&["receipt", "verify", "task.receipt.json", "--key", "key.json", "--gates", gates]);
    assert_eq!(verify("strict").code, 0, "{}", verify("strict").stdout);
    fs::write(sandbox.path("own.yaml"), OWN).unwrap();
    assert_eq!(verify("own.yaml").code, 0);
    fs::write(sandbox.path("own.yaml"), OWN.replace("at: [VERIFY.exit]", "at: [PLAN.entry]")).unwrap();
    let unmet = verify("own.yaml");
    assert_eq!((unmet.code, unmet.stdout.lines().next()), (1, Some("receipt verify: INVALID gate_policy_unmet")));
    fs::write(sandbox.path("own.yaml"), "gates: []").unwrap();
    verify("own.yaml").fails(2, "is no preset of gates");
    verify("none.yaml").fails(2, "there are no gates in");
}
