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
