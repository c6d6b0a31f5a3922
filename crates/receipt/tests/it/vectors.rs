//! The published vectors, value by value and bit by bit.

use r1_event::Statement;
use r1_receipt::{Options, Reason, Receipt, verify};
use serde_json::Value as Json;

use crate::forge::{Forge, hex};
use crate::sample::{self, check, full, hash, known, verdict};

pub(crate) const A: &[u8] = include_bytes!("../fixtures/vector_a.receipt.json");
pub(crate) const B: &[u8] = include_bytes!("../fixtures/vector_b.receipt.json");

fn integrity(bytes: &[u8]) -> String {
    verify(bytes, &Options { keys: &known(), integrity_only: true, ..Options::default() }).verdict().to_string()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    hex(&sha2::Sha256::digest(bytes))
}

#[test]
fn stoke_11_vector_a_has_its_ids_its_order_its_digest_and_its_signature() {
    assert_eq!(
        (A.len(), sha256(A).as_str()),
        (1328, "cdfeee18c65b1778e5f6f6ee19557971cf842b49d79aacc7012acafbc61d74c8")
    );
    let receipt = Receipt::read(A).unwrap();
    assert_eq!(receipt.digest().to_string(), "f96d7d35d8cb6912aa1d228ae35e0ae2cef3741a06826440cbca75880e4df88d");
    let ids: Vec<String> = receipt.events.iter().map(|event| event.parts.as_ref().unwrap().id.to_string()).collect();
    let order = ["521db0e1", "2aa31fff", "630f07f9", "b924ad8e", "8a925795"];
    assert!(
        ids.iter().zip(order).all(|(id, start)| id.strip_prefix("sha256:").unwrap().starts_with(start)),
        "r x z q y"
    );
    assert_eq!(integrity(A), "VALID");
    let report = check(A);
    assert_eq!(report.verdict().to_string(), "INVALID bad_body");
    assert_eq!(report.failure.unwrap().event_index, Some(0));
}

#[test]
fn stoke_11_the_two_other_orders_of_vector_a_are_refused() {
    let sorted = Forge::open(A);
    let [r, x, z, q, y] = [0, 1, 2, 3, 4];
    for order in [[r, q, x, z, y], [r, q, x, y, z]] {
        let mut forge = sorted.clone();
        forge.sort = false;
        forge.events = order.iter().map(|place| sorted.events[*place].clone()).collect();
        for event in &mut forge.events {
            for pred in &mut event.preds {
                *pred = order.iter().position(|place| place == pred).unwrap();
            }
        }
        assert_eq!(integrity(&forge.sign()), "INVALID wrong_order");
    }
}

#[test]
fn stoke_11_vector_b_is_valid_in_every_value() {
    assert_eq!(
        (B.len(), sha256(B).as_str()),
        (5417, "9c5cb90813ab14f32ae2952455657a21c4fab02b0ed297d4eab544b2a419c175")
    );
    let report = check(B);
    assert_eq!(report.verdict().to_string(), "VALID");
    assert_eq!(report.digest.as_deref(), Some("e2074a9e511245c47a3860d28015ae69d3fc3ddc4d92bfd5a8ea291a75c5c9ba"));
    let run = report.run.as_ref().unwrap();
    assert_eq!((run.size, run.state.as_str(), run.outcome.as_str()), (15, "complete", "cancelled"));
    assert_eq!((report.transitions, report.decisions), (1, 1));
    let given = &report.overrides[0];
    assert_eq!(
        (given.gate.as_str(), given.actor.as_str(), given.reason.as_str()),
        ("PLAN.entry/policy", "operator:alice", "reviewed by hand")
    );
    let seal = Statement {
        run_id: sample::RUN.parse().unwrap(),
        size: 15,
        root: run.root_blake3.parse().unwrap(),
        head: run.head_blake3.parse().unwrap(),
    };
    assert_eq!(seal.message().len(), 115);
    assert_eq!(sha256(&seal.message()), "38c67316cc028c9b44acafd37b2a7288180dd5acac3d4787f17801cfb0817f8b");
    assert_eq!(Forge { reseal: true, ..Forge::open(B) }.sign(), B, "the seal and the signature come out the same");
}

/// Vector B was made by hand; a log that tells the same story gives nodes of the same shape.
#[test]
fn stoke_11_a_log_gives_bodies_like_those_of_vector_b() {
    let bytes = full().receipt().bytes;
    let ours: Json = serde_json::from_slice(&bytes).unwrap();
    let theirs: Json = serde_json::from_slice(B).unwrap();
    let keys = |receipt: &Json, type_name: &str, wanted: &dyn Fn(&Json) -> bool| -> Vec<String> {
        let events = receipt["events"].as_array().unwrap();
        let event = events.iter().find(|event| event["type"] == type_name && wanted(&event["body"])).unwrap();
        event["body"].as_object().unwrap().keys().cloned().collect()
    };
    let same = |type_name: &str, wanted: &dyn Fn(&Json) -> bool| {
        assert_eq!(keys(&ours, type_name, wanted), keys(&theirs, type_name, wanted), "{type_name}");
    };
    same("MEMORY_READ", &|body| body["key"] == "identity");
    same("GATE_DECISION", &|body| body.get("override").is_some());
    same("PHASE_TRANSITION", &|_| true);
    same("THOUGHT", &|body| body["turn_id"] == "T1");
    same("TOOL_CALL", &|body| body["status"] == "ok");
    same("ARTIFACT", &|body| body["kind"] == "run_log");
    assert_eq!(hash("x").len(), 64);
}

#[test]
fn stoke_12_no_flipped_bit_of_a_vector_or_of_a_real_receipt_is_valid() {
    let real = full().receipt().bytes;
    assert_eq!(verdict(&real), "VALID");
    for (name, bytes) in [("vector A", A), ("vector B", B), ("a real receipt", &real)] {
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.to_vec();
            damaged[at / 8] ^= 1 << (at % 8);
            let report = check(&damaged);
            assert_ne!(report.verdict().exit(), 0, "{name}: bit {at}");
            let reason = report.verdict().reason().unwrap();
            // The signature covers every byte: nothing behind it is reached.
            assert!(reason <= Reason::SignatureMismatch, "{name}: bit {at}: {reason}");
        }
    }
}
