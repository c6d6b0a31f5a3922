//! Which key signs, as its user meets it.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Outcome, Sandbox, text};

const SAYS: &str = "turns: [{ text: done }]";

/// A project that wants its receipts to be signed by a key of its own, which is not the newest.
struct Project {
    sandbox: Sandbox,
    own: String,
    newest: String,
}

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let key = |since| {
            let key = sandbox.json(&["key", "new", "--not-before", since, "--json"]);
            key["kid"].as_str().unwrap().to_owned()
        };
        let (own, newest) = (key("2026-01-01T00:00:00Z"), key("2026-01-02T00:00:00Z"));
        fs::create_dir_all(sandbox.path("project/src")).unwrap();
        fs::write(sandbox.path("project/r1.toml"), format!("[signing]\nkid = \"{own}\"\n")).unwrap();
        fs::write(sandbox.path("scenario.yaml"), SAYS).unwrap();
        Self { sandbox, own, newest }
    }

    fn trust(&self) {
        let trusted = fs::canonicalize(self.sandbox.path("project")).unwrap();
        fs::write(self.sandbox.home().join("config.toml"), format!("trusted = [\"{}\"]\n", text(&trusted))).unwrap();
    }

    fn r1_in(&self, directory: &str, args: &[&str]) -> Outcome {
        let output = self.sandbox.command().current_dir(self.sandbox.path(directory)).args(args).output().unwrap();
        let outcome = Outcome::of(output);
        assert_eq!(outcome.code, 0, "{args:?}\n{}\n{}", outcome.stdout, outcome.stderr);
        outcome
    }

    /// Works in the project; gives the key of the receipt that was kept.
    fn key_of_run(&self, directory: &str, more: &[&str]) -> String {
        let scenario = self.sandbox.path("scenario.yaml");
        self.r1_in(directory, &[&["run", "do it", "--scenario", text(&scenario)], more].concat());
        let run = self.sandbox.json(&["runs", "--json"])["runs"][0]["run_id"].as_str().unwrap().to_owned();
        signer(&self.sandbox.home().join(format!("receipts/{run}.receipt.json")))
    }
}

fn signer(receipt: &Path) -> String {
    let receipt: Json = serde_json::from_slice(&fs::read(receipt).unwrap()).unwrap();
    let log = receipt["events"].as_array().unwrap().last().unwrap();
    assert_eq!(log["body"]["seal_key_id"], receipt["signing_key_id"]);
    receipt["signing_key_id"].as_str().unwrap().to_owned()
}

#[test]
fn stoke_20_a_trusted_workspace_chooses_the_key_of_its_receipts_wherever_one_stands() {
    let project = Project::new();
    project.trust();
    for (directory, more) in [("project", &[][..]), ("project/src", &["-C", ".."]), (".", &["-C", "project"])] {
        assert_eq!(project.key_of_run(directory, more), project.own, "{directory}");
    }
    let create = ["receipt", "create", "last", "--force", "-o"];
    let made = project.sandbox.path("made.json");
    for directory in [".", "project/src"] {
        project.r1_in(directory, &[&create[..], &[text(&made)]].concat());
        assert_eq!(signer(&made), project.own, "{directory}");
    }
    project.r1_in("project", &[&create[..], &[text(&made), "--key", &project.newest]].concat());
    assert_eq!(signer(&made), project.newest, "what is asked for comes first");
    let told = project.sandbox.command().current_dir(project.sandbox.path("project/src")).arg("doctor").output();
    let told = String::from_utf8(told.unwrap().stdout).unwrap();
    assert!(told.contains("signing.kid from"), "{told}");
}

#[test]
fn a_workspace_that_nobody_trusts_chooses_no_key_and_that_is_told() {
    let project = Project::new();
    assert_eq!(project.key_of_run(".", &["-C", "project"]), project.newest);
    let made = project.r1_in("project", &["receipt", "create", "last"]);
    assert!(made.stderr.contains("signing"), "{}", made.stderr);
}

#[test]
fn stoke_20_a_key_that_is_made_for_a_run_is_announced_once() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("scenario.yaml"), SAYS).unwrap();
    let run = || sandbox.r1(&["run", "do it", "--scenario", "scenario.yaml"]);
    let first = run();
    assert!(first.stderr.contains("made a new agent key kid:"), "{}", first.stderr);
    let again = run();
    assert!(!again.stderr.contains("agent key"), "{}", again.stderr);
}
