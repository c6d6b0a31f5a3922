//! A receipt and the log that it names.

use r1_receipt::key::SecretKey;
use r1_receipt::{Options, Verdict, Withhold, verify};

use crate::forge::Forge;
use crate::sample::{self, Log, builder, full, key, known, receipt};

fn against(bytes: &[u8], log: &Log) -> String {
    let builder = builder(log.records());
    let report = verify(bytes, &Options { keys: &known(), log: Some(&builder), ..Options::default() });
    assert_eq!(report.log_checked, matches!(report.verdict(), Verdict::Valid | Verdict::Incomplete(_)));
    report.verdict().to_string()
}

/// A log like the sample's with another end.
fn continued(events: usize, more: impl FnOnce(&mut Log)) -> Log {
    let mut log = Log::new();
    log.turn("T1", &[]);
    for _ in 0..events {
        log.user("more");
    }
    more(&mut log);
    log
}

#[test]
fn stoke_15_the_same_log_and_key_give_the_same_bytes() {
    let log = full();
    assert_eq!(log.receipt(), log.receipt());
    assert_eq!(receipt(log.records()), full().receipt(), "made elsewhere");
    let other = builder(log.records()).sign(&SecretKey::from_seed([1; 32]), Withhold::default()).unwrap();
    assert_ne!(other.digest, log.receipt().digest);
}

#[test]
fn stoke_17_truncated_rewritten_extended_and_foreign_logs_are_told() {
    let bytes = full().receipt().bytes;
    assert_eq!(against(&bytes, &full()), "VALID");
    assert_eq!(against(&bytes, &Log::new()), "INVALID log_mismatch", "truncated or foreign");
    let open = continued(3, |_| {});
    let partial = open.receipt().bytes;
    assert_eq!(against(&partial, &open), "INCOMPLETE run_open");
    assert_eq!(against(&partial, &continued(2, |_| {})), "INVALID log_mismatch", "truncated");
    assert_eq!(against(&partial, &continued(4, |_| {})), "INVALID log_mismatch", "extended");
    let rewritten = continued(2, |log| {
        log.user("something else");
    });
    assert_eq!(rewritten.records().len(), open.records().len());
    assert_eq!(against(&partial, &rewritten), "INVALID log_mismatch", "rewritten");
    let mut foreign = Log::of("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C");
    foreign.turn("T1", &[]);
    for _ in 0..3 {
        foreign.user("more");
    }
    assert_eq!(against(&partial, &foreign), "INVALID log_mismatch", "foreign");
}

#[test]
fn stoke_17_each_name_of_the_log_is_compared_although_everything_was_signed_again() {
    let log = full();
    let sound = Forge::open(&log.receipt().bytes);
    let other = sample::hash("other");
    for (key, value) in [
        ("run_id", "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C"),
        ("head_blake3", other.as_str()),
        ("root_blake3", &other),
        ("root_sha256", &other),
    ] {
        let mut forge = sound.clone();
        forge.reseal = true;
        forge.run_log()[key] = value.into();
        assert_eq!(against(&forge.sign(), &log), "INVALID log_mismatch", "{key}");
    }
    let mut longer = sound.clone();
    longer.reseal = true;
    let size = log.records().len() + 1;
    longer.run_log()["size"] = size.into();
    longer.run_log()["seq"] = size.into();
    assert_eq!(against(&longer.sign(), &log), "INVALID log_mismatch");
}

/// Neither is covered by the seal: only the log can tell how and when the run ended.
#[test]
fn stoke_17_another_end_than_the_logs_is_told() {
    let log = full();
    let sound = Forge::open(&log.receipt().bytes);
    for (key, value) in [("outcome", "failed"), ("at", "1777000000000000000")] {
        let mut forge = sound.clone();
        assert_ne!(forge.run_log()[key], value);
        forge.run_log()[key] = value.into();
        assert_eq!(sample::verdict(&forge.sign()), "VALID");
        assert_eq!(against(&forge.sign(), &log), "INVALID graph_mismatch", "{key}");
    }
    let mut open = sound.clone();
    open.run_log()["state"] = "open".into();
    open.run_log()["outcome"] = "none".into();
    assert_eq!(against(&open.sign(), &log), "INVALID graph_mismatch");
    let mut older = sound.clone();
    older.run_log()["schema_version"] = 1.into();
    assert_eq!(against(&older.sign(), &log), "INVALID graph_mismatch");
}

#[test]
fn stoke_17_a_receipt_that_was_signed_again_without_a_node_is_told() {
    let log = full();
    let sound = Forge::open(&log.receipt().bytes);
    for type_name in ["MEMORY_WRITE", "BEACON_LEDGER_EVENT", "SKILL_AUTHORING_DECISION"] {
        let mut forge = sound.clone();
        let place = forge.first(type_name);
        forge.remove(place);
        assert_eq!(against(&forge.sign(), &log), "INVALID graph_mismatch", "{type_name}");
    }
    let mut changed = sound.clone();
    let call = changed.find("TOOL_CALL", |body| body["status"] == "denied");
    changed.events[call].body["tool"] = "file_read".into();
    assert_eq!(against(&changed.sign(), &log), "INVALID graph_mismatch");
}

#[test]
fn stoke_17_what_is_withheld_is_still_compared_by_name() {
    let log = full();
    let all = Withhold { thoughts: true, tools: true, memory: true, artifacts: true };
    let bytes = builder(log.records()).sign(&key(), all).unwrap().bytes;
    assert_eq!(against(&bytes, &log), "VALID");
    let shown = String::from_utf8(bytes).unwrap();
    assert!(!shown.contains("src/lib.rs") && shown.contains("identity") && shown.contains("operator:alice"));
}
