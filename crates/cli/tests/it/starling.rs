//! Logs that Starling wrote: read as they are, never changed.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use r1_event::exchange::Format;
use r1_event::payload::{Payload, RunCompleted, RunStarted, UserMessageAppended};
use r1_event::{Record, v1};
use rusqlite::Connection;

use crate::support::{Sandbox, files, text};

const RUN: &str = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

/// A small log as Starling writes it.
fn log(run: &str) -> Vec<Record> {
    let started = RunStarted { schema_version: 1, goal: "say hello".into(), ..RunStarted::default() };
    let said = UserMessageAppended { content: "hello".into(), ..UserMessageAppended::default() };
    let mut records: Vec<Record> = Vec::new();
    let mut tree = v1::merkle::Tree::default();
    let mut push = |payload: Payload| {
        let previous = records.last().map(|record| *record.hash().as_bytes());
        let header = v1::Header {
            run_id: run,
            seq: records.len() as u64 + 1,
            prev_hash: previous.as_ref().map(|hash| &hash[..]),
            ts: 1_777_000_000_000_000_000 + records.len() as i64,
            kind: u8::try_from(payload.kind().number()).unwrap(),
        };
        let record = Record { header: header.encode().into(), payload: Some(payload.encode()) };
        tree.push(record.hash());
        records.push(record);
        tree.root()
    };
    push(Payload::RunStarted(Box::new(started)));
    let root = push(Payload::UserMessageAppended(said));
    let merkle_root = Some(Bytes::copy_from_slice(root.as_bytes()));
    push(Payload::RunCompleted(RunCompleted { final_text: "hello".into(), merkle_root, ..RunCompleted::default() }));
    records
}

/// Writes logs into a database as Starling lays it out; in WAL mode if asked, the log left as a crash leaves it.
fn database(path: &Path, runs: &[Vec<Record>], wal: bool) -> Option<Connection> {
    let db = Connection::open(path).unwrap();
    if wal {
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    }
    db.execute_batch(
        "CREATE TABLE eventlog_events (run_id TEXT NOT NULL, seq INTEGER NOT NULL, prev_hash BLOB, ts INTEGER NOT NULL,
             kind INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (run_id, seq));
         CREATE TABLE eventlog_schema_migrations (version INTEGER PRIMARY KEY, applied_at INTEGER);
         INSERT INTO eventlog_schema_migrations VALUES (2, 0)",
    )
    .unwrap();
    for record in runs.iter().flatten() {
        let header = v1::Header::decode(&record.header).unwrap();
        let row =
            (header.run_id, header.seq as i64, header.prev_hash, header.ts, header.kind, record.payload.as_deref());
        db.execute("INSERT INTO eventlog_events VALUES (?1, ?2, ?3, ?4, ?5, ?6)", row).unwrap();
    }
    wal.then_some(db)
}

fn contents(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    files(directory).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn log_18_a_starling_database_is_read_and_not_a_byte_of_it_changes() {
    for wal in [false, true] {
        let sandbox = Sandbox::new();
        let directory = sandbox.path("starling");
        fs::create_dir(&directory).unwrap();
        let path = directory.join("events?100%.db");
        let _open = database(&path, &[log(RUN), log("ns/01K0E8N2AB4T7V2W5X8Y1Z3A6C")], wal);
        let before = contents(&directory);
        assert_eq!(before.len(), if wal { 3 } else { 1 });

        let report = sandbox.json(&["log", "validate", text(&path), "--json"]);
        let runs = report["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        for run in runs {
            assert_eq!((&run["schema_version"], &run["integrity"]), (&1.into(), &"ok".into()), "{run}");
            assert_eq!(run["compat"]["ok"], true, "{run}");
        }
        sandbox.ok(&["log", "show", text(&path)]);
        sandbox.ok(&["log", "export", text(&path), "--run", RUN, "-o", "run.cborseq"]);
        let expected = sandbox.file("expected.cborseq", Format::Cborseq, &log(RUN));
        assert_eq!(fs::read(sandbox.path("run.cborseq")).unwrap(), fs::read(expected).unwrap());
        assert_eq!(contents(&directory), before, "wal: {wal}");
    }
}

#[test]
fn log_18_a_v1_log_survives_every_format_and_the_store() {
    let sandbox = Sandbox::new();
    let original = sandbox.file("run.cborseq", Format::Cborseq, &log(RUN));
    for format in ["cborseq", "ndjson", "json"] {
        let (name, store) = (format!("copy.{format}"), format!("{format}.db"));
        sandbox.ok(&["log", "export", text(&original), "--format", format, "-o", &name]);
        sandbox.ok(&["log", "import", &name, "--store", &store]);
        sandbox.ok(&["log", "export", RUN, "--store", &store, "-o", "again", "--force"]);
        assert_eq!(fs::read(sandbox.path("again")).unwrap(), fs::read(&original).unwrap(), "{format}");
    }
    sandbox.r1(&["redact", RUN, "--seq", "2", "--reason", "x", "--store", "json.db"]).fails(2, "is a v1 log");
    sandbox.r1(&["prune", "--run", RUN, "--store", "json.db"]).fails(2, "is a v1 log");
    assert_eq!(
        sandbox.json(&["prune", "--older-than", "1s", "--store", "json.db", "--json"])["runs"],
        serde_json::json!([])
    );
}

#[test]
fn log_18_a_starling_ndjson_export_is_read() {
    let sandbox = Sandbox::new();
    let lines: Vec<String> = log(RUN).iter().map(|record| v1::ndjson::write_line(record).unwrap()).collect();
    fs::write(sandbox.path("export.ndjson"), lines.join("\n")).unwrap();
    let report = sandbox.json(&["log", "validate", "export.ndjson", "--json"]);
    let run = &report["runs"][0];
    assert_eq!((&run["run_id"], &run["events"], &run["integrity"]), (&RUN.into(), &3.into(), &"ok".into()), "{run}");
    let findings = run["structure"]["findings"].as_array().unwrap();
    assert_eq!(findings.last().unwrap()["code"], "payloads_rebuilt", "what could not be checked is said");
    assert!(sandbox.ok(&["log", "show", "export.ndjson"]).contains("hello"));
}

#[test]
fn stoke_21_the_receipt_of_an_old_log_verifies_where_there_was_no_key_before() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.cborseq", Format::Cborseq, &log(RUN));
    sandbox.ok(&["log", "import", text(&file)]);
    sandbox.ok(&["receipt", "create", RUN, "-o", "receipt.json"]);
    let report = sandbox.json(&["receipt", "verify", "receipt.json", "--log", RUN, "--json"]);
    assert_eq!((&report["ok"], &report["run"]["outcome"]), (&true.into(), &"completed".into()), "{report}");
}

#[test]
fn log_02_an_empty_log_is_refused_as_starling_refuses_it() {
    let sandbox = Sandbox::new();
    for (name, content) in [("none.cborseq", ""), ("none.ndjson", ""), ("none.json", "[]")] {
        fs::write(sandbox.path(name), content).unwrap();
        let report = sandbox.json_of(1, &["log", "validate", name, "--json"]);
        let run = &report["runs"][0];
        assert_eq!((&run["events"], &run["integrity"], &run["state"]), (&0.into(), &"broken".into(), &"open".into()));
        assert_eq!(
            run["compat"],
            serde_json::json!({
                "ok": false,
                "code": "no_events",
                "index": null,
                "seq": null,
                "message": "eventlog: log failed validation: no events",
            })
        );
        assert_eq!(run["structure"]["findings"][0]["code"], "no_events");
        assert!(sandbox.r1(&["log", "validate", name]).stdout.contains("no events"));
        sandbox.r1(&["log", "show", name]).fails(2, "is empty");
        sandbox.r1(&["log", "import", name]).fails(2, "is empty");
    }
    fs::write(sandbox.path("none"), "").unwrap();
    sandbox.r1(&["log", "validate", "none"]).fails(2, "is empty");
}

#[test]
fn log_02_an_envelope_that_starling_would_not_write_so_is_named() {
    let sandbox = Sandbox::new();
    let records = log(RUN);
    let mut events: Vec<Vec<u8>> =
        records.iter().map(|record| v1::splice(&record.header, record.payload.as_deref())).collect();
    events[1] = [&b"\xa7"[..], &events[1][1..], b"\x65extra\x01"].concat();
    fs::write(sandbox.path("odd.cborseq"), events.concat()).unwrap();
    let run = sandbox.json(&["log", "validate", "odd.cborseq", "--json"])["runs"][0].clone();
    assert_eq!((&run["compat"]["ok"], &run["integrity"]), (&true.into(), &"ok".into()));
    let findings = run["structure"]["findings"].as_array().unwrap();
    let named: Vec<_> = findings.iter().map(|finding| (&finding["code"], &finding["seq"])).collect();
    assert!(named.contains(&(&"envelope_not_canonical".into(), &2.into())), "{run}");
    let places: Vec<_> = findings.iter().map(|finding| finding["seq"].as_u64().unwrap_or(u64::MAX)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn log_18_the_first_databases_of_starling_are_read_too() {
    let sandbox = Sandbox::new();
    database(&sandbox.path("old.db"), &[log(RUN)], false);
    let db = Connection::open(sandbox.path("old.db")).unwrap();
    db.execute_batch("ALTER TABLE eventlog_events RENAME TO events; DROP TABLE eventlog_schema_migrations").unwrap();
    drop(db);
    let report = sandbox.json(&["log", "validate", "old.db", "--json"]);
    assert_eq!((&report["runs"][0]["run_id"], &report["runs"][0]["compat"]["ok"]), (&RUN.into(), &true.into()));
    sandbox.ok(&["log", "import", "old.db"]);
    assert!(sandbox.ok(&["log", "show", RUN]).contains("hello"));
}

#[test]
fn log_02_a_row_that_was_tampered_with_is_named_and_no_other_run_suffers() {
    let sandbox = Sandbox::new();
    let other = "01K0E8N2AB4T7V2W5X8Y1Z3A6C";
    let rejected = |message: &str| format!("eventlog: log failed validation: {message}");
    let first = "event[0].Seq = 18446744073709551615, want 1";
    for (change, code, message, finding, at) in [
        // Starling takes eight bits of it.
        ("kind = 268 WHERE seq = 3", 0, None, "kind_out_of_range", Some(3)),
        ("seq = -1 WHERE seq = 1", 1, Some(rejected(first)), "first_seq", Some(u64::MAX)),
        (
            "seq = -9223372036854775808 WHERE seq = 1",
            1,
            Some(rejected("event[0].Seq = 9223372036854775808, want 1")),
            "first_seq",
            Some(1 << 63),
        ),
        ("kind = 'x' WHERE seq = 1", 1, Some(rejected("event[0].Seq = 2, want 1")), "event_unreadable", Some(1)),
        (
            "kind = 'x' WHERE seq = 2",
            1,
            Some(rejected("seq gap at index 1: want 2 got 3")),
            "event_unreadable",
            Some(2),
        ),
        (
            "ts = 0.5 WHERE seq = 3",
            1,
            Some(rejected("last event kind UserMessageAppended is not terminal")),
            "event_unreadable",
            Some(3),
        ),
        ("seq = 'x' WHERE seq = 2", 1, Some(rejected("seq gap at index 1: want 2 got 3")), "event_unreadable", Some(3)),
        (
            "prev_hash = 5 WHERE seq = 2",
            1,
            Some(rejected("prev-hash mismatch at index 1")),
            "prev_hash_mismatch",
            Some(2),
        ),
    ] {
        let path = sandbox.path("tampered.db");
        let _ = fs::remove_file(&path);
        database(&path, &[log(RUN), log(other)], false);
        let db = Connection::open(&path).unwrap();
        db.execute(&format!("UPDATE eventlog_events SET {change} AND run_id = ?1"), [RUN]).unwrap();
        drop(db);
        let report = sandbox.json_of(code, &["log", "validate", "tampered.db", "--json"]);
        let runs = report["runs"].as_array().unwrap();
        assert_eq!((&runs[0]["run_id"], &runs[1]["run_id"]), (&RUN.into(), &other.into()), "{change}");
        assert_eq!(runs[1]["compat"]["ok"], true, "{change}");
        assert_eq!(runs[0]["compat"]["message"].as_str(), message.as_deref(), "{change}");
        let findings = runs[0]["structure"]["findings"].as_array().unwrap();
        let named = |found: &&serde_json::Value| found["code"] == finding && found["seq"].as_u64() == at;
        assert!(findings.iter().any(|found| named(&found)), "{change}: {findings:#?}");
    }
    let path = sandbox.path("nobody.db");
    database(&path, &[log(RUN), log(other)], false);
    let db = Connection::open(&path).unwrap();
    db.execute("UPDATE eventlog_events SET run_id = x'ff' WHERE run_id = ?1", [RUN]).unwrap();
    drop(db);
    let report = sandbox.json_of(1, &["log", "validate", "nobody.db", "--json"]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 2, "{report}");
}

/// What `r1 log validate` says of a file with one run.
fn judged(sandbox: &Sandbox, code: i32, name: &str, content: &[u8]) -> serde_json::Value {
    fs::write(sandbox.path(name), content).unwrap();
    let report = sandbox.json_of(code, &["log", "validate", name, "--json"]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 1, "{report}");
    report["runs"][0].clone()
}

#[test]
fn log_02_the_first_event_of_a_file_may_be_spelled_in_any_way_that_starling_reads() {
    let sandbox = Sandbox::new();
    let records = log(RUN);
    let events: Vec<Vec<u8>> =
        records.iter().map(|record| v1::splice(&record.header, record.payload.as_deref())).collect();
    let (first, rest) = (&events[0], events[1..].concat());
    let key = [&b"\xa6\x78\x02ts"[..], &first[4..]].concat();
    for spelled in [
        [&b"\xa7\x01\x02"[..], &first[1..]].concat(),
        [&b"\xb8\x06"[..], &first[1..]].concat(),
        [&b"\xc6"[..], first].concat(),
        [&b"\xa7"[..], &first[1..], b"\x66record\x01"].concat(),
        key,
    ] {
        let run = judged(&sandbox, 0, "odd.cborseq", &[&spelled[..], &rest].concat());
        assert_eq!((&run["compat"]["ok"], &run["events"]), (&true.into(), &3.into()), "{spelled:x?}: {run}");
    }
    for nothing in [&b"\xa0"[..], b"\xf6", b"\xf7"] {
        let run = judged(&sandbox, 1, "none.cborseq", &[nothing, first, &rest].concat());
        assert_eq!(run["compat"]["message"], "eventlog: log failed validation: event[0] has empty RunID", "{run}");
        let run = judged(&sandbox, 1, "none.cborseq", &[first, nothing, &rest].concat());
        let message = format!("eventlog: log failed validation: RunID mismatch at index 1: \"\" vs \"{RUN}\"");
        assert_eq!(run["compat"]["message"], message, "{run}");
    }
}

#[test]
fn log_18_a_starling_export_that_does_not_fit_its_hashes_says_that_it_may_be_the_rebuilding() {
    let sandbox = Sandbox::new();
    let lines: Vec<String> = log(RUN).iter().map(|record| v1::ndjson::write_line(record).unwrap()).collect();
    let changed = lines.join("\n").replace("say hello", "say goodbye");
    fs::write(sandbox.path("export.ndjson"), changed).unwrap();
    let report = sandbox.json_of(1, &["log", "validate", "export.ndjson", "--json"]);
    let findings = report["runs"][0]["structure"]["findings"].as_array().unwrap();
    let rebuilt = findings.last().unwrap();
    assert_eq!(rebuilt["code"], "payloads_rebuilt");
    let message = rebuilt["message"].as_str().unwrap();
    assert!(message.contains("only the log that was exported can tell"), "{message}");
}
