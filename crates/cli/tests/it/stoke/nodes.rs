//! The nodes that lines name, and the receipt that is made later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::{Steered, lines, project};
use crate::support::{Sandbox, files};

const WORKS: &str = "
turns:
  - text: I look.
    tool_calls: [{ tool: file_read, id: c1, input: { path: note.txt } }, { tool: glob, id: c2, input: { pattern: '*' } }]
  - tool_calls:
      - { tool: edit, id: c3, input: { path: a.txt, old_string: hello, new_string: one } }
      - { tool: edit, id: c4, input: { path: b.txt, old_string: hello, new_string: two } }
  - failures: [{ kind: status, status: 503, message: busy }]
    text: Done.
";

/// The nodes of the receipt but the last, which tells of the log as a whole.
fn receipt(sandbox: &Sandbox) -> (String, Vec<Value>) {
    let made = sandbox.json(&["receipt", "create", "last", "-o", "run.receipt.json", "--json"]);
    let text = fs::read_to_string(sandbox.path("run.receipt.json")).unwrap();
    let mut receipt: Value = serde_json::from_str(&text).unwrap();
    let mut nodes: Vec<Value> = receipt["events"].as_array_mut().unwrap().drain(..).collect();
    nodes.retain(|node| node["body"]["kind"] != "run_log");
    (made["digest"].as_str().unwrap().to_owned(), nodes)
}

fn ledger_id(node: &Value) -> String {
    format!("node-sha256-{}", node["id"].as_str().unwrap().strip_prefix("sha256:").unwrap())
}

fn play(sandbox: &Sandbox) -> Vec<Value> {
    let mut steered = Steered::start(sandbox, &["work", "--events", "all"]);
    let mut lines = Vec::new();
    while let Some(line) = steered.next() {
        if line["type"] == "hitl_required" {
            let decision = line["tool_call_id"] == "c3";
            let answer =
                serde_json::json!({ "approval_id": line["approval_id"], "decision": decision, "reason": "so" });
            steered.say(&answer);
        }
        lines.push(line);
    }
    lines
}

#[test]
fn stoke_09_every_line_names_a_node_of_the_receipt_and_the_first_of_its_event() {
    let sandbox = project(WORKS);
    let lines = play(&sandbox);
    let (digest, nodes) = receipt(&sandbox);
    assert_eq!(lines.last().unwrap()["_stoke.dev/receipt_digest"], digest.as_str());
    let ids: BTreeSet<_> = nodes.iter().map(ledger_id).collect();
    let mut created: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for node in &nodes {
        created.entry(node["body"]["seq"].as_u64().unwrap()).or_default().insert(ledger_id(node));
    }
    let mut named = BTreeSet::new();
    for line in lines.iter().filter(|line| line["type"].as_str().unwrap().starts_with("stoke.")) {
        let id = line["ledger_node_id"].as_str().unwrap_or_else(|| panic!("no node: {line}"));
        assert!(ids.contains(id), "{line}");
        named.insert(id.to_owned());
        if let Some(created) = created.get(&line["seq"].as_u64().unwrap()) {
            assert!(created.contains(id), "{line} is not of {created:?}");
        }
    }
    let types = |wanted: &str| nodes.iter().filter(|node| node["type"] == wanted).count();
    assert!(types("THOUGHT") >= 3 && types("TOOL_CALL") >= 4 && types("ARTIFACT") >= 1, "{nodes:?}");
    let thoughts: BTreeSet<_> = nodes.iter().filter(|node| node["type"] == "THOUGHT").map(ledger_id).collect();
    assert!(thoughts.is_subset(&named), "every thought is named by what came of it");
}

#[test]
fn stoke_09_the_nodes_are_files_of_the_project_if_it_wants_them() {
    let sandbox = project(WORKS);
    fs::create_dir(sandbox.path("project/.stoke")).unwrap();
    play(&sandbox);
    let (_, nodes) = receipt(&sandbox);
    let directory = sandbox.path("project/.stoke/ledger/nodes");
    assert_eq!(files(&directory).len(), nodes.len());
    for node in &nodes {
        let file: Value =
            serde_json::from_slice(&fs::read(directory.join(format!("{}.json", ledger_id(node)))).unwrap()).unwrap();
        assert_eq!(file, *node);
    }
    let session: Value =
        serde_json::from_slice(&fs::read(sandbox.path("project/.stoke/r1.session.json")).unwrap()).unwrap();
    assert_eq!((&session["status"], &session["mode"]), (&"completed".into(), &"run".into()), "{session}");
    assert!(session["ledger_dir"].as_str().unwrap().ends_with(".stoke/ledger"), "{session}");
}

#[test]
fn without_a_place_in_the_project_nothing_is_left_there() {
    let sandbox = project(super::READS);
    let before = files(&sandbox.path("project"));
    let (lines, _) = lines(&sandbox, &[]);
    assert_eq!(files(&sandbox.path("project")), before);
    let sessions = files(&sandbox.home().join("instances"));
    assert_eq!(sessions.len(), 1);
    let session: Value = serde_json::from_slice(&fs::read(&sessions[0]).unwrap()).unwrap();
    assert_eq!(session["session_id"], lines[0]["session_id"], "{session}");
}
