//! Receipts for tools of others, checked with those tools as they come.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::{Checkpoint, Hash, check_record, record_hash};

use crate::support::{OTHER_RUN, RUN, Sandbox, finished, text};

/// A directory with a receipt, every export of it, a proof of its event 5, and the public keys.
fn exported(sandbox: &Sandbox) -> PathBuf {
    let key = |more: &[&str]| {
        let usual = ["key", "new", "--not-before", "2026-01-01T00:00:00Z", "--json"];
        sandbox.json(&[&usual[..], more].concat())["kid"].as_str().unwrap().to_owned()
    };
    key(&[]);
    let attest = key(&["--use", "attest"]);
    let log = key(&["--use", "log", "--name", "example.org/r1"]);
    let directory = sandbox.path("out");
    fs::create_dir(&directory).unwrap();
    let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    for (key, form, name) in
        [(&attest, "pem", "attest.pem"), (&attest, "entry", "attest.json"), (&log, "vkey", "instance.vkey")]
    {
        sandbox.ok(&["key", "export", key, "--format", form, "-o", &file(name)]);
    }
    // Another receipt before it: there are keys, so it is in the log without being asked for.
    sandbox.import(&finished(OTHER_RUN));
    sandbox.ok(&["receipt", "create", OTHER_RUN]);
    sandbox.import(&finished(RUN));
    let receipt = file(&format!("{RUN}.receipt.json"));
    let made =
        sandbox.json(&["receipt", "create", RUN, "-o", &receipt, "--export", "dsse,checkpoint,proof,bundle", "--json"]);
    assert_eq!(made["exports"].as_array().unwrap().len(), 6, "{made}");
    let proof = file(&format!("{RUN}-5.tlog-proof"));
    sandbox.ok(&["log", "proof", RUN, "--seq", "5", "--format", "tlog-proof", "-o", &proof]);
    let report = sandbox.json(&["log", "proof", "--verify", &proof, "--log", RUN, "--json"]);
    assert_eq!(
        (&report["ok"], &report["tree"], &report["key_standing"]),
        (&true.into(), &"sha256".into(), &"counts".into())
    );
    directory
}

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).unwrap()
}

/// The checkpoint of a note that the key of `vkey` signed.
fn checkpoint(note: &str, vkey: &str) -> Option<Checkpoint> {
    let verifier = StandardVerifier::new(vkey.trim()).unwrap();
    let note = Note::from_bytes(note.as_bytes()).ok()?;
    note.verify(&VerifierList::new(vec![Box::new(verifier)])).ok()?;
    Checkpoint::from_bytes(note.text()).ok()
}

/// Whether a tlog-proof holds for the log of `vkey`; gives the leaf and its place.
fn holds(proof: &str, vkey: &str) -> Option<(Vec<u8>, u64)> {
    let (head, note) = proof.split_once("\n\n")?;
    let mut lines = head.lines();
    (lines.next()? == "c2sp.org/tlog-proof@v1").then_some(())?;
    let leaf = STANDARD.decode(lines.next()?.strip_prefix("extra ")?).ok()?;
    let index = lines.next()?.strip_prefix("index ")?.parse().ok()?;
    let path = lines.map(|line| Hash::parse_hash(line).ok()).collect::<Option<Vec<_>>>()?;
    let checkpoint = checkpoint(note, vkey)?;
    check_record(&path, checkpoint.size(), *checkpoint.hash(), index, record_hash(&leaf)).ok()?;
    Some((leaf, index))
}

#[test]
fn stoke_28_checkpoints_and_proofs_hold_for_signed_note_and_tlog_tiles() {
    let sandbox = Sandbox::new();
    let directory = exported(&sandbox);
    let (run_key, log_key) = (read(&directory, &format!("{RUN}.vkey")), read(&directory, "instance.vkey"));
    let of_run = checkpoint(&read(&directory, &format!("{RUN}.checkpoint")), &run_key).unwrap();
    assert_eq!((of_run.origin(), of_run.size()), (format!("example.org/r1/runs/{RUN}").as_str(), 8));

    let event = read(&directory, &format!("{RUN}-5.tlog-proof"));
    assert_eq!(holds(&event, &run_key).unwrap().1, 4);
    let receipt = read(&directory, &format!("{RUN}.receipt.tlog-proof"));
    let (leaf, index) = holds(&receipt, &log_key).unwrap();
    assert_eq!(index, 1, "behind the other receipt");
    let leaf: Json = serde_json::from_slice(&leaf).unwrap();
    let envelope: Json = serde_json::from_str(&read(&directory, &format!("{RUN}.intoto.json"))).unwrap();
    assert_eq!(leaf["spec"]["dsseV002"]["signatures"][0]["content"], envelope["signatures"][0]["sig"]);
    for (proof, key) in [(&event, &run_key), (&receipt, &log_key)] {
        for at in 0..proof.len() {
            let mut damaged = proof.clone().into_bytes();
            damaged[at] ^= 1;
            let Ok(damaged) = String::from_utf8(damaged) else { continue };
            assert_eq!(holds(&damaged, key), None, "byte {at} of {damaged}");
        }
    }
    // The same again changes nothing, and a third receipt only adds.
    sandbox.ok(&["receipt", "create", RUN, "-o", "again.json", "--export", "proof"]);
    assert_eq!(read(&sandbox.path("."), &format!("{RUN}.receipt.tlog-proof")), receipt);
}

#[test]
fn stoke_28_openssl_verifies_the_statement_and_refuses_a_changed_byte() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: openssl is not installed");
        return;
    }
    let sandbox = Sandbox::new();
    let directory = exported(&sandbox);
    let envelope: Json = serde_json::from_str(&read(&directory, &format!("{RUN}.intoto.json"))).unwrap();
    let bytes = |value: &Json| STANDARD.decode(value.as_str().unwrap()).unwrap();
    let payload = bytes(&envelope["payload"]);
    fs::write(directory.join("sig"), bytes(&envelope["signatures"][0]["sig"])).unwrap();
    let verifies = |payload: &[u8]| {
        let kind = envelope["payloadType"].as_str().unwrap();
        let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
        fs::write(directory.join("pae"), [head.as_bytes(), payload].concat()).unwrap();
        let mut openssl = Command::new("openssl");
        openssl.args(["dgst", "-sha256", "-verify", "attest.pem", "-signature", "sig", "pae"]).current_dir(&directory);
        openssl.output().unwrap().status.success()
    };
    assert!(verifies(&payload));
    let mut damaged = payload;
    damaged[100] ^= 1;
    assert!(!verifies(&damaged));
}

/// Runs where `R1_TEST_PYTHON` names a Python that has what `tools/requirements.txt` lists; `./test python` does.
#[test]
fn stoke_28_securesystemslib_and_in_toto_take_the_statement_and_no_changed_one() {
    let Some(python) = std::env::var_os("R1_TEST_PYTHON") else {
        eprintln!("skipped: R1_TEST_PYTHON is not set");
        return;
    };
    let sandbox = Sandbox::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_exports.py");
    succeeds(Command::new(python).args(["-B", script, text(&exported(&sandbox))]));
}

/// Runs where `R1_TEST_SIGSTORE` names a directory of node modules with Sigstore's; `./test typescript` does.
#[test]
fn stoke_28_sigstore_verifies_the_bundle_and_no_changed_one() {
    let Some(modules) = std::env::var_os("R1_TEST_SIGSTORE") else {
        eprintln!("skipped: R1_TEST_SIGSTORE is not set");
        return;
    };
    let sandbox = Sandbox::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_bundle.mjs");
    succeeds(Command::new("node").arg(script).arg(modules).arg(exported(&sandbox)));
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
}

#[test]
fn stoke_28_the_log_of_receipts_is_written_as_static_files() {
    let sandbox = Sandbox::new();
    let directory = exported(&sandbox);
    let key = sandbox.ok(&["receipt", "tiles", "public"]);
    assert_eq!(key, read(&directory, "instance.vkey"));
    let public = sandbox.path("public");
    let signed = checkpoint(&read(&public, "checkpoint"), &key).unwrap();
    assert_eq!((signed.origin(), signed.size()), ("example.org/r1", 2));
    assert_eq!(fs::read(public.join("tile/0/000.p/2")).unwrap().len(), 64);
    assert!(public.join("tile/entries/000.p/2").is_file());
}

#[test]
fn keys_are_made_for_exports_and_each_is_for_one_thing() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let made = sandbox.r1(&["receipt", "create", "last", "--export", "dsse"]);
    assert_eq!((made.code, made.stderr.matches("made a new key").count()), (0, 2), "{}", made.stderr);
    let keys = sandbox.json(&["key", "list", "--json"]);
    let mut uses: Vec<_> = keys["keys"].as_array().unwrap().iter().map(|key| key["use"].as_str().unwrap()).collect();
    uses.sort_unstable();
    assert_eq!(uses, ["attest", "log", "receipt"]);
    for key in keys["keys"].as_array().unwrap() {
        let (kid, used) = (key["kid"].as_str().unwrap(), key["use"].as_str().unwrap());
        if used != "receipt" {
            sandbox.r1(&["receipt", "create", "last", "--key", kid, "-o", "other.json"]).fails(2, "may not sign");
        }
        if used != "log" {
            sandbox.r1(&["key", "export", kid, "--format", "vkey"]).fails(2, "signs for no log");
        }
    }
    sandbox.r1(&["key", "new", "--use", "log", "--name", "with space"]).fails(2, "cannot name a log");
    sandbox.r1(&["key", "new", "--name", "example.org/r1"]).fails(2, "only a key for a log has its name");
}

#[test]
fn a_file_of_somebody_else_is_not_replaced_by_an_export() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    fs::write(sandbox.path("trusted_root.json"), "{}").unwrap();
    let create = ["receipt", "create", RUN, "--export", "dsse,bundle"];
    sandbox.r1(&create).fails(2, "trusted_root.json is there already, with other content");
    assert_eq!(read(&sandbox.path("."), "trusted_root.json"), "{}");
    for name in ["receipt.json", "intoto.json", "sigstore.json"] {
        assert!(!sandbox.path(&format!("{RUN}.{name}")).exists(), "{name}: all are written or none");
    }
    sandbox.ok(&[&create[..], &["--force"]].concat());
    assert!(read(&sandbox.path("."), "trusted_root.json").contains("tlogs"));
    sandbox.ok(&create);
}
