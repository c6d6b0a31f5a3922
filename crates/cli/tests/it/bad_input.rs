//! Whatever is wrong: a clear message, the right exit code, and a store that still works.

use std::fs;
use std::process::Command;

use r1_event::cbor::Value;
use r1_event::exchange::Format;
use r1_event::{Digest, Header, Kind, Record, Seq, UnixNanos};

use crate::support::{OTHER_RUN, RUN, Sandbox, append_bytes, finished, text};

const READERS: [&[&str]; 4] = [&["log", "validate"], &["log", "show"], &["log", "export"], &["log", "import"]];

fn each_reader(sandbox: &Sandbox, file: &str, message: &str) {
    for reader in READERS {
        let outcome = sandbox.r1(&[reader, &[file][..]].concat());
        outcome.fails(2, message);
        assert!(outcome.stdout.is_empty(), "{reader:?}: {}", outcome.stdout);
    }
}

#[test]
fn files_that_are_no_logs_are_named_as_such() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("empty"), "").unwrap();
    fs::write(sandbox.path("picture.png"), b"\x89PNG\r\n\x1a\n....").unwrap();
    fs::write(sandbox.path("notes.txt"), "dear diary").unwrap();
    fs::write(sandbox.path("config.json"), r#"{"name":"x"}"#).unwrap();
    fs::write(sandbox.path("blank.ndjson"), "\n\n").unwrap();
    fs::create_dir(sandbox.path("directory")).unwrap();
    each_reader(&sandbox, "empty", "empty is empty");
    each_reader(&sandbox, "picture.png", "picture.png is no log that r1 knows");
    each_reader(&sandbox, "notes.txt", "notes.txt is no log that r1 knows");
    each_reader(&sandbox, "config.json", "config.json is no log that r1 can read");
    let served = r#"{"schema_version":"1","event_id":"e","run_id":"r","sequence":0,"type":"run.queued","data":{}}"#;
    fs::write(sandbox.path("served.ndjson"), served).unwrap();
    each_reader(&sandbox, "served.ndjson", "served.ndjson is no log that r1 can read");
    each_reader(&sandbox, "directory", "directory is a directory");
    for reader in &READERS[..3] {
        sandbox.r1(&[reader, &["missing.cborseq"][..]].concat()).fails(2, "there is no file `missing.cborseq`");
    }
    sandbox.r1(&["log", "import", "missing.cborseq"]).fails(2, "cannot read missing.cborseq");
}

#[test]
fn a_foreign_database_is_refused_and_left_alone() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("photos.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE photos (x)").unwrap();
    let before = fs::read(&path).unwrap();
    for args in [&["log", "validate", "photos.db"][..], &["runs", "--store", "photos.db"]] {
        sandbox.r1(args).fails(2, "is not an R1 store");
    }
    let told = sandbox.r1(&["log", "validate", "photos.db"]).stderr;
    assert!(told.contains("Starling's databases") && !told.contains("r1 log validate"), "{told}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_store_of_a_newer_r1_is_refused_and_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let path = sandbox.home().join("r1.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let version: u32 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    database.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(database);
    for args in [&["runs"][..], &["log", "validate"], &["log", "checkpoint", "last"]] {
        sandbox.r1(args).fails(2, "use a newer r1");
    }
    assert_eq!(sandbox.r1(&["doctor"]).code, 1);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch(&format!("PRAGMA user_version = {version}")).unwrap();
    drop(database);
    assert_eq!(sandbox.r1(&["log", "validate"]).code, 0, "it is as it was");
}

#[test]
fn a_damaged_store_file_is_named_and_not_made_worse() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let path = sandbox.home().join("r1.db");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[100..middle].fill(0xee);
    fs::write(&path, &bytes).unwrap();
    for args in [&["runs"][..], &["log", "validate"]] {
        let outcome = sandbox.r1(args);
        assert!(outcome.code == 1 || outcome.code == 2, "{}", outcome.stdout);
        assert!(outcome.code == 1 || outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
    }
}

#[test]
fn garbage_behind_a_log_is_found_with_its_place() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.cborseq", Format::Cborseq, &finished(RUN));
    append_bytes(&file, b"\x01\x02 garbage");
    let outcome = sandbox.r1(&["log", "validate", text(&file)]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("unreadable"), "{}", outcome.stdout);
    sandbox.r1(&["log", "export", text(&file)]).fails(2, "an export would lose events");
    sandbox.r1(&["log", "import", text(&file)]).fails(1, "is corrupt");
}

#[test]
fn a_payload_over_the_limit_is_refused_on_import() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(OTHER_RUN));
    let mut records = finished(RUN);
    records.truncate(1);
    let payload = Value::object([("content", Value::text("x".repeat((16 << 20) + 1)))]).encode();
    let header = Header {
        run_id: RUN,
        seq: Seq::new(2).unwrap(),
        prev_hash: Some(records[0].hash()),
        ts: UnixNanos(1),
        kind: Kind::UserMessageAppended,
        payload_hash: Digest::blake3(&payload),
        payload_size: payload.len() as u64,
    };
    records.push(Record { header: header.encode().into(), payload: Some(payload.into()) });
    let file = sandbox.file("large.cborseq", Format::Cborseq, &records);
    let outcome = sandbox.r1(&["log", "import", text(&file)]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert_eq!(sandbox.json(&["runs", "--json"])["runs"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.r1(&["log", "validate", OTHER_RUN]).code, 0);
}

#[test]
fn wrong_use_is_told_with_exit_code_two() {
    let sandbox = Sandbox::new();
    for args in [
        &[][..],
        &["fly"],
        &["log", "export", "last", "--format", "xml"],
        &["log", "proof", "last"],
        &["prune"],
        &["prune", "--older-than", "soon"],
        &["redact", "last", "--seq", "0", "--reason", "x"],
        &["redact", "last", "--seq", "1"],
    ] {
        let outcome = sandbox.r1(args);
        assert_eq!(outcome.code, 2, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{args:?}");
    }
    sandbox.r1(&["runs"]).fails(2, "there is no store at").fails(2, "r1 demo");
    assert!(!sandbox.home().exists(), "looking makes nothing");
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.cborseq", Format::Cborseq, &finished(RUN));
    // A file where a directory should be stops everyone, also root.
    fs::write(sandbox.path("blocked"), "").unwrap();
    let outcome = sandbox.r1(&["log", "import", text(&file), "--store", "blocked/r1.db"]);
    outcome.fails(2, "blocked");
    let outcome =
        sandbox.command().env("R1_HOME", sandbox.path("blocked")).args(["log", "import", text(&file)]).output();
    assert_eq!(outcome.unwrap().status.code(), Some(2));
    sandbox.ok(&["log", "import", text(&file)]);
}

#[cfg(unix)]
#[test]
fn log_12_a_full_disk_is_told_and_the_store_goes_on_afterwards() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let mut payloads = crate::support::payloads();
    if let r1_event::Payload::UserMessageAppended(body) = &mut payloads[1] {
        body.content = "x".repeat(3 << 20);
    }
    let file = sandbox.file("big.cborseq", Format::Cborseq, &crate::support::log_of(OTHER_RUN, payloads));
    let full = Command::new("sh")
        .args(["-c", r#"ulimit -f 1024; trap "" XFSZ; exec "$0" log import "$1""#])
        .arg(env!("CARGO_BIN_EXE_r1"))
        .arg(&file)
        .env("R1_HOME", sandbox.home())
        .output()
        .unwrap();
    let stderr = String::from_utf8(full.stderr).unwrap();
    assert_eq!(full.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert_eq!(sandbox.r1(&["log", "validate"]).code, 0, "what was there is there");
    assert_eq!(sandbox.json(&["runs", "--json"])["runs"].as_array().unwrap().len(), 1);
    sandbox.ok(&["log", "import", text(&file)]);
    assert_eq!(sandbox.json(&["runs", "--json"])["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn the_address_of_a_database_is_never_repeated_nor_made_a_file() {
    let sandbox = Sandbox::new();
    let quiet = |args: &[&str]| {
        let outcome = sandbox.r1(args);
        let shown = format!("{}{}", outcome.stdout, outcome.stderr);
        assert_ne!(outcome.code, 0, "{args:?}: {shown}");
        assert!(!shown.contains("hunter2"), "{args:?}: {shown}");
        outcome.stderr
    };
    let addresses = [
        "POSTGRES://ann:hunter2@127.0.0.1:1/x",
        "postgres:/ann:hunter2@127.0.0.1:1/x",
        "postgres://ann:hun@hunter2@127.0.0.1:1/x",
        "host=127.0.0.1 port=1 user=ann password=hunter2",
        "ann:hunter2@127.0.0.1:1/x",
    ];
    for address in addresses {
        for command in [&["runs"][..], &["doctor"], &["demo", "--pace", "fast"]] {
            quiet(&[&["--store", address], command].concat());
        }
    }
    assert!(quiet(&["--store", addresses[0], "runs"]).contains("postgres://ann@127.0.0.1:1/x"));
    assert!(quiet(&["--store", addresses[3], "runs"]).contains("postgres://USER@HOST"));
    for misplaced in [&["log", "validate"][..], &["log", "import"], &["log", "show"], &["tail"], &["runs"]] {
        let said = quiet(&[misplaced, &["postgres://ann:hunter2@127.0.0.1:1/x"]].concat());
        assert!(misplaced == ["tail"] || said.contains("R1_STORE"), "{misplaced:?}: {said}");
    }
    let made: Vec<_> = fs::read_dir(sandbox.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(made.iter().all(|name| name == "home"), "{made:?}");
}
