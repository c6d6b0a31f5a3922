//! Cases for a second verifier: receipts as chance has them, sound and tampered with.
//!
//! `R1_RECEIPT_CASES=FILE` writes each as a line `{"receipt","verdict","event_index"}`, the file in base64, for
//! `tools/verify_receipt.py --cases FILE` to say the same.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_receipt::Verdict;
use serde_json::{Value as Json, json};

use crate::chance::Chance;
use crate::forge::Forge;
use crate::sample::{self, hash};

const GRAPHS: u64 = 10_000;

/// Changes a receipt in one way, signed again or not.
fn tamper(chance: &mut Chance, sound: &[u8]) -> Vec<u8> {
    let mut forge = Forge::open(sound);
    let count = forge.events.len();
    let (place, other) = (chance.below(count), chance.below(count));
    match chance.below(22) {
        0 if place != other => forge.events[place.max(other)].preds.push(place.min(other)),
        1 => drop(forge.events[place].preds.pop()),
        2 => {
            let (a, b) = (forge.events[place].preds.clone(), forge.events[other].preds.clone());
            let before = |preds: Vec<usize>, at: usize| preds.into_iter().filter(|pred| *pred < at).collect();
            (forge.events[place].preds, forge.events[other].preds) = (before(b, place), before(a, other));
        }
        3 => change_value(chance, &mut forge.events[place].body),
        4 => forge.events[place].body["extra"] = json!("x"),
        5 => drop_key(chance, &mut forge.events[place].body),
        6 => {
            forge.events[place].type_name =
                chance.pick(&["THOUGHT", "TOOL_CALL", "ARTIFACT", "MEMORY_READ", "DREAM", ""]).into()
        }
        7 => {
            forge.sort = false;
            forge.events.swap(place, other);
            for pred in forge.events.iter_mut().flat_map(|event| &mut event.preds) {
                *pred = if *pred == place {
                    other
                } else if *pred == other {
                    place
                } else {
                    *pred
                };
            }
        }
        8 => {
            forge.signing_key_id = chance
                .pick(&[
                    "kid:",
                    "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4l",
                    "kid:AAAA_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
                    "x",
                ])
                .into()
        }
        9 => forge.stub(place, chance.pick(&["erased", "withheld", "pruned", "lost"])),
        10 => forge.remove(place),
        11 => forge.events[place].foreign.push(format!("sha256:{}", hash("nobody"))),
        12 => forge.events[place].id = Some(format!("sha256:{}", hash("other"))),
        13 => {
            let twin = forge.events[place].clone();
            forge.events.push(twin);
        }
        14 => {
            forge.reseal = chance.one_in(2);
            let (key, value) = chance.pick(&[
                ("state", "open"),
                ("outcome", "none"),
                ("outcome", "failed"),
                ("root_blake3", "00"),
                ("run_id", "another"),
            ]);
            forge.run_log()[key] = value.into();
        }
        15 => forge.events[place].body["seq"] = json!(chance.below(1_000)),
        16 => {
            let kind = chance.pick(&[
                "fingerprint",
                "prior_fingerprint",
                "call_id",
                "args",
                "verdict",
                "from",
                "to",
                "round",
                "required",
                "task_id",
                "gate_id",
                "tier",
            ]);
            if forge.events[place].body.get(kind).is_some() {
                forge.events[place].body[kind] = chance.pick(&["L2", "L0", "allow", "PLAN", "x"]).into();
            }
        }
        17 => return respell(chance, sound),
        18..=20 => {
            let mut bytes = sound.to_vec();
            let at = chance.below(bytes.len());
            match chance.below(3) {
                0 => bytes[at] ^= 1 << chance.below(8),
                1 => bytes.truncate(at),
                _ => bytes.insert(at, *chance.pick(&[b" ", b"0", b"\"", b"}", b"\\", b"\xff"]).first().unwrap()),
            }
            return bytes;
        }
        _ => forge.spec_version = chance.pick(&["1.0", "1.1", ""]).into(),
    }
    forge.sign()
}

fn change_value(chance: &mut Chance, body: &mut Json) {
    let Some(object) = body.as_object_mut().filter(|object| !object.is_empty()) else { return };
    let at = chance.below(object.len());
    let value = object.values_mut().nth(at).unwrap();
    *value = match chance.below(9) {
        0 => json!(-1),
        1 => json!("changed"),
        2 => json!(true),
        3 => json!([]),
        4 => json!({}),
        5 => Json::Null,
        6 => json!(0.5),
        7 => json!(9_007_199_254_740_993_u64),
        _ => json!(hash("changed")),
    };
}

fn drop_key(chance: &mut Chance, body: &mut Json) {
    let Some(object) = body.as_object_mut().filter(|object| !object.is_empty()) else { return };
    let at = chance.below(object.len());
    let key = object.keys().nth(at).unwrap().clone();
    object.remove(&key);
}

/// The same values in another spelling, or with values that receipts do not have.
fn respell(chance: &mut Chance, sound: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(sound.to_vec()).unwrap();
    let (from, to) = chance.pick(&[
        ("\"seq\":1,", "\"seq\":1.0,"),
        ("\"seq\":1,", "\"seq\":-0,"),
        ("\"seq\":1,", "\"seq\":1,\"seq\":1,"),
        ("\"seq\":1,", "\"seq\":null,"),
        ("\"seq\":1,", "\"seq\":1e0,"),
        ("\"hit\":true", "\"hit\":tru"),
        ("identity", "\\u0069dentity"),
        ("identity", "\\ud800"),
        ("identity", "\\ud83d\\ude00"),
        ("\"by\":", "\"\\u0062y\":1,\"by\":"),
        (",\"id\":", " ,\"id\":"),
        ("\"id\":", "\"idx\":"),
        ("\"preds\":[]", "\"preds\":{}"),
        ("\"preds\":[]", "\"preds\":[1]"),
        ("\"events\":", "\"event\":"),
        ("\"signature\":\"ed25519:", "\"signature\":\"ed25519:0"),
        ("\"signature\":\"ed25519:", "\"signature\":\"ED25519:"),
        ("\"spec_version\":\"1.0\"", "\"spec_version\":1"),
        ("{\"events\"", "\u{feff}{\"events\""),
    ]);
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn stoke_13_ten_thousand_graphs_and_what_became_of_them_are_judged_as_the_second_verifier_judges_them() {
    let mut cases = std::env::var_os("R1_RECEIPT_CASES").map(|path| BufWriter::new(File::create(path).unwrap()));
    let mut tell = |bytes: &[u8]| {
        let report = sample::check(bytes);
        let index = report.failure.as_ref().and_then(|failure| failure.event_index);
        if let Some(out) = &mut cases {
            let case = json!({ "receipt": STANDARD.encode(bytes), "verdict": report.verdict().to_string(), "event_index": index });
            writeln!(out, "{case}").unwrap();
        }
        report.verdict()
    };
    let mut refused = 0;
    for seed in 0..GRAPHS {
        let mut chance = Chance::new(seed + 1);
        let sound = sample::random(&mut chance).receipt().bytes;
        assert_eq!(tell(&sound), Verdict::Valid, "graph {seed}");
        let tampered = tamper(&mut chance, &sound);
        let verdict = tell(&tampered);
        refused += u64::from(verdict != Verdict::Valid);
    }
    // A new edge, a stub or another number may leave a receipt that holds, once it is signed again.
    assert!(refused > GRAPHS / 2, "only {refused} of {GRAPHS} changes were seen");
    if let Some(mut out) = cases {
        out.flush().unwrap();
    }
}
