//! What is written for tools of others, checked with code of others.

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{DerSignature, VerifyingKey};
use r1_event::Digest;
use r1_receipt::export::{Envelope, NoteKey, PAYLOAD_TYPE, Statement, is_name};
use r1_receipt::key::{AttestKey, Entry, PrivateKey, PublicKey, Scope, SecretKey, Usage};
use r1_receipt::{NodeType, Reason};
use serde_json::{Value as Json, json};
use signed_note::{Note, StandardVerifier, VerifierList};

use crate::sample::{Log, RUN, full, hash, key};

/// RFC 6979, appendix A.2.5.
fn attest_key() -> AttestKey {
    let seed = r1_event::id::from_hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721").unwrap();
    AttestKey::from_seed(&seed.try_into().unwrap()).unwrap()
}

#[test]
fn stoke_28_a_checkpoint_is_a_note_that_signed_note_verifies_and_a_changed_one_is_not() {
    let secret = key();
    let note_key = NoteKey::new("example.org/r1/runs/run_1", &secret).unwrap();
    let root = Digest::new([7; 32]);
    let text = note_key.checkpoint(12, root);
    let verifies = |text: &str, vkey: &str| {
        let verifier = StandardVerifier::new(vkey).unwrap();
        let note = Note::from_bytes(text.as_bytes());
        note.is_ok_and(|note| note.verify(&VerifierList::new(vec![Box::new(verifier)])).is_ok())
    };
    assert!(verifies(&text, &note_key.vkey()));
    let read = note_key.read_checkpoint(&text).unwrap();
    assert_eq!((read.origin.as_str(), read.size, read.root), ("example.org/r1/runs/run_1", 12, root));
    for at in 0..text.len() {
        let mut damaged = text.clone().into_bytes();
        damaged[at] ^= 1;
        let Ok(damaged) = String::from_utf8(damaged) else { continue };
        assert!(!verifies(&damaged, &note_key.vkey()), "byte {at}");
        assert_eq!(note_key.read_checkpoint(&damaged), None, "byte {at}");
    }
    let other = SecretKey::from_seed([9; 32]);
    let other = NoteKey::new("example.org/r1/runs/run_1", &other).unwrap();
    assert!(!verifies(&text, &other.vkey()) && other.read_checkpoint(&text).is_none());
}

#[test]
fn a_log_has_a_name_without_spaces_and_one_that_follows_from_its_key() {
    for name in ["example.org/r1", "local/0123456789abcdef", "sömething"] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", "a b", "a+b", "a\nb", "a\u{2003}b"] {
        assert!(!is_name(name) && NoteKey::new(name, &key()).is_err(), "{name}");
    }
    let name = NoteKey::default_name(&key());
    assert!(name.starts_with("local/") && name.len() == "local/".len() + 16, "{name}");
}

#[test]
fn stoke_28_an_envelope_is_signed_over_its_pre_authentication_encoding() {
    let envelope = Envelope::sign("{}".into(), &attest_key());
    let json: Json = serde_json::from_str(&envelope.to_json()).unwrap();
    assert_eq!((&json["payload"], &json["payloadType"]), (&json!("e30="), &json!(PAYLOAD_TYPE)));
    assert_eq!(json["signatures"][0]["keyid"], envelope.key_id.thumbprint());
    let PublicKey::P256(public) = attest_key().public() else { panic!("a key of the other kind") };
    let public = VerifyingKey::from(public);
    let signature = DerSignature::from_bytes(&envelope.signature).unwrap();
    let encoding = b"DSSEv1 28 application/vnd.in-toto+json 2 {}";
    public.verify(encoding, &signature).unwrap();
    assert!(public.verify(b"DSSEv1 28 application/vnd.in-toto+json 2 []", &signature).is_err());
    assert_eq!(Envelope::sign("{}".into(), &attest_key()), envelope, "the same statement, the same bytes");
    let entry: Json = serde_json::from_str(&envelope.to_log_entry()).unwrap();
    assert_eq!((&entry["kind"], &entry["apiVersion"]), (&json!("dsse"), &json!("0.0.2")));
    assert_eq!(entry["spec"]["dsseV002"]["signatures"][0]["content"], json["signatures"][0]["sig"]);
}

#[test]
fn a_statement_says_what_the_receipt_says_in_short() {
    let log = full();
    let receipt = log.receipt();
    let statement: Json = serde_json::from_str(&Statement::of(&receipt.bytes).unwrap().to_json()).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:r1:stoke-run:v1");
    assert_eq!(statement["subject"][0]["name"], format!("{RUN}.receipt.json"));
    let predicate = &statement["predicate"];
    assert_eq!(predicate["receipt_digest"], receipt.digest.to_string());
    assert_eq!(predicate["signing_key_id"], receipt.key_id.to_string());
    assert_eq!((&predicate["log"]["run_id"], &predicate["log"]["kind"]), (&json!(RUN), &json!("run_log")));
    let counts = predicate["counts"].as_object().unwrap();
    let events: Json = serde_json::from_slice(&receipt.bytes).unwrap();
    let total: u64 = counts.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(total as usize, events["events"].as_array().unwrap().len());
    assert!(counts.keys().all(|name| NodeType::from_word(name).is_some()));
    assert_eq!(predicate["not_proved"].as_array().unwrap().len(), 4);
    assert_eq!(Statement::of(b"{}").unwrap_err(), Reason::BadShape);
}

#[test]
fn of_files_that_were_made_twice_the_newest_is_named() {
    let mut log = Log::new();
    log.turn("T1", &[]);
    for (name, path) in [("one", "b.txt"), ("two", "a.txt"), ("three", "b.txt")] {
        log.typed(
            "artifact.created",
            &json!({ "artifact_id": name, "kind": "skill", "mime": "text/plain", "size_bytes": 3,
                "sha256": hash(name), "path": path }),
        );
    }
    log.end();
    let named = |name: &str, hash: &str| json!({ "name": name, "digest": { "sha256": hash } });
    assert_eq!(products(&log), [named("a.txt", &hash("two")), named("b.txt", &hash("three"))]);
}

#[test]
fn stoke_28_a_file_is_named_with_its_own_digest_or_not_at_all() {
    let mut log = Log::new();
    log.turn("T1", &[]);
    for kind in ["patch", "file_snapshot"] {
        log.typed(
            "artifact.created",
            &json!({ "artifact_id": kind, "kind": kind, "mime": "text/x-diff", "size_bytes": 3,
                "sha256": hash("a diff, or a few lines"), "path": "greet.sh" }),
        );
    }
    let commit = "5b2c9a1f0e4d7c6b8a39281706f5e4d3c2b1a098";
    log.typed(
        "artifact.created",
        &json!({ "artifact_id": "commit", "kind": "commit", "mime": "text/x-git-commit", "size_bytes": 3,
            "sha256": hash("commit"), "metadata": { "commit": commit } }),
    );
    log.end();
    assert_eq!(products(&log), [json!({ "name": format!("git:{commit}"), "digest": { "gitCommit": commit } })]);
}

/// What a log's statement is about, besides the receipt.
fn products(log: &Log) -> Vec<Json> {
    let statement: Json = serde_json::from_str(&Statement::of(&log.receipt().bytes).unwrap().to_json()).unwrap();
    statement["subject"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn keys_of_both_kinds_survive_their_files() {
    let attest = PrivateKey::P256(attest_key());
    let again = PrivateKey::from_pem(&attest.to_pem().unwrap()).unwrap();
    assert_eq!(again.public(), attest.public());
    let entry = Entry::new(attest.public(), Scope::Agent, "agent:test", jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(entry.usage, Usage::Attest);
    assert_eq!(Entry::from_json(entry.to_json().as_bytes()).unwrap(), entry);
    let forged = entry.to_json().replace("\"y\": \"", "\"y\": \"A");
    assert!(Entry::from_json(forged.as_bytes()).is_err());
    assert!(!format!("{attest:?}").contains("c9af"));
    let receipt = PrivateKey::Ed25519(key());
    assert_eq!(PrivateKey::from_pem(&receipt.to_pem().unwrap()).unwrap().public(), receipt.public());
}
