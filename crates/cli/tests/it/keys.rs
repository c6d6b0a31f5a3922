//! Whose word counts, and until when: keys and keyrings as their user meets them.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::support::{Outcome, RUN, Sandbox, finished, text};

/// A receipt that ends at 2026-04-24T03:06:40.015Z, by the key of RFC 8032 §7.1, test 1.
const RECEIPT: &[u8] = include_bytes!("../../../receipt/tests/fixtures/vector_b.receipt.json");
const JWK: &str = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
const THUMBPRINT: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

/// A sandbox with the receipt in it.
fn with_receipt() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("b.json"), RECEIPT).unwrap();
    sandbox
}

fn entry(more: &Json) -> String {
    let mut entry = json!({
        "v": 1, "kid": format!("kid:{THUMBPRINT}"), "public": serde_json::from_str::<Json>(JWK).unwrap(),
        "use": "receipt", "scope": "agent", "subject": "agent:test", "not_before": "2026-01-01T00:00:00Z",
    });
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry.to_string()
}

fn first_line(outcome: &Outcome) -> &str {
    outcome.stdout.lines().next().unwrap_or_default()
}

fn write(directory: &Path, name: &str, content: impl AsRef<[u8]>) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(name), content).unwrap();
}

#[test]
fn stoke_20_a_bare_key_that_is_imported_counts_whenever_it_signed() {
    let sandbox = with_receipt();
    fs::write(sandbox.path("key.jwk"), JWK).unwrap();
    let taken = sandbox.json(&["key", "import", "key.jwk", "--json"]);
    assert_eq!(taken["not_before"], "1970-01-01T00:00:00Z");
    sandbox.ok(&["receipt", "verify", "b.json"]);
}

#[test]
fn stoke_20_fractions_of_a_second_count_and_that_nobody_else_vouches_for_the_time_is_told() {
    let sandbox = with_receipt();
    let told = |more: Json| {
        fs::write(sandbox.path("key.json"), entry(&more)).unwrap();
        let outcome = sandbox.r1(&["receipt", "verify", "b.json", "--key", "key.json"]);
        assert!(outcome.stdout.contains("nobody else vouches for that time"), "{}", outcome.stdout);
        first_line(&outcome).to_owned()
    };
    let retired = |at: &str| told(json!({ "revoked_at": at, "revoked_reason": "retired" }));
    assert_eq!(told(json!({})), "receipt verify: VALID");
    assert_eq!(told(json!({ "not_before": "2026-04-24T03:06:40.5Z" })), "receipt verify: UNTRUSTED key_not_yet_valid");
    assert_eq!(told(json!({ "not_after": "2026-04-24T03:06:40Z" })), "receipt verify: UNTRUSTED key_expired");
    assert_eq!(told(json!({ "not_after": "2026-04-24T03:06:40.015Z" })), "receipt verify: VALID");
    assert_eq!(retired("2026-04-24T03:06:40.014999999Z"), "receipt verify: UNTRUSTED key_revoked");
    assert_eq!(retired("2026-04-24T03:06:40.015Z"), "receipt verify: VALID");
    let report = sandbox.json(&["receipt", "verify", "b.json", "--key", "key.json", "--json"]);
    assert!(report["warnings"][0].as_str().unwrap().contains("2026-04-24T03:06:40.015Z"), "{report}");
}

#[test]
fn stoke_20_a_revocation_is_kept_as_it_was_given_and_never_weakened() {
    let sandbox = Sandbox::new();
    let kid = sandbox.json(&["key", "new", "--json"])["kid"].as_str().unwrap().to_owned();
    let revoke = |reason: &str, at: &str| sandbox.r1(&["key", "revoke", &kid, "--reason", reason, "--at", at]);
    let standing = || {
        let entry = sandbox.json(&["key", "show", &kid, "--json"]);
        (entry["revoked_reason"].as_str().unwrap().to_owned(), entry["revoked_at"].as_str().unwrap().to_owned())
    };
    assert_eq!(revoke("retired", "2026-04-24T03:06:40.001Z").code, 0);
    assert_eq!(standing(), ("retired".into(), "2026-04-24T03:06:40.001Z".into()));
    revoke("retired", "2026-04-24T03:06:41Z").fails(2, "is retired 2026-04-24T03:06:40.001Z");
    assert_eq!(revoke("retired", "2026-04-24T03:06:40Z").code, 0);
    assert_eq!(revoke("compromised", "2026-05-01T00:00:00Z").code, 0);
    revoke("retired", "2026-01-01T00:00:00Z").fails(2, "stricter, never weaker");
    assert_eq!(standing(), ("compromised".into(), "2026-05-01T00:00:00Z".into()));
}

#[test]
fn stoke_20_a_revocation_of_the_owner_can_be_taken_in() {
    let (owner, reader) = (Sandbox::new(), Sandbox::new());
    let kid = owner.json(&["key", "new", "--json"])["kid"].as_str().unwrap().to_owned();
    let send = |name: &str| {
        owner.ok(&["key", "export", &kid, "-o", name]);
        reader.r1(&["key", "import", text(&owner.path(name)), "--json"])
    };
    let reason = |outcome: &Outcome| {
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_str::<Json>(&outcome.stdout).unwrap()["revoked_reason"].clone()
    };
    assert_eq!(reason(&send("valid")), Json::Null);
    assert_eq!(reason(&send("again")), Json::Null, "the same once more is no fault");
    owner.ok(&["key", "revoke", &kid, "--reason", "retired", "--at", "2026-01-01T00:00:00Z"]);
    assert_eq!(reason(&send("retired")), "retired");
    reader.ok(&["key", "revoke", &kid, "--reason", "compromised"]);
    assert_eq!(reason(&reader.r1(&["key", "import", text(&owner.path("retired")), "--json"])), "compromised");
    reader.r1(&["key", "import", text(&owner.path("valid"))]).fails(2, "says other things");
    // The private half joins what is known of the key.
    owner.ok(&["key", "export", &kid, "--private", "-o", "secret"]);
    reader.ok(&["key", "import", text(&owner.path("secret"))]);
    assert_eq!(reader.json(&["key", "show", &kid, "--json"])["private"], true);
}

#[test]
fn stoke_20_a_keyring_has_one_file_for_each_key_named_after_it() {
    let sandbox = with_receipt();
    let ring = sandbox.path("ring");
    let verify = || sandbox.r1(&["receipt", "verify", "b.json", "--keyring", "ring"]);
    write(&ring, "aa.json", entry(&json!({})));
    let misnamed = verify();
    assert_eq!((misnamed.code, first_line(&misnamed)), (3, "receipt verify: UNTRUSTED key_unknown"));
    let compromised = json!({ "revoked_at": "2026-05-01T00:00:00Z", "revoked_reason": "compromised" });
    write(&ring, &format!("{THUMBPRINT}.json"), entry(&compromised));
    let beside = verify();
    assert_eq!((beside.code, first_line(&beside)), (3, "receipt verify: UNTRUSTED key_revoked"));
    for outcome in [misnamed, beside] {
        assert!(outcome.stdout.contains(&format!("must stand in {THUMBPRINT}.json")), "{}", outcome.stdout);
    }
    // The same key, named twice on the command line.
    fs::write(sandbox.path("valid.json"), entry(&json!({}))).unwrap();
    let named = format!("ring/{THUMBPRINT}.json");
    for [first, second] in [["valid.json", &*named], [&*named, "valid.json"]] {
        let outcome = sandbox.r1(&["receipt", "verify", "b.json", "--key", first, "--key", second]);
        assert_eq!(first_line(&outcome), "receipt verify: UNTRUSTED key_revoked");
    }
}

#[test]
fn a_keyring_with_files_that_are_no_entries_still_serves_and_says_so() {
    let sandbox = with_receipt();
    let ring = sandbox.home().join("keyring");
    write(&ring, &format!("{THUMBPRINT}.json"), entry(&json!({})));
    write(&ring, "broken.json", "{}");
    fs::create_dir(ring.join("directory.json")).unwrap();
    // Long, and all holes: it would fill the memory if it were read.
    fs::File::create(ring.join("long.json")).unwrap().set_len(1 << 40).unwrap();
    let report = sandbox.json(&["receipt", "verify", "b.json", "--json"]);
    let warnings = report["warnings"].to_string();
    for part in ["broken.json is refused: this is not a keyring entry", "directory.json", "no key takes so much"] {
        assert!(warnings.contains(part), "`{part}` is not in {warnings}");
    }
    assert!(sandbox.r1(&["receipt", "show", "b.json"]).stderr.contains("directory.json"));
    sandbox.ok(&["key", "list"]);
    sandbox.r1(&["key", "import", text(&ring.join("long.json"))]).fails(2, "no key takes so much");
}

#[test]
fn a_new_key_that_could_sign_nothing_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.r1(&["key", "new", "--not-after", "2020-01-01T00:00:00Z"]).fails(2, "could not sign anything");
    let dates = ["--not-before", "2098-01-01T00:00:00Z", "--not-after", "2097-01-01T00:00:00Z"];
    sandbox.r1(&[&["key", "new"], &dates[..]].concat()).fails(2, "could not sign anything");
    assert_eq!(sandbox.json(&["key", "list", "--json"])["keys"], json!([]));
}

#[test]
fn stoke_20_a_key_that_is_made_for_a_receipt_counts_for_its_run() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let made = sandbox.r1(&["receipt", "create", "last", "-o", "r.json"]);
    assert!(made.code == 0 && made.stderr.contains("made a new agent key"), "{}", made.stderr);
    assert!(!made.stderr.contains("key_not_yet_valid"), "{}", made.stderr);
    sandbox.ok(&["receipt", "verify", "r.json"]);
}

#[test]
fn private_keys_are_read_by_openssl() {
    if std::process::Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: openssl is not installed");
        return;
    }
    let sandbox = Sandbox::new();
    for usage in ["receipt", "log", "attest"] {
        sandbox.ok(&["key", "new", "--use", usage]);
    }
    let keys = crate::support::files(&sandbox.home().join("keys"));
    assert_eq!(keys.len(), 3);
    for key in keys {
        let read = std::process::Command::new("openssl").args(["pkey", "-pubout", "-in", text(&key)]).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        let kid = format!("kid:{}", key.file_stem().unwrap().to_str().unwrap());
        let public = sandbox.ok(&["key", "export", &kid, "--format", "pem"]);
        assert_eq!(String::from_utf8(read.stdout).unwrap().trim_end(), public.trim_end());
    }
}
