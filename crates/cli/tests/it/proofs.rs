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

#[test]
fn a_proof_replaces_no_file_unasked_and_a_dash_is_standard_output() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let prove = ["log", "proof", "last", "--seq", "5"];
    let printed = sandbox.ok(&prove);
    fs::write(sandbox.path("precious.txt"), "precious").unwrap();
    sandbox.r1(&[&prove[..], &["-o", "precious.txt"]].concat()).fails(2, "precious.txt is there already");
    assert_eq!(fs::read_to_string(sandbox.path("precious.txt")).unwrap(), "precious");
    sandbox.ok(&[&prove[..], &["-o", "precious.txt", "--force"]].concat());
    assert_eq!(fs::read_to_string(sandbox.path("precious.txt")).unwrap(), printed);

    assert_eq!(sandbox.ok(&[&prove[..], &["-o", "-"]].concat()), printed);
    assert!(!sandbox.ok(&["log", "export", "last", "--format", "ndjson", "-o", "-"]).is_empty());
    let kid = sandbox.json(&["log", "checkpoint", "last", "--json"])["key_id"].as_str().unwrap().to_owned();
    assert!(sandbox.ok(&["key", "export", &kid, "-o", "-"]).contains(&kid));
    let receipt: serde_json::Value = sandbox.json(&["receipt", "create", "last", "-o", "-"]);
    assert!(receipt["signature"].is_string(), "{receipt}");
    assert!(!sandbox.path("-").exists());
}

#[test]
fn places_that_no_event_has_are_named_as_they_were_typed() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.r1(&["log", "proof", "last", "--seq", "9"]).fails(2, "event 9 is not among the first 8");
    sandbox.r1(&["log", "proof", "last", "--seq", "5", "--size", "4"]).fails(2, "event 5 is not among the first 4");
    let beyond = (1_u64 << 63).to_string();
    for command in [
        &["log", "proof", "last", "--seq"][..],
        &["redact", "last", "--reason", "x", "--seq"],
        &["prune", "--run", "last", "--through"],
        &["fork", "last", "--at"],
        &["tail", "last", "--from"],
    ] {
        sandbox.r1(&[command, &["0"]].concat()).fails(2, "counted from 1");
        sandbox.r1(&[command, &[&beyond]].concat()).fails(2, "no log has more than");
    }
}

#[test]
fn a_proof_for_stock_tools_makes_no_key_but_the_logs_and_that_once() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let keys = || sandbox.json(&["key", "list", "--json"])["keys"].as_array().unwrap().len();
    sandbox.ok(&["key", "new", "--use", "log"]);
    assert_eq!(keys(), 1);
    let proof = sandbox.r1(&["log", "proof", "last", "--seq", "5", "--format", "tlog-proof"]);
    assert!(proof.code == 0 && !proof.stderr.contains("made a new key"), "{}", proof.stderr);
    assert_eq!(keys(), 1);
}

#[test]
fn a_log_and_a_proof_are_checked_with_the_keys_that_are_given() {
    let owner = Sandbox::new();
    owner.import(&finished(RUN));
    owner.ok(&["key", "new"]);
    let chosen = owner.json(&["key", "new", "--json"])["kid"].as_str().unwrap().to_owned();
    let seal = owner.json(&["log", "checkpoint", "last", "--key", &chosen, "--json"]);
    assert_eq!(seal["key_id"], chosen.as_str());
    owner.ok(&["log", "export", "last", "-o", "run.cborseq"]);
    owner.ok(&["log", "proof", "last", "--seq", "8", "-o", "p.json"]);
    owner.ok(&["key", "export", &chosen, "-o", "entry.json"]);
    owner.ok(&["key", "export", &chosen, "--format", "jwk", "-o", "key.jwk"]);
    owner.ok(&["key", "export", &chosen, "--format", "pem", "-o", "key.pem"]);

    let reader = Sandbox::new();
    let theirs = |name: &str| text(&owner.path(name)).to_owned();
    let (run, proof, ring) = (theirs("run.cborseq"), theirs("p.json"), theirs("home/keyring"));
    let sealed = |trust: &[&str]| {
        let verdict = reader.json(&[&["log", "validate", &run, "--json"][..], trust].concat());
        verdict["runs"][0]["sealed_by"].clone()
    };
    let known = |trust: &[&str]| {
        let report = reader.json(&[&["log", "proof", "--verify", &proof, "--json"][..], trust].concat());
        report["key_standing"].clone()
    };
    assert_eq!((sealed(&[]), known(&[])), (serde_json::Value::Null, "unknown".into()));
    for name in ["entry.json", "key.jwk", "key.pem"] {
        let key = theirs(name);
        assert_eq!((sealed(&["--key", &key]), known(&["--key", &key])), (chosen.as_str().into(), "counts".into()));
    }
    let trust = ["--keyring", ring.as_str()];
    assert_eq!((sealed(&trust), known(&trust)), (chosen.as_str().into(), "counts".into()));
    reader.r1(&["log", "validate", &run, "--keyring", "nowhere"]).fails(2, "cannot read the keyring nowhere");
    reader.r1(&["log", "validate", &run, "--key", &run]).fails(2, "is refused");
}
