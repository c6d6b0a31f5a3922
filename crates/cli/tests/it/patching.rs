//! `r1 patch`: what a scripted agent changed is undone and done again.

use std::fs;

use serde_json::Value;

use crate::support::Sandbox;

const EDITS: &str = "
turns:
  - tool_calls: [{ tool: edit, input: { path: note.txt, old_string: hello, new_string: goodbye } }]
  - tool_calls: [{ tool: file_write, input: { path: new.txt, content: fresh } }]
  - text: Done.
";

/// A project whose two files an agent changed and made, and the run's id.
fn edited() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("project")).unwrap();
    fs::write(sandbox.path("project/note.txt"), "hello\n").unwrap();
    fs::write(sandbox.path("scenario.yaml"), EDITS).unwrap();
    sandbox.ok(&["run", "edit", "-C", "project", "--scenario", "scenario.yaml", "--approve", "edits"]);
    assert_eq!(note(&sandbox), "goodbye\n");
    let run = sandbox.json(&["runs", "--json"])["runs"][0]["run_id"].as_str().unwrap().to_owned();
    (sandbox, run)
}

fn note(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("project/note.txt")).unwrap()
}

fn patches(sandbox: &Sandbox, run: &str) -> Vec<Value> {
    sandbox.json(&["patch", "list", run, "--json"])["patches"].as_array().unwrap().clone()
}

fn id(patch: &Value) -> &str {
    patch["artifact_id"].as_str().unwrap()
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"run_[0-9A-Z]{26}", "run_<ULID>");
    settings.add_filter(r"art_[0-9A-Z]{26}", "art_<ULID>");
    settings
}

#[test]
fn ep_25_an_edit_is_undone_and_done_again_and_the_finished_log_is_unchanged() {
    let (sandbox, run) = edited();
    let before = sandbox.ok(&["log", "show", &run, "--json"]);
    let listed = patches(&sandbox, &run);
    assert_eq!(listed.len(), 2);
    let edit = id(&listed[0]);

    let undone = sandbox.r1(&["patch", "revert", &run, edit, "--reason", "not so"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert_eq!(note(&sandbox), "hello\n");
    settings().bind(|| {
        insta::assert_snapshot!("reverted", format!("{}{}", undone.stdout, undone.stderr));
        insta::assert_snapshot!("list", sandbox.ok(&["patch", "list", &run]));
        insta::assert_snapshot!("show", sandbox.ok(&["patch", "show", &run, edit]));
    });
    let again = sandbox.r1(&["patch", "revert", &run, edit]);
    assert_eq!((again.code, again.stderr.contains("nothing was done")), (0, true), "{}", again.stderr);

    let inverse = patches(&sandbox, &run)[2].clone();
    assert_eq!(inverse["reverts_artifact_id"], *edit);
    // The operator's run is the last one now, and leads back to the run that it is about.
    let redone = sandbox.json(&["patch", "revert", "last", id(&inverse), "--json"]);
    assert_eq!(note(&sandbox), "goodbye\n");
    assert_eq!(redone["run_id"], run.as_str());
    let recorded_in = redone["recorded_in"].as_str().unwrap();
    assert_eq!(sandbox.r1(&["log", "validate", recorded_in]).code, 0);
    assert!(sandbox.ok(&["log", "show", recorded_in]).contains("tool.edit.reverted"));
    assert_eq!(sandbox.ok(&["log", "show", &run, "--json"]), before);
}

#[test]
fn ep_25_a_new_file_goes_and_comes_back() {
    let (sandbox, run) = edited();
    let listed = patches(&sandbox, &run);
    let undone = sandbox.json(&["patch", "revert", &run, id(&listed[1]), "--json"]);
    assert!(!sandbox.path("project/new.txt").exists());
    sandbox.ok(&["patch", "revert", &run, undone["inverse_artifact_ids"][0].as_str().unwrap()]);
    assert_eq!(fs::read_to_string(sandbox.path("project/new.txt")).unwrap(), "fresh");
}

#[test]
fn ep_25_a_conflict_is_told_file_by_file_and_nothing_is_changed() {
    let (sandbox, run) = edited();
    let listed = patches(&sandbox, &run);
    let edit = id(&listed[0]);
    fs::write(sandbox.path("project/note.txt"), "a line\ngoodbye\n").unwrap();
    let refused = sandbox.r1(&["patch", "revert", &run, edit]);
    assert_eq!((refused.code, note(&sandbox).as_str()), (1, "a line\ngoodbye\n"));
    settings().bind(|| insta::assert_snapshot!("conflict", refused.stderr));
    let refused = sandbox.r1(&["patch", "revert", &run, edit, "--json"]);
    let told: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!((refused.code, &told["conflict"]["paths"][0]["path"]), (1, &"note.txt".into()));
    sandbox.ok(&["patch", "revert", &run, edit, "--allow-offset"]);
    assert_eq!(note(&sandbox), "a line\nhello\n");
}

#[test]
fn patches_that_are_not_there_or_have_gone_too_far_are_refused() {
    let (sandbox, run) = edited();
    let listed = patches(&sandbox, &run);
    sandbox.r1(&["patch", "show", &run, "art_none"]).fails(2, "no patch matches `art_none`");
    sandbox.r1(&["patch", "show", &run, "art_"]).fails(2, "several patches match");
    sandbox.r1(&["patch", "reject", &run, id(&listed[0])]).fails(1, "it is applied");
    sandbox.r1(&["patch", "list", "nothing"]).fails(2, "no run matches");
}
