//! One over each bound is refused; at the bound nothing is.

use std::fmt::Write as _;

use r1_receipt::file::{MAX_BODY, MAX_EVENTS, MAX_FILE, MAX_PREDS};
use r1_receipt::{Reason, Receipt};

fn receipt_of(events: &str) -> Vec<u8> {
    let tail = r#""signature":"","signing_key_id":"","spec_version":"1.0"}"#;
    format!("{{\"events\":[{events}],{tail}").into_bytes()
}

fn reason(bytes: &[u8]) -> Option<Reason> {
    Receipt::read(bytes).err()
}

fn event(body: &str, preds: &str) -> String {
    format!("{{\"body\":{body},\"id\":\"\",\"preds\":[{preds}],\"type\":\"\"}}")
}

#[test]
fn stoke_16_files_events_preds_bodies_strings_and_depth_have_bounds() {
    assert_eq!(reason(&vec![b' '; MAX_FILE + 1]), Some(Reason::TooLarge));
    assert_eq!(reason(&vec![b' '; MAX_FILE]), Some(Reason::BadJson));

    let items = |count: usize| ["1"].repeat(count).join(",");
    assert_eq!(reason(&receipt_of(&items(MAX_EVENTS))), None);
    assert_eq!(reason(&receipt_of(&items(MAX_EVENTS + 1))), Some(Reason::TooLarge));

    assert_eq!(reason(&receipt_of(&event("{}", &items(MAX_PREDS)))), None);
    assert_eq!(reason(&receipt_of(&event("{}", &items(MAX_PREDS + 1)))), Some(Reason::TooLarge));

    let body = |key: &str| format!("{{\"{key}\":[{}]}}", items((MAX_BODY - 8) / 2));
    assert_eq!((body("ab").len(), body("abc").len()), (MAX_BODY, MAX_BODY + 1));
    assert_eq!(reason(&receipt_of(&event(&body("ab"), ""))), None);
    assert_eq!(reason(&receipt_of(&event(&body("abc"), ""))), Some(Reason::TooLarge));

    let text = |len: usize| event(&format!("{{\"a\":\"{}\"}}", "x".repeat(len)), "");
    assert_eq!(reason(&receipt_of(&text(65_536))), None);
    assert_eq!(reason(&receipt_of(&text(65_537))), Some(Reason::TooLarge));

    // The receipt, its events, the event and its body are four levels.
    let deep = |levels: usize| event(&format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels)), "");
    assert_eq!(reason(&receipt_of(&deep(28))), None);
    assert_eq!(reason(&receipt_of(&deep(29))), Some(Reason::TooDeep));
    assert_eq!(reason(&receipt_of(&deep(1_000_000))), Some(Reason::TooDeep));
}

/// A chain of events as long as given, with ids that nobody has to compute: they are stubs.
fn chain(events: usize) -> Vec<u8> {
    let id = |n: usize| format!("\"sha256:{n:064x}\"");
    let mut out = String::new();
    for n in 0..events {
        let pred = if n == 0 { String::new() } else { id(n - 1) };
        let comma = if n == 0 { "" } else { "," };
        write!(
            out,
            "{comma}{{\"body\":{{\"stub\":\"erased\"}},\"id\":{},\"preds\":[{pred}],\"type\":\"THOUGHT\"}}",
            id(n)
        )
        .unwrap();
    }
    receipt_of(&out)
}

/// How long that takes, and that it grows with the number and not faster, is the benchmark's matter.
#[test]
fn stoke_16_a_million_events_are_read_ordered_and_judged() {
    let bytes = chain(MAX_EVENTS);
    let report = r1_receipt::verify(&bytes, &r1_receipt::Options::default());
    assert_eq!(report.verdict().reason(), Some(Reason::BadKeyId), "the graph is sound");
    assert_eq!(report.events, MAX_EVENTS);
}
