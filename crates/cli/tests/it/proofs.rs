//! `r1 log proof` and `r1 log checkpoint`.

use std::fs;

use r1_event::exchange::Format;

use crate::support::{RUN, Sandbox, finished, open, text};

#[test]
fn a_checkpoint_makes_a_key_once_and_later_rewriting_is_found() {
    let sandbox = Sandbox::new();
    sandbox.import(&open(RUN));
    let first = sandbox.r1(&["log", "checkpoint", "last", "--json"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stderr.contains("made a new agent key"), "{}", first.stderr);
    let report: serde_json::Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!((&report["record"], &report["size"]), (&"checkpoint".into(), &6.into()));
    let second = sandbox.r1(&["log", "checkpoint", "last", "--json"]);
    assert_eq!((second.stdout, second.stderr), (first.stdout, String::new()));

    sandbox.import(&finished(RUN));
    let seal = sandbox.json(&["log", "checkpoint", "last", "--json"]);
    assert_eq!((&seal["record"], &seal["size"]), (&"seal".into(), &8.into()));
    let verdict = sandbox.json(&["log", "validate", "last", "--json"]);
    assert_eq!(verdict["runs"][0]["sealed_by"], report["key_id"]);
}

#[cfg(unix)]
#[test]
fn key_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.import(&open(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    let mode = |path: std::path::PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(sandbox.home()), 0o700);
    let keys = crate::support::files(&sandbox.home().join("keys"));
    assert_eq!(keys.len(), 1);
    assert_eq!(mode(keys[0].clone()), 0o600);
    assert!(fs::read_to_string(&keys[0]).unwrap().starts_with("-----BEGIN PRIVATE KEY-----"));
    let entry: serde_json::Value =
        serde_json::from_slice(&fs::read(&crate::support::files(&sandbox.home().join("keyring"))[0]).unwrap()).unwrap();
    assert_eq!((&entry["v"], &entry["use"], &entry["scope"]), (&1.into(), &"receipt".into(), &"agent".into()));
}

#[test]
fn a_proof_of_an_event_holds_offline_and_any_change_of_it_does_not() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    sandbox.ok(&["log", "proof", "last", "--seq", "5", "-o", "p.json"]);
    let report = sandbox.json(&["log", "proof", "--verify", "p.json", "--json"]);
    assert_eq!((&report["ok"], &report["key_known"], &report["size"]), (&true.into(), &true.into(), &8.into()));
    let proof = fs::read_to_string(sandbox.path("p.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&proof).unwrap();
    let fields = ["/root", "/path/0", "/path/2", "/claim/inclusion/event/v2/payload", "/signature/signature"];
    for field in fields {
        let mut forged = value.clone();
        let text = forged.pointer(field).and_then(|field| field.as_str()).unwrap().to_owned();
        let middle = text.len() / 2;
        let other = if &text[middle..=middle] == "a" { "b" } else { "a" };
        *forged.pointer_mut(field).unwrap() = format!("{}{other}{}", &text[..middle], &text[middle + 1..]).into();
        fs::write(sandbox.path("forged.json"), forged.to_string()).unwrap();
        sandbox.r1(&["log", "proof", "--verify", "forged.json"]).fails(1, "the proof");
    }
    for (field, number) in [("/size", 9), ("/claim/inclusion/seq", 4)] {
        let mut forged = value.clone();
        *forged.pointer_mut(field).unwrap() = number.into();
        fs::write(sandbox.path("forged.json"), forged.to_string()).unwrap();
        sandbox.r1(&["log", "proof", "--verify", "forged.json"]).fails(1, "the proof");
    }
}

#[test]
fn a_consistency_proof_shows_that_a_log_only_grew() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "proof", "last", "--from-size", "3", "--size", "7", "-o", "grown.json"]);
    let shown = sandbox.ok(&["log", "proof", "--verify", "grown.json", "--log", "last"]);
    assert!(shown.contains("the log of 7 events extends its own first 3"), "{shown}");
    let mut payloads = crate::support::payloads();
    payloads.remove(6);
    let other = sandbox.file("other.cborseq", Format::Cborseq, &crate::support::log_of(RUN, payloads));
    let outcome = sandbox.r1(&["log", "proof", "--verify", "grown.json", "--log", text(&other)]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("the log has another root"), "{}", outcome.stdout);
    sandbox.r1(&["log", "proof", "last", "--seq", "9"]).fails(2, "is not among the first 8");
    sandbox.r1(&["log", "proof", "last", "--from-size", "9"]).fails(2, "cannot be a prefix");
}

#[test]
fn log_06_the_word_of_a_revoked_key_counts_for_nothing() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let seal = sandbox.json(&["log", "checkpoint", "last", "--json"]);
    let kid = seal["key_id"].as_str().unwrap();
    sandbox.ok(&["log", "proof", "last", "--seq", "3", "-o", "p.json"]);

    sandbox.ok(&["key", "revoke", kid, "--reason", "retired"]);
    let verdict = sandbox.json(&["log", "validate", "last", "--json"]);
    assert_eq!(verdict["runs"][0]["sealed_by"], kid, "it sealed a run that ended before");

    sandbox.ok(&["key", "revoke", kid, "--reason", "compromised"]);
    let verdict = sandbox.json(&["log", "validate", "last", "--json"]);
    let run = &verdict["runs"][0];
    assert_eq!((&run["sealed_by"], &run["integrity"]), (&serde_json::Value::Null, &"ok".into()));
    assert_eq!(run["structure"]["findings"][0]["code"], "seal_key_revoked");

    let refused = sandbox.r1(&["log", "proof", "--verify", "p.json"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stdout.contains("which your keyring calls revoked"), "{}", refused.stdout);
    let report = sandbox.json_of(1, &["log", "proof", "--verify", "p.json", "--json"]);
    assert_eq!((&report["ok"], &report["key_standing"]), (&false.into(), &"revoked".into()));
    sandbox.ok(&["log", "proof", "--verify", "p.json", "--log", "last"]);

    let again = sandbox.json(&["log", "checkpoint", "last", "--json"]);
    assert_ne!(again["key_id"], kid);
    assert_eq!(sandbox.json(&["log", "validate", "last", "--json"])["runs"][0]["sealed_by"], again["key_id"]);
    sandbox.ok(&["log", "proof", "last", "--seq", "3", "-o", "q.json"]);
    let report = sandbox.json(&["log", "proof", "--verify", "q.json", "--json"]);
    assert_eq!((&report["signed_by"], &report["key_standing"]), (&again["key_id"], &"counts".into()));
}
