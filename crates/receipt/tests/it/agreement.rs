//! Cases for a second verifier: receipts as chance has them, sound and tampered with.
//!
//! `R1_RECEIPT_CASES=FILE` writes each as a line `{"receipt","verdict","event_index"}`, the file in base64, with `key`
//! if it is to be checked with that keyring entry, for `tools/verify_receipt.py --cases FILE` to say the same.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::UnixNanos;
use r1_receipt::key::{Entry, KnownKey, Revocation, RevocationReason, Scope, moment};
use r1_receipt::{Options, Report, Verdict, verify};
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
    match chance.below(28) {
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
        21 => forge.spec_version = chance.pick(&["1.0", "1.1", ""]).into(),
        _ => break_rule(chance, &mut forge),
    }
    forge.sign()
}

/// Breaks, or keeps, a rule between what one event says and what others are.
fn break_rule(chance: &mut Chance, forge: &mut Forge) {
    let ids = forge.ids();
    let nobody = format!("sha256:{}", hash("nobody"));
    let named = if chance.one_in(3) { &nobody } else { &ids[chance.below(ids.len())] };
    let type_name = chance.pick(&[
        "SKILL_AUTHORING_DECISION",
        "BEACON_LEDGER_EVENT",
        "GATE_DECISION",
        "MEMORY_READ",
        "MEMORY_READ",
        "TOOL_CALL",
    ]);
    let places: Vec<usize> = (0..ids.len()).filter(|place| forge.events[*place].type_name == type_name).collect();
    if places.is_empty() {
        return;
    }
    let event = &mut forge.events[chance.pick(&places)];
    let body = &mut event.body;
    match type_name {
        "SKILL_AUTHORING_DECISION" => match chance.below(4) {
            0 => body["confidence"] = chance.pick(&[0, 500, 1000]).into(),
            1 => body["mode"] = "llm-best-judgment".into(),
            2 => drop(event.preds.pop()),
            _ => body["revision_of"] = named.clone().into(),
        },
        "BEACON_LEDGER_EVENT" => match body["detail"].get_mut("command_event") {
            Some(link) if chance.one_in(2) => *link = named.clone().into(),
            _ => drop(event.preds.pop()),
        },
        "GATE_DECISION" => body["phase"] = chance.pick(&["NOPE", "START", "END", "plan", "EXECUTE"]).into(),
        "MEMORY_READ" => {
            event.preds.clear();
            match chance.below(4) {
                0 => body["run_id"] = "another".into(),
                1 => (body["tier"], body["store"], body["key"]) = ("L0".into(), "working".into(), "identity".into()),
                _ => {}
            }
        }
        _ => {
            let args = chance.pick(&["{}", "x", "", "[1,]", "{\"a\":1e400}", "\"\\ud800\"", "[[[]]]", "{} "]);
            body["args"] = args.into();
            body["args_hash"] = hash(args).into();
        }
    }
}

/// What a keyring says of the key that signs the samples, around the end of the run at `end`.
fn entry(chance: &mut Chance, end: i64) -> Entry {
    let mut around = || moment(UnixNanos(end + chance.pick(&[-1_000_000_000, -1, 0, 1, 15_000_000])));
    let (not_before, not_after, revoked_at) = (around(), around(), around());
    let mut entry = Entry::new(sample::key().public(), Scope::Agent, "agent:test", not_before);
    entry.not_after = chance.one_in(2).then_some(not_after);
    let reason = chance.pick(&[RevocationReason::Retired, RevocationReason::Retired, RevocationReason::Compromised]);
    entry.revocation = chance.one_in(2).then_some(Revocation { at: revoked_at, reason });
    entry
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
    let mut tell = |bytes: &[u8], entry: Option<Entry>| -> Report {
        let key = entry.as_ref().map(Entry::to_json);
        let keys = entry.and_then(KnownKey::of_entry).map_or_else(sample::known, |key| [key]);
        let report = verify(bytes, &Options { keys: &keys, ..Options::default() });
        let index = report.failure.as_ref().and_then(|failure| failure.event_index);
        if let Some(out) = &mut cases {
            let (receipt, verdict) = (STANDARD.encode(bytes), report.verdict().to_string());
            let mut case = json!({ "receipt": receipt, "verdict": verdict, "event_index": index });
            if let Some(key) = key {
                case["key"] = key.into();
            }
            writeln!(out, "{case}").unwrap();
        }
        report
    };
    let mut refused = 0;
    for seed in 0..GRAPHS {
        let mut chance = Chance::new(seed + 1);
        let sound = sample::random(&mut chance).receipt().bytes;
        let report = tell(&sound, None);
        assert_eq!(report.verdict(), Verdict::Valid, "graph {seed}");
        let tampered = tamper(&mut chance, &sound);
        refused += u64::from(tell(&tampered, None).verdict() != Verdict::Valid);
        if chance.one_in(10) {
            let dated = entry(&mut chance, report.run.unwrap().at);
            tell(&sound, Some(dated));
        }
    }
    // A new edge, a stub or another number may leave a receipt that holds, once it is signed again.
    assert!(refused > GRAPHS / 2, "only {refused} of {GRAPHS} changes were seen");
    if let Some(mut out) = cases {
        out.flush().unwrap();
    }
}
