//! Every reason there is, each reached by a receipt of its own.

use std::collections::BTreeMap;

use jiff::Timestamp;
use r1_receipt::key::{Entry, KnownKey, Revocation, RevocationReason, Scope, SecretKey, Usage};
use r1_receipt::{Builder, GatePolicy, Options, Reason, verify};
use serde_json::{Value as Json, json};

use crate::forge::Forge;
use crate::sample::{self, Log, builder, full, hash, key, known};

/// A sound receipt of a whole run, taken apart.
fn sound() -> Forge {
    Forge::open(&full().receipt().bytes)
}

fn forged(change: impl FnOnce(&mut Forge)) -> Vec<u8> {
    let mut forge = sound();
    change(&mut forge);
    forge.sign()
}

fn replaced(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(full().receipt().bytes).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1).into_bytes()
}

fn nested(depth: usize) -> Json {
    (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }))
}

fn seconds(unix: i64) -> Timestamp {
    Timestamp::from_second(unix).unwrap()
}

fn entry(change: impl FnOnce(&mut Entry)) -> Vec<KnownKey> {
    let mut entry = Entry::new(key().public(), Scope::Agent, "agent:test", seconds(1_777_000_000));
    change(&mut entry);
    vec![KnownKey::of_entry(entry).unwrap()]
}

/// Receipts that are wrong in one way each, with the keys to check them with.
fn fixtures() -> Vec<(Reason, Vec<u8>, Vec<KnownKey>)> {
    let sound = || full().receipt().bytes;
    let mut all = Vec::new();
    let mut add = |reason, bytes, keys: Vec<KnownKey>| all.push((reason, bytes, keys));
    let own = || known().to_vec();
    add(Reason::TooLarge, forged(|forge| forge.run_log()["run_id"] = "x".repeat(65_537).into()), own());
    add(Reason::BadUtf8, [sound(), vec![0xff]].concat(), own());
    add(Reason::BadJson, [sound(), b"{}".to_vec()].concat(), own());
    add(Reason::BadJson, replaced("mend\"", "mend\\ud800\""), own());
    add(Reason::DuplicateKey, replaced("\"spec_version\"", "\"spec_version\":\"1.0\",\"spec_version\""), own());
    add(Reason::TooDeep, forged(|forge| forge.run_log()["deep"] = nested(29)), own());
    add(Reason::BadNumber, forged(|forge| forge.run_log()["size"] = json!(1.5)), own());
    add(Reason::BadNumber, forged(|forge| forge.run_log()["size"] = json!(1_u64 << 53)), own());
    add(Reason::BadShape, forged(|forge| forge.run_log()["size"] = Json::Null), own());
    add(Reason::BadShape, b"[]".to_vec(), own());
    add(Reason::BadShape, replaced("\"spec_version\"", "\"extra\":1,\"spec_version\""), own());
    add(Reason::UnknownSpecVersion, forged(|forge| forge.spec_version = "2.0".into()), own());
    add(Reason::NotCanonical, [sound(), b"\n".to_vec()].concat(), own());
    add(Reason::BadEvent, replaced("{\"body\"", "{\"also\":1,\"body\""), own());
    add(Reason::UnknownEventType, forged(|forge| forge.events[0].type_name = "DREAM".into()), own());
    add(Reason::BadEventId, forged(|forge| forge.events[0].id = Some(format!("sha256:{}", hash("other")))), own());
    add(
        Reason::DuplicateEvent,
        forged(|forge| {
            let last = forge.events.len() - 1;
            let twin = forge.events[last].clone();
            forge.events.push(twin);
        }),
        own(),
    );
    add(Reason::DanglingPred, forged(|forge| forge.events[1].foreign.push(format!("sha256:{}", hash("gone")))), own());
    add(
        Reason::Cycle,
        forged(|forge| {
            let thought = forge.first("THOUGHT");
            forge.stub(thought, "erased");
            let last = forge.events.len() - 2;
            forge.events[thought].preds.push(last);
            forge.stub(last, "withheld");
            forge.events[last].preds.push(thought);
        }),
        own(),
    );
    add(
        Reason::WrongOrder,
        forged(|forge| {
            forge.sort = false;
            forge.events.reverse();
            let last = forge.events.len() - 1;
            for pred in forge.events.iter_mut().flat_map(|event| &mut event.preds) {
                *pred = last - *pred;
            }
        }),
        own(),
    );
    add(Reason::BadKeyId, forged(|forge| forge.signing_key_id = "kid:me".into()), own());
    add(Reason::KeyUnknown, sound(), Vec::new());
    let weak = KnownKey::bare([0; 32]);
    add(Reason::WeakKey, forged(|forge| forge.signing_key_id = weak.kid().to_string()), vec![weak.clone()]);
    add(Reason::BadSignatureEncoding, replaced("\"signature\":\"ed25519:", "\"signature\":\"ED25519:"), own());
    add(Reason::SignatureMismatch, sound_by_another(), own());
    add(Reason::KeyUse, sound(), entry(|entry| entry.usage = Usage::Log));
    add(Reason::KeyNotYetValid, sound(), entry(|entry| entry.not_before = seconds(1_777_000_001)));
    add(Reason::KeyExpired, sound(), entry(|entry| entry.not_after = Some(seconds(1_776_999_999))));
    let compromised = Revocation { at: seconds(1_999_000_000), reason: RevocationReason::Compromised };
    add(Reason::KeyRevoked, sound(), entry(|entry| entry.revocation = Some(compromised)));
    add(Reason::BadBody, forged(|forge| forge.events[0].body["extra"] = json!(1)), own());
    for type_name in ["GATE_DECISION", "PHASE_TRANSITION"] {
        let stubbed = forged(|forge| forge.stub(forge.first(type_name), "erased"));
        add(Reason::StubForbidden, stubbed, own());
    }
    add(
        Reason::SeqOrder,
        forged(|forge| {
            let first = forge.first("MEMORY_READ");
            forge.events[first].body["seq"] = json!(999);
        }),
        own(),
    );
    add(
        Reason::BadRoot,
        forged(|forge| {
            let thought = forge.first("THOUGHT");
            forge.events[thought].preds.clear();
        }),
        own(),
    );
    add(Reason::BadRunLog, forged(|forge| forge.run_log()["outcome"] = "none".into()), own());
    add(
        Reason::BadRunLog,
        forged(|forge| {
            forge.events.last_mut().unwrap().preds.pop();
        }),
        own(),
    );
    add(Reason::SealMismatch, forged(|forge| forge.run_log()["root_blake3"] = hash("other").into()), own());
    add(
        Reason::CallConflict,
        forged(|forge| {
            let (from, to) = (
                forge.find("TOOL_CALL", |body| body["status"] == "ok"),
                forge.find("TOOL_CALL", |body| body["status"] == "denied"),
            );
            forge.events[to].body["call_id"] = forge.events[from].body["call_id"].clone();
        }),
        own(),
    );
    add(
        Reason::MemoryConflict,
        forged(|forge| {
            let read = forge.find("MEMORY_READ", |body| body["tier"] == "L1");
            forge.events[read].body["fingerprint"] = hash("other").into();
        }),
        own(),
    );
    add(
        Reason::L0Written,
        forged(|forge| {
            let write = forge.first("MEMORY_WRITE");
            forge.events[write].body["tier"] = "L0".into();
            forge.events[write].body["store"] = "working".into();
            forge.events[write].body["by"] = "operator".into();
        }),
        own(),
    );
    add(
        Reason::PhaseOrder,
        forged(|forge| {
            let at = forge.first("PHASE_TRANSITION");
            forge.events[at].body["to"] = "VERIFY".into();
        }),
        own(),
    );
    add(
        Reason::PresetChanged,
        two_transitions(|forge, second| forge.events[second].body["preset_hash"] = hash("new").into()),
        own(),
    );
    add(
        Reason::GateMissing,
        forged(|forge| {
            let at = forge.first("PHASE_TRANSITION");
            forge.events[at].body["required"] = json!(["PLAN.entry/policy", "PLAN.entry/tests"]);
        }),
        own(),
    );
    add(
        Reason::GateMissing,
        forged(|forge| {
            let at = forge.first("PHASE_TRANSITION");
            forge.events[at].body["required"] = json!([]);
        }),
        own(),
    );
    add(
        Reason::GateNotAllowed,
        forged(|forge| {
            let at = forge.find("GATE_DECISION", |body| body.get("override").is_some());
            forge.remove(at);
        }),
        own(),
    );
    add(
        Reason::OverrideInvalid,
        forged(|forge| {
            let at = forge.find("GATE_DECISION", |body| body.get("override").is_some());
            forge.events[at].body["override"]["actor"] = "agent:x".into();
        }),
        own(),
    );
    add(
        Reason::RunUnbound,
        forged(|forge| {
            forge.events.pop();
        }),
        own(),
    );
    add(
        Reason::RunOpen,
        {
            let mut log = Log::new();
            log.turn("T1", &[]);
            log.receipt().bytes
        },
        own(),
    );
    add(
        Reason::RunPruned,
        forged(|forge| {
            forge.reseal = true;
            forge.run_log()["first_seq"] = json!(2);
        }),
        own(),
    );
    all
}

/// A receipt that names the key of the samples and was signed with another.
fn sound_by_another() -> Vec<u8> {
    sound().sign_with(&SecretKey::from_seed([9; 32]))
}

fn two_transitions(change: impl FnOnce(&mut Forge, usize)) -> Vec<u8> {
    let mut log = Log::new();
    log.gate(1, "START>PLAN", "PLAN.entry/policy", "allow");
    log.transition(1, "START", "PLAN", &["PLAN.entry/policy"]);
    log.gate(2, "PLAN>EXECUTE", "PLAN.exit/scope", "allow");
    log.gate(2, "PLAN>EXECUTE", "EXECUTE.entry/policy", "allow");
    log.transition(2, "PLAN", "EXECUTE", &["EXECUTE.entry/policy", "PLAN.exit/scope"]);
    log.end();
    let receipt = log.receipt().bytes;
    assert_eq!(sample::verdict(&receipt), "VALID");
    let mut forge = Forge::open(&receipt);
    let second = forge.find("PHASE_TRANSITION", |body| body["round"] == 2);
    change(&mut forge, second);
    forge.sign()
}

#[test]
fn a_run_that_came_to_no_gate_does_not_meet_a_demand_for_gates() {
    let mut gates = GatePolicy::default();
    let keys = entry(|_| {});
    let mut log = Log::new();
    log.turn("T1", &[]);
    log.end();
    let bytes = log.receipt().bytes;
    let check = |gates: &GatePolicy| verify(&bytes, &Options { keys: &keys, gates: Some(gates), ..Options::default() });
    assert_eq!(check(&gates).verdict().reason(), None, "nothing is demanded");
    gates.demand("VERIFY.exit", "review");
    let report = check(&gates);
    assert_eq!(report.verdict().reason(), Some(Reason::GatePolicyUnmet));
    let failure = report.failure.unwrap();
    assert_eq!(failure.expected.as_deref(), Some("VERIFY.exit/review"));
    assert_eq!(failure.found.as_deref(), Some("no phase transition"));
}

/// What needs more than a file and keys: a demand on the key, on the gates, or a log.
fn with_options() -> BTreeMap<Reason, Reason> {
    let bytes = full().receipt().bytes;
    let keys = entry(|_| {});
    let mut gates = GatePolicy::default();
    gates.demand("PLAN.entry", "review");
    let mut other = Log::new();
    other.turn("T1", &[]);
    other.end();
    let check = |options: Options<'_>| {
        let options = Options { keys: &keys, ..options };
        verify(&bytes, &options).verdict().reason().unwrap()
    };
    let dropped = {
        let mut forge = sound();
        let write = forge.first("MEMORY_WRITE");
        forge.remove(write);
        forge.sign()
    };
    let log: Builder = builder(full().records());
    let mismatch = verify(&dropped, &Options { keys: &keys, log: Some(&log), ..Options::default() });
    BTreeMap::from([
        (Reason::KeyScope, check(Options { scope: Some(Scope::Team), ..Options::default() })),
        (Reason::GatePolicyUnmet, check(Options { gates: Some(&gates), ..Options::default() })),
        (Reason::LogMismatch, check(Options { log: Some(&builder(other.records())), ..Options::default() })),
        (Reason::GraphMismatch, mismatch.verdict().reason().unwrap()),
    ])
}

#[test]
fn stoke_14_every_reason_is_reached_and_by_what_should_reach_it() {
    let mut reached: Vec<Reason> = Vec::new();
    for (expected, bytes, keys) in fixtures() {
        let report = verify(&bytes, &Options { keys: &keys, ..Options::default() });
        assert_eq!(report.verdict().reason(), Some(expected), "{:?}", report.failure);
        reached.push(expected);
    }
    for (expected, found) in with_options() {
        assert_eq!(expected, found);
        reached.push(found);
    }
    // These two are about the command: its own tests reach them.
    reached.extend([Reason::Usage, Reason::Io]);
    let missed: Vec<_> = Reason::ALL.iter().filter(|reason| !reached.contains(reason)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn stoke_14_of_two_faults_the_one_that_is_looked_for_first_is_told() {
    let both = forged(|forge| {
        forge.events[0].body["extra"] = json!(1);
        forge.run_log()["deep"] = nested(29);
    });
    assert_eq!(sample::verdict(&both), "INVALID too_deep");
    let both = forged(|forge| {
        forge.events[3].body["extra"] = json!(1);
        forge.events[1].body["extra"] = json!(1);
        forge.run_log()["outcome"] = "none".into();
    });
    let report = sample::check(&both);
    assert_eq!(report.verdict().to_string(), "INVALID bad_body");
    let first = sound().sign();
    let places: Vec<Json> = serde_json::from_slice::<Json>(&both).unwrap()["events"].as_array().unwrap().clone();
    let lowest = places.iter().position(|event| event["body"].get("extra").is_some());
    assert_eq!(report.failure.unwrap().event_index, lowest);
    assert_eq!(sample::verdict(&first), "VALID");
}

/// A sound receipt, who signs it, and what the verifier knows of the key.
struct Case {
    forge: Forge,
    signer: SecretKey,
    entry: Entry,
}

type Fault = (Reason, fn(&mut Case));

/// Faults that can stand beside each other, in the order in which they are looked for.
const FAULTS: &[Fault] = &[
    (Reason::UnknownEventType, |case| case.forge.events[0].type_name = "DREAM".into()),
    (Reason::BadEventId, |case| case.forge.events[0].id = Some(format!("sha256:{}", hash("other")))),
    (Reason::DanglingPred, |case| case.forge.events[1].foreign.push(format!("sha256:{}", hash("gone")))),
    (Reason::BadKeyId, |case| case.forge.signing_key_id = "kid:me".into()),
    (Reason::SignatureMismatch, |case| case.signer = SecretKey::from_seed([9; 32])),
    (Reason::KeyUse, |case| case.entry.usage = Usage::Log),
    (Reason::KeyNotYetValid, |case| case.entry.not_before = seconds(1_777_000_001)),
    (Reason::KeyExpired, |case| case.entry.not_after = Some(seconds(1_776_999_999))),
    (Reason::KeyRevoked, |case| {
        case.entry.revocation = Some(Revocation { at: seconds(1_999_000_000), reason: RevocationReason::Compromised });
    }),
    (Reason::BadBody, |case| case.forge.events[0].body["extra"] = json!(1)),
    (Reason::StubForbidden, |case| case.forge.stub(case.forge.first("GATE_DECISION"), "erased")),
    (Reason::SeqOrder, |case| case.forge.events[0].body["seq"] = json!(999)),
    (Reason::BadRoot, |case| case.forge.events[0].body["key"] = "other".into()),
    (Reason::BadRunLog, |case| case.forge.run_log()["first_seq"] = json!(1_000_000)),
    (Reason::SealMismatch, |case| case.forge.run_log()["root_blake3"] = hash("other").into()),
    (Reason::CallConflict, |case| {
        let [from, to] = ["ok", "denied"].map(|status| case.forge.find("TOOL_CALL", |body| body["status"] == status));
        case.forge.events[to].body["call_id"] = case.forge.events[from].body["call_id"].clone();
    }),
    (Reason::MemoryConflict, |case| {
        let read = case.forge.find("MEMORY_READ", |body| body["tier"] == "L1");
        case.forge.events[read].body["fingerprint"] = hash("other").into();
    }),
    (Reason::PhaseOrder, |case| {
        let at = case.forge.first("PHASE_TRANSITION");
        case.forge.events[at].body["to"] = "VERIFY".into();
    }),
    (Reason::GateMissing, |case| {
        let at = case.forge.first("PHASE_TRANSITION");
        case.forge.events[at].body["required"] = json!(["PLAN.entry/policy", "PLAN.entry/tests"]);
    }),
    (Reason::GateNotAllowed, |case| {
        let at = case.forge.find("GATE_DECISION", |body| body.get("override").is_some());
        case.forge.remove(at);
    }),
    (Reason::OverrideInvalid, |case| {
        let at = case.forge.find("GATE_DECISION", |body| body.get("override").is_some());
        case.forge.events[at].body["override"]["actor"] = "agent:x".into();
    }),
    (Reason::RunOpen, |case| {
        case.forge.run_log()["state"] = "open".into();
        case.forge.run_log()["outcome"] = "none".into();
    }),
];

#[test]
fn stoke_14_of_any_two_faults_the_one_of_the_earlier_check_is_told() {
    for (place, (earlier, first)) in FAULTS.iter().enumerate() {
        for (later, second) in &FAULTS[place..] {
            let entry = Entry::new(key().public(), Scope::Agent, "agent:test", seconds(1_777_000_000));
            let mut case = Case { forge: sound(), signer: key(), entry };
            // The later one first: it may need what the earlier one takes away.
            second(&mut case);
            if earlier != later {
                first(&mut case);
            }
            let keys = [KnownKey::of_entry(case.entry).unwrap()];
            let report = verify(&case.forge.sign_with(&case.signer), &Options { keys: &keys, ..Options::default() });
            assert_eq!(report.verdict().reason(), Some(*earlier), "{earlier:?} and {later:?}: {:?}", report.failure);
        }
    }
}

#[test]
fn stoke_14_the_format_of_others_is_read_leniently_only_when_asked() {
    let bytes = full().receipt().bytes;
    let value: Json = serde_json::from_slice(&bytes).unwrap();
    let pretty = serde_json::to_vec_pretty(&value).unwrap();
    assert_eq!(sample::verdict(&pretty), "INVALID not_canonical");
    assert_eq!(r1_receipt::file::canonicalise(&pretty).unwrap(), bytes);
    assert_eq!(r1_receipt::file::canonicalise(b"[]"), Err(Reason::BadShape));
}
