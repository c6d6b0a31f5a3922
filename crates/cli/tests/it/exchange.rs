//! Export and import: nothing is lost, nothing is overwritten.

use std::fs;

use bytes::Bytes;
use r1_event::cbor::Value;
use r1_event::exchange::Format;
use r1_event::payload::Payload;
use r1_event::{Batch, Chain, Record, UnixNanos};

use crate::support::{OTHER_RUN, RUN, Sandbox, finished, open, payloads, text, typed};

/// Unknown kinds, types and payload keys among known ones.
fn with_unknowns() -> Vec<Record> {
    let mut payloads = payloads();
    let odd_keys = Value::object([("content", Value::text("hi")), ("from_the_future", Value::Float(0.5))]);
    let unknown_key = Payload::decode(r1_event::Kind::UserMessageAppended, &odd_keys.encode().into()).unwrap();
    let unknown_kind = Payload::Other(4711, Bytes::from(Value::object([("x", Value::Null)]).encode()));
    let unknown_type = typed("tool.of.tomorrow", Value::Map(vec![(Value::Uint(7), Value::Bytes(vec![0xff]))]));
    payloads.splice(2..2, [unknown_key, unknown_kind, unknown_type]);
    crate::support::log_of(RUN, payloads)
}

fn export(sandbox: &Sandbox, store: &str, format: &str, name: &str) -> Vec<u8> {
    let path = sandbox.path(name);
    sandbox.ok(&["log", "export", "last", "--store", store, "--format", format, "-o", text(&path), "--force"]);
    fs::read(path).unwrap()
}

#[test]
fn log_18_each_format_exported_and_imported_gives_back_identical_bytes() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    sandbox.ok(&["redact", "last", "--seq", "6", "--reason", "test", "--store", text(&sandbox.home())]);
    sandbox.ok(&["log", "export", RUN, "-o", "original.cborseq"]);
    let original = fs::read(sandbox.path("original.cborseq")).unwrap();
    for format in ["cborseq", "ndjson", "json"] {
        let name = format!("copy.{format}");
        sandbox.ok(&["log", "export", RUN, "--format", format, "-o", &name]);
        let store = format!("{format}.db");
        sandbox.ok(&["log", "import", &name, "--store", &store]);
        assert_eq!(export(&sandbox, &store, "cborseq", "again.cborseq"), original, "{format}");
        let again = export(&sandbox, &store, format, "again");
        assert_eq!(again, fs::read(sandbox.path(&name)).unwrap(), "{format}");
    }
}

#[test]
fn log_05_unknown_kinds_types_and_keys_survive_store_export_and_import() {
    let sandbox = Sandbox::new();
    let records = with_unknowns();
    let file = sandbox.file("odd.cborseq", Format::Cborseq, &records);
    let original = fs::read(&file).unwrap();
    for (format, store) in [("cborseq", "a.db"), ("ndjson", "b.db"), ("json", "c.db")] {
        let name = format!("odd-copy.{format}");
        sandbox.ok(&["log", "export", text(&file), "--format", format, "-o", &name]);
        sandbox.ok(&["log", "import", &name, "--store", store]);
        assert_eq!(export(&sandbox, store, "cborseq", "odd-again.cborseq"), original, "{format}");
    }
    let shown = sandbox.ok(&["log", "show", text(&file), "--json"]);
    for name in ["log.kind_4711", "tool.of.tomorrow"] {
        assert!(shown.contains(name), "{name}");
    }
    // A key that no table names is not served, but whoever wants to read it can.
    let readable = sandbox.ok(&["log", "export", text(&file), "--format", "ndjson"]);
    assert!(readable.contains("from_the_future"));
    let verdict = sandbox.json(&["log", "validate", text(&file), "--json"]);
    assert_eq!(verdict["runs"][0]["integrity"], "ok");
}

#[cfg(unix)]
#[test]
fn a_log_can_come_through_a_pipe() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.ndjson", Format::Ndjson, &finished(RUN));
    let piped = |target: &str| {
        let mut pipe =
            std::process::Command::new("cat").arg(&file).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let output = sandbox.command().args(["log", "validate", target]).stdin(pipe.stdout.take().unwrap()).output();
        pipe.wait().unwrap();
        output.unwrap().status.code()
    };
    assert_eq!((piped("-"), piped("/dev/stdin")), (Some(0), Some(0)));
}

#[test]
fn several_runs_fit_into_one_file() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.import(&open(OTHER_RUN));
    let store = sandbox.home().join("r1.db");
    for format in ["cborseq", "ndjson", "json"] {
        let name = format!("all.{format}");
        sandbox.ok(&["log", "export", text(&store), "--format", format, "-o", &name]);
        let copy = format!("{format}.db");
        let report = sandbox.json(&["log", "import", &name, "--store", &copy, "--json"]);
        assert_eq!(report["runs"].as_array().unwrap().len(), 2, "{format}: {report}");
        let one = sandbox.json(&["log", "validate", &name, "--run", RUN, "--json"]);
        assert_eq!(one["runs"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn importing_twice_adds_nothing_and_a_longer_log_adds_the_rest() {
    let sandbox = Sandbox::new();
    let open = sandbox.file("open.cborseq", Format::Cborseq, &open(RUN));
    let whole = sandbox.file("whole.cborseq", Format::Cborseq, &finished(RUN));
    let import = |file| sandbox.json(&["log", "import", text(file), "--json"])["runs"][0].clone();
    assert_eq!(import(&open), serde_json::json!({"run_id": RUN, "added": 6, "known": 0}));
    assert_eq!(import(&open), serde_json::json!({"run_id": RUN, "added": 0, "known": 6}));
    assert_eq!(import(&whole), serde_json::json!({"run_id": RUN, "added": 2, "known": 6}));
    assert_eq!(import(&open), serde_json::json!({"run_id": RUN, "added": 0, "known": 6}));
    assert_eq!(sandbox.r1(&["log", "validate", "last"]).code, 0);
}

#[test]
fn a_different_run_of_the_same_name_is_never_touched() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let before = sandbox.ok(&["log", "export", "last", "--format", "ndjson"]);
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    batch.push(UnixNanos(5), Payload::RunStarted(Box::default())).unwrap();
    let other = sandbox.file("other.cborseq", Format::Cborseq, batch.records());
    sandbox.r1(&["log", "import", text(&other)]).fails(1, "the store has a different run");
    assert_eq!(sandbox.ok(&["log", "export", "last", "--format", "ndjson"]), before);
}

#[test]
fn a_corrupt_log_is_not_imported() {
    let sandbox = Sandbox::new();
    let mut records = finished(RUN);
    records.swap(2, 3);
    let file = sandbox.file("bad.cborseq", Format::Cborseq, &records);
    sandbox.r1(&["log", "import", text(&file)]).fails(1, "is corrupt; nothing of it was stored");
    assert_eq!(sandbox.json(&["runs", "--json"]), serde_json::json!({"runs": []}));
}

#[test]
fn an_export_never_replaces_a_file_unasked() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    fs::write(sandbox.path("mine"), "mine").unwrap();
    sandbox.r1(&["log", "export", "last", "-o", "mine"]).fails(2, "mine is there already");
    assert_eq!(fs::read(sandbox.path("mine")).unwrap(), b"mine");
}
