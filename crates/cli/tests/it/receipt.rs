//! Receipts and keys, as their user meets them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use r1_event::Payload;
use r1_event::cbor::Value;
use serde_json::{Value as Json, json};

use crate::support::{OTHER_RUN, RUN, SECRET, Sandbox, finished, log_of, open, payloads, text, typed};

const FILE: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B.receipt.json";

/// Makes a key that counts since before the sample's run; gives its id.
fn make_key(sandbox: &Sandbox, more: &[&str]) -> String {
    let since = ["key", "new", "--not-before", "2026-01-01T00:00:00Z", "--json"];
    sandbox.json(&[&since[..], more].concat())["kid"].as_str().unwrap().to_owned()
}

fn ids(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let receipt: Json = serde_json::from_slice(&fs::read(sandbox.path(file)).unwrap()).unwrap();
    let events = receipt["events"].as_array().unwrap();
    let named = events.iter().filter(|event| event["body"]["kind"] != "run_log");
    named.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_receipt_is_made_verified_and_shown() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    let made = sandbox.json(&["receipt", "create", "last", "--json"]);
    assert_eq!(made["file"], FILE);
    let text = sandbox.ok(&["receipt", "verify", FILE]);
    assert_eq!(text.lines().next(), Some("receipt verify: VALID"));
    for part in [
        made["digest"].as_str().unwrap(),
        made["key_id"].as_str().unwrap(),
        "8 events, complete, completed",
        "A valid receipt proves",
        "It does not prove",
        "not compared",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let report = sandbox.json(&["receipt", "verify", FILE, "--log", "last", "--json"]);
    assert_eq!((&report["ok"], &report["reason"], &report["log_checked"]), (&json!(true), &Json::Null, &json!(true)));
    let shown = sandbox.ok(&["receipt", "show", FILE]);
    assert!(shown.contains("shell ok {\"command\":\"cat .env\"}"), "{shown}");
    assert!(!shown.contains(SECRET), "results are hashes");
    assert!(sandbox.ok(&["receipt", "show", FILE, "--dot"]).starts_with("digraph receipt {"));
    let nodes = sandbox.json(&["receipt", "show", FILE, "--json"]);
    let first = nodes["events"][0]["id"].as_str().unwrap();
    assert!(sandbox.ok(&["receipt", "show", FILE, "--event", first]).contains("identity"));
}

#[test]
fn a_receipt_needs_nothing_but_the_file_and_a_public_key() {
    let (maker, reader) = (Sandbox::new(), Sandbox::new());
    maker.import(&finished(RUN));
    let kid = make_key(&maker, &["--scope", "team", "--subject", "team:parser"]);
    maker.ok(&["receipt", "create", "last", "--key", &kid]);
    let file = maker.path(FILE);
    let refused = reader.r1(&["receipt", "verify", text(&file)]);
    assert_eq!((refused.code, refused.stdout.lines().next()), (3, Some("receipt verify: UNTRUSTED key_unknown")));
    for form in ["entry", "jwk", "pem"] {
        let name = format!("key.{form}");
        maker.ok(&["key", "export", &kid, "--format", form, "-o", &name]);
        reader.ok(&["receipt", "verify", text(&file), "--key", text(&maker.path(&name))]);
    }
    let entry = maker.path("key.entry");
    reader.ok(&[
        "receipt",
        "verify",
        text(&file),
        "--key",
        text(&entry),
        "--scope",
        "team",
        "--subject",
        "team:parser",
    ]);
    let scoped = reader.r1(&["receipt", "verify", text(&file), "--key", text(&entry), "--scope", "tenant"]);
    assert_eq!((scoped.code, scoped.stdout.lines().next()), (3, Some("receipt verify: UNTRUSTED key_scope")));
    reader.ok(&["key", "import", text(&entry)]);
    reader.ok(&["receipt", "verify", text(&file)]);
    reader.ok(&["key", "revoke", &kid, "--reason", "compromised"]);
    let revoked = reader.r1(&["receipt", "verify", text(&file)]);
    assert_eq!((revoked.code, revoked.stdout.lines().next()), (3, Some("receipt verify: UNTRUSTED key_revoked")));
    assert!(reader.ok(&["key", "list"]).contains("compromised"));
}

#[test]
fn stoke_15_two_homes_with_the_same_log_and_key_make_the_same_bytes() {
    let (one, two) = (Sandbox::new(), Sandbox::new());
    one.import(&finished(RUN));
    let kid = make_key(&one, &[]);
    one.ok(&["key", "export", &kid, "--private", "-o", "secret.key"]);
    assert_eq!(fs::metadata(one.path("secret.key")).unwrap().permissions().mode() & 0o777, 0o600);
    two.ok(&["key", "import", text(&one.path("secret.key"))]);
    // Another run before it, and the log by way of another format.
    two.import(&finished(OTHER_RUN));
    one.ok(&["log", "export", RUN, "--format", "ndjson", "-o", "log.ndjson"]);
    two.ok(&["log", "import", text(&one.path("log.ndjson"))]);
    for sandbox in [&one, &two] {
        sandbox.ok(&["receipt", "create", RUN, "--key", &kid]);
    }
    assert_eq!(fs::read(one.path(FILE)).unwrap(), fs::read(two.path(FILE)).unwrap());
}

#[test]
fn nothing_is_signed_that_does_not_hold_or_goes_on() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&open(RUN));
    sandbox.r1(&["receipt", "create", "last"]).fails(3, "is open");
    assert!(!sandbox.path(FILE).exists());
    sandbox.ok(&["receipt", "create", "last", "--partial"]);
    let partial = sandbox.r1(&["receipt", "verify", FILE]);
    assert_eq!((partial.code, partial.stdout.lines().next()), (4, Some("receipt verify: INCOMPLETE run_open")));
    fs::write(sandbox.path(FILE), "{}").unwrap();
    sandbox.r1(&["receipt", "create", "last", "--partial"]).fails(2, "is there already, with other content");
    sandbox.ok(&["receipt", "create", "last", "--partial", "--force"]);
    sandbox.ok(&["receipt", "create", "last", "--partial"]);
}

#[test]
fn stoke_14_a_file_that_cannot_be_read_and_a_wrong_call_end_with_2_and_their_reason() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["receipt", "create", "last"]);
    fs::write(sandbox.path("no.json"), "[]").unwrap();
    for (reason, args) in [
        ("io", &["nowhere.json"][..]),
        ("io", &["."]),
        ("io", &[FILE, "--key", "nowhere.json"]),
        ("io", &[FILE, "--keyring", "nowhere"]),
        ("io", &[FILE, "--gates", "nowhere.yaml"]),
        ("usage", &[FILE, "--key", "no.json"]),
        ("usage", &[FILE, "--log", "run_nobody"]),
        ("usage", &[]),
        ("usage", &[FILE, "--scope", "nobody"]),
    ] {
        let call = [&["receipt", "verify"], args].concat();
        let told = sandbox.r1(&call);
        let line = format!("receipt verify: INVALID {reason}\n");
        assert_eq!((told.code, &*told.stdout), (2, &*line), "{args:?}: {}", told.stderr);
        assert!(!told.stderr.is_empty(), "{args:?}");
        let report = sandbox.json_of(2, &[&call[..], &["--json"]].concat());
        assert_eq!(
            (&report["ok"], &report["verdict"], &report["reason"]),
            (&json!(false), &json!("INVALID"), &json!(reason))
        );
    }
    sandbox.r1(&["receipt", "verify", "nowhere.json"]).fails(2, "cannot read nowhere.json");
    sandbox.r1(&["receipt", "show", "no.json"]).fails(2, "is no receipt: bad_shape");
    assert_eq!(sandbox.r1(&["receipt", "verify", "no.json"]).code, 1);
}

#[test]
fn a_receipt_in_another_spelling_is_shown_with_its_verdict() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["receipt", "create", "last"]);
    let receipt: Json = serde_json::from_slice(&fs::read(sandbox.path(FILE)).unwrap()).unwrap();
    fs::write(sandbox.path("pretty.json"), serde_json::to_vec_pretty(&receipt).unwrap()).unwrap();
    let (own, pretty) = (sandbox.ok(&["receipt", "show", FILE]), sandbox.ok(&["receipt", "show", "pretty.json"]));
    assert_eq!(pretty.lines().next(), Some("receipt verify: INVALID not_canonical"));
    assert_eq!(pretty.lines().skip(1).collect::<Vec<_>>(), own.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn what_is_kept_back_or_erased_is_told_as_such_and_not_as_nothing() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["receipt", "create", "last", "--withhold", "thought,tool,memory,artifact"]);
    sandbox.ok(&["redact", RUN, "--seq", "6", "--reason", "leaked key"]);
    sandbox.ok(&["receipt", "create", "last", "-o", "erased.json"]);
    for file in [FILE, "erased.json"] {
        let told = sandbox.ok(&["receipt", "verify", file]);
        for part in ["1 tool call (1 not shown)", "1 call not shown: whether anything was refused there cannot be told"]
        {
            assert!(told.contains(part), "`{part}` is not in:\n{told}");
        }
    }
    assert!(sandbox.ok(&["receipt", "verify", FILE]).contains("  model     1 turn (1 not shown), 1 tool call"));
}

#[test]
fn stoke_18_erasing_leaves_the_ids_and_both_receipts_valid() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["receipt", "create", RUN, "-o", "old.json"]);
    sandbox.ok(&["redact", RUN, "--seq", "6", "--reason", "leaked key"]);
    sandbox.ok(&["receipt", "create", RUN, "-o", "new.json"]);
    assert_eq!(ids(&sandbox, "old.json"), ids(&sandbox, "new.json"));
    for file in ["old.json", "new.json"] {
        sandbox.ok(&["receipt", "verify", file, "--log", RUN]);
    }
    assert_eq!(sandbox.json(&["receipt", "verify", "new.json", "--json"])["stubs"], json!({ "erased": 1 }));
    sandbox.ok(&["redact", RUN, "--seq", "2-5", "--reason", "the rest of it"]);
    sandbox.ok(&["receipt", "create", RUN, "-o", "newest.json"]);
    assert_eq!(ids(&sandbox, "old.json"), ids(&sandbox, "newest.json"));
    sandbox.ok(&["receipt", "verify", "newest.json", "--log", RUN]);
}

#[test]
fn stoke_18_an_open_run_tells_itself_what_its_receipt_needs() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&open(RUN));
    sandbox.ok(&["receipt", "create", RUN, "--partial", "-o", "old.json"]);
    sandbox.ok(&["redact", RUN, "--seq", "4,6", "--reason", "leaked key"]);
    sandbox.ok(&["receipt", "create", RUN, "--partial", "-o", "new.json"]);
    assert_eq!(ids(&sandbox, "old.json"), ids(&sandbox, "new.json"));
    sandbox.ok(&["log", "export", RUN, "-o", "log.cborseq"]);
    let checked = sandbox.json_of(4, &["receipt", "verify", "new.json", "--log", "log.cborseq", "--json"]);
    assert_eq!((&checked["reason"], &checked["log_checked"]), (&json!("run_open"), &json!(true)));
}

#[test]
fn stoke_18_the_receipt_of_a_pruned_run_is_incomplete_and_names_the_same_nodes() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["receipt", "create", RUN, "-o", "old.json"]);
    sandbox.ok(&["prune", "--run", RUN, "--through", "5"]);
    sandbox.ok(&["receipt", "create", RUN, "-o", "new.json"]);
    let checked = sandbox.json_of(4, &["receipt", "verify", "new.json", "--log", RUN, "--json"]);
    assert_eq!(checked["reason"], "run_pruned");
    let whole = ids(&sandbox, "old.json");
    assert!(ids(&sandbox, "new.json").iter().all(|id| whole.contains(id)));
    sandbox.ok(&["receipt", "verify", "old.json", "--log", RUN]);
}

/// A parent whose log names the child's roots and receipt.
fn parent(child: &Json, digest: &str) -> Vec<r1_event::Record> {
    let text = |key: &str| Value::text(child["run"][key].as_str().unwrap());
    let told = Value::object([
        ("child_run_id", text("run_id")),
        ("final_status", text("outcome")),
        ("cost_micros_usd", Value::Uint(0)),
        ("log_size", Value::Uint(child["run"]["size"].as_u64().unwrap())),
        ("root_blake3", text("root_blake3")),
        ("root_sha256", text("root_sha256")),
        ("receipt_digest", Value::text(digest)),
    ]);
    let mut events = payloads();
    events.insert(6, typed("run.child_finished", told));
    log_of(OTHER_RUN, events)
}

#[test]
fn stoke_19_a_childs_receipt_is_found_through_its_parent_and_a_swapped_one_is_told() {
    let sandbox = Sandbox::new();
    make_key(&sandbox, &[]);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["receipt", "create", RUN]);
    let child = sandbox.json(&["receipt", "verify", FILE, "--json"]);
    sandbox.import(&parent(&child, child["digest"].as_str().unwrap()));
    sandbox.ok(&["receipt", "create", OTHER_RUN, "-o", "parent.json"]);
    let checked = sandbox.json(&["receipt", "verify", "parent.json", "--children", ".", "--json"]);
    assert_eq!((&checked["children"][0]["run_id"], &checked["children"][0]["verdict"]), (&json!(RUN), &json!("VALID")));

    // Another receipt of the same log, then one of another log, then none.
    sandbox.ok(&["receipt", "create", RUN, "--withhold", "tool", "--force"]);
    let swapped = sandbox.json_of(1, &["receipt", "verify", "parent.json", "--children", ".", "--json"]);
    assert_eq!(swapped["reason"], "graph_mismatch");
    let mut other = payloads();
    other.pop();
    other.push(Payload::RunCancelled(Default::default()));
    let elsewhere = Sandbox::new();
    elsewhere.import(&log_of(RUN, other));
    elsewhere.ok(&["receipt", "create", RUN]);
    fs::copy(elsewhere.path(FILE), sandbox.path(FILE)).unwrap();
    let swapped = sandbox.json_of(1, &["receipt", "verify", "parent.json", "--children", ".", "--json"]);
    assert_eq!(swapped["reason"], "log_mismatch");
    fs::remove_file(sandbox.path(FILE)).unwrap();
    assert_eq!(sandbox.r1(&["receipt", "verify", "parent.json", "--children", "."]).code, 2);
}

#[test]
fn a_run_that_is_older_than_the_key_is_told_when_it_is_signed_and_when_it_is_checked() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["key", "new"]);
    let made = sandbox.r1(&["receipt", "create", "last"]);
    assert!(made.code == 0 && made.stderr.contains("key_not_yet_valid"), "{}", made.stderr);
    let checked = sandbox.json_of(3, &["receipt", "verify", FILE, "--json"]);
    assert_eq!(checked["reason"], "key_not_yet_valid");
}

#[test]
fn keys_are_private_and_named_by_their_beginning() {
    let sandbox = Sandbox::new();
    let key = sandbox.json(&["key", "new", "--not-after", "2099-01-01T00:00:00Z", "--json"]);
    let kid = key["kid"].as_str().unwrap();
    assert_eq!((&key["private"], &key["not_after"]), (&json!(true), &json!("2099-01-01T00:00:00Z")));
    let file = sandbox.home().join("keys").join(format!("{}.key", kid.strip_prefix("kid:").unwrap()));
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(sandbox.json(&["key", "show", &kid[..10], "--json"])["kid"], kid);
    sandbox.r1(&["key", "show", "kid:nobody"]).fails(2, "no key matches");
    sandbox.json(&["key", "new", "--json"]);
    sandbox.r1(&["key", "show", "kid:"]).fails(2, "matches 2 keys");
    sandbox.ok(&["key", "revoke", kid, "--reason", "retired", "--at", "2026-01-01T00:00:00Z"]);
    sandbox.import(&finished(RUN));
    sandbox.r1(&["receipt", "create", "last", "--key", kid]).fails(2, "may not sign");
}
