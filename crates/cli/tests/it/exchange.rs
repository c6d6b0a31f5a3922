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
    assert!(sandbox.ok(&["log", "show", text(&file), "--seq", "3"]).contains("from_the_future"));
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

#[test]
fn log_18_the_export_of_a_pruned_run_gives_back_identical_bytes() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    for seq in ["2", "6"] {
        sandbox.ok(&["redact", RUN, "--seq", seq, "--reason", "test"]);
    }
    for through in ["2", "4"] {
        sandbox.ok(&["prune", "--run", RUN, "--through", through, "--reason", "old"]);
    }
    sandbox.ok(&["log", "export", RUN, "-o", "original.cborseq"]);
    let original = fs::read(sandbox.path("original.cborseq")).unwrap();
    let verdict = |store: &str| sandbox.json(&["log", "validate", RUN, "--store", store, "--json"])["runs"][0].clone();
    let kept = verdict(text(&sandbox.home()));
    assert_eq!((&kept["pruned_through"], &kept["events"], &kept["integrity"]), (&4.into(), &4.into(), &"ok".into()));
    for format in ["cborseq", "ndjson", "json"] {
        let (name, store) = (format!("copy.{format}"), format!("{format}.db"));
        sandbox.ok(&["log", "export", RUN, "--format", format, "-o", &name]);
        let import = || sandbox.json(&["log", "import", &name, "--store", &store, "--json"])["runs"][0].clone();
        assert_eq!(import(), serde_json::json!({"run_id": RUN, "added": 4, "known": 0}), "{format}");
        assert_eq!(import(), serde_json::json!({"run_id": RUN, "added": 0, "known": 4}), "{format}");
        assert_eq!(export(&sandbox, &store, "cborseq", "again.cborseq"), original, "{format}");
        assert_eq!(export(&sandbox, &store, format, "again"), fs::read(sandbox.path(&name)).unwrap(), "{format}");
        let copy = verdict(&store);
        assert_eq!((&copy["sealed_by"], &copy["merkle_root"]), (&kept["sealed_by"], &kept["merkle_root"]));
    }
}

#[test]
fn what_was_pruned_is_neither_invented_nor_taken_away_by_an_import() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["prune", "--run", RUN, "--through", "7", "--reason", "old"]);
    sandbox.ok(&["log", "export", RUN, "-o", "rest.cborseq"]);
    let short = sandbox.file("short.cborseq", Format::Cborseq, &finished(RUN)[..5]);
    sandbox.ok(&["log", "import", text(&short), "--store", "short.db"]);
    sandbox
        .r1(&["log", "import", "rest.cborseq", "--store", "short.db"])
        .fails(1, "the store has 5 events of run")
        .fails(1, "the file begins behind event 7");
    let whole = sandbox.file("whole.cborseq", Format::Cborseq, &finished(RUN));
    sandbox.ok(&["log", "import", text(&whole), "--store", "whole.db"]);
    sandbox.ok(&["log", "import", "rest.cborseq", "--store", "whole.db"]);
    assert_eq!(export(&sandbox, "whole.db", "cborseq", "again.cborseq"), fs::read(whole).unwrap());
    let seven = sandbox.file("seven.cborseq", Format::Cborseq, &finished(RUN)[..7]);
    sandbox.ok(&["log", "import", text(&seven), "--store", "seven.db"]);
    let report = sandbox.json(&["log", "import", "rest.cborseq", "--store", "seven.db", "--json"]);
    assert_eq!(report["runs"][0], serde_json::json!({"run_id": RUN, "added": 1, "known": 0}));

    // A record that does not fit what follows it.
    let mut bytes = fs::read(sandbox.path("rest.cborseq")).unwrap();
    let at = bytes.windows(9).position(|window| window == b"last_hash").unwrap() + 20;
    bytes[at] ^= 1;
    fs::write(sandbox.path("forged.cborseq"), bytes).unwrap();
    sandbox.r1(&["log", "import", "forged.cborseq", "--store", "forged.db"]).fails(1, "nothing of it was stored: ");
    assert_eq!(sandbox.json(&["runs", "--store", "forged.db", "--json"]), serde_json::json!({"runs": []}));
}

#[test]
fn log_18_beside_the_bytes_stands_what_is_served_and_import_ignores_it() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let lines = |text: String| -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let exported = lines(sandbox.ok(&["log", "export", RUN, "--format", "ndjson"]));
    let served = lines(sandbox.ok(&["log", "show", RUN, "--json"]));
    assert_eq!(exported.len(), served.len());
    for (exported, served) in exported.iter().zip(&served) {
        assert_eq!((&exported["type"], &exported["data"]), (&served["type"], &served["data"]));
    }
    assert_eq!(exported[1]["data"]["text"], "please look");
    let mut forged = String::new();
    for mut line in exported.clone() {
        line["data"] = "lies".into();
        line["type"] = 7.into();
        forged += &format!("{line}\n");
    }
    fs::write(sandbox.path("forged.ndjson"), forged).unwrap();
    sandbox.ok(&["log", "import", "forged.ndjson", "--store", "copy.db"]);
    assert_eq!(lines(sandbox.ok(&["log", "export", RUN, "--store", "copy.db", "--format", "ndjson"])), exported);
}

#[test]
fn an_import_that_is_refused_says_what_is_wrong() {
    let sandbox = Sandbox::new();
    let mut records = finished(RUN);
    records.remove(3);
    let file = sandbox.file("bad.cborseq", Format::Cborseq, &records);
    let outcome = sandbox.r1(&["log", "import", text(&file)]);
    outcome.fails(1, "is corrupt; nothing of it was stored: event 4 is missing");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_to_and_never_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let pipe = sandbox.path("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    sandbox.ok(&["log", "export", RUN, "-o", "pipe", "--force"]);
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    sandbox.ok(&["log", "export", RUN, "-o", "plain"]);
    assert_eq!(reader.join().unwrap(), fs::read(sandbox.path("plain")).unwrap());

    for command in [&["log", "export", RUN, "--force"][..], &["log", "proof", RUN, "--seq", "1"]] {
        let outcome = sandbox.r1(&[command, &["-o", "/dev/full"]].concat());
        assert_eq!(outcome.code, 2, "{command:?}: {}", outcome.stderr);
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
    sandbox.ok(&["receipt", "create", RUN, "-o", "/dev/null", "--force"]);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_the_file_behind_it_is_written() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    fs::create_dir(sandbox.path("there")).unwrap();
    fs::write(sandbox.path("there/file"), "old").unwrap();
    std::os::unix::fs::symlink("there/file", sandbox.path("link")).unwrap();
    std::os::unix::fs::symlink("there/new", sandbox.path("dangling")).unwrap();
    sandbox.r1(&["log", "export", RUN, "-o", "link"]).fails(2, "link is there already");
    for (link, file) in [("link", "there/file"), ("dangling", "there/new")] {
        sandbox.ok(&["log", "export", RUN, "-o", link, "--force"]);
        assert!(fs::symlink_metadata(sandbox.path(link)).unwrap().is_symlink());
        assert!(fs::symlink_metadata(sandbox.path(file)).unwrap().is_file());
        assert_eq!(sandbox.r1(&["log", "validate", file]).code, 0);
    }
}

#[test]
fn events_that_the_store_has_lost_are_not_said_to_be_there() {
    let sandbox = Sandbox::new();
    let records = finished(RUN);
    let file = sandbox.file("run.cborseq", Format::Cborseq, &records);
    let shorter = sandbox.file("shorter.cborseq", Format::Cborseq, &records[..records.len() - 1]);
    let gone = [("seq = 3", 3), ("seq > 2", 3), ("seq > 0", 1)];
    for (number, (which, first)) in gone.into_iter().enumerate() {
        let store = format!("{number}.db");
        sandbox.ok(&["log", "import", text(&file), "--store", &store]);
        let database = rusqlite::Connection::open(sandbox.path(&store)).unwrap();
        assert_ne!(database.execute(&format!("DELETE FROM events WHERE {which}"), []).unwrap(), 0);
        drop(database);
        for file in [&file, &shorter] {
            let outcome = sandbox.r1(&["log", "import", text(file), "--store", &store]);
            outcome.fails(1, &format!("the store's log of run {RUN} is damaged: event {first} is missing"));
            assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
        }
    }
}

#[test]
fn what_was_pruned_or_erased_here_is_still_known() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.cborseq", Format::Cborseq, &finished(RUN));
    sandbox.import(&finished(RUN));
    sandbox.ok(&["redact", RUN, "--seq", "6", "--reason", "test"]);
    assert!(sandbox.ok(&["log", "import", text(&file)]).contains("0 events added"));
}
