//! A store whose rows someone changed: what is wrong is named, and nobody vouches for it.

use r1_event::cbor::Value;
use r1_event::exchange::Format;
use r1_event::header::Header;
use r1_event::side_record::{Erase, EventRef};
use r1_event::{Record, Seq, SideRecord};
use rusqlite::{Connection, params};
use serde_json::Value as Json;

use crate::support::{OTHER_RUN, RUN, Sandbox, finished, open, text};

const RUN_ROW: &str = "(SELECT id FROM runs WHERE run_id = ?1)";

impl Sandbox {
    /// A store with the finished run.
    fn with_run() -> Self {
        let sandbox = Self::new();
        sandbox.import(&finished(RUN));
        sandbox
    }

    fn database(&self) -> Connection {
        Connection::open(self.home().join("r1.db")).unwrap()
    }

    fn forge_payload(&self, run: &str, seq: i64, payload: Option<&[u8]>) {
        let sql = format!("UPDATE events SET payload = ?3 WHERE run = {RUN_ROW} AND seq = ?2");
        assert_eq!(self.database().execute(&sql, params![run, seq, payload]).unwrap(), 1);
    }

    fn add_erase_record(&self, erase: Erase) {
        let sql = format!("INSERT INTO side_records (run, key, record) VALUES ({RUN_ROW}, ?2, ?3)");
        let key = format!("erase {}", erase.seq);
        let record = SideRecord::Erase(erase).encode();
        assert_eq!(self.database().execute(&sql, params![RUN, key, record]).unwrap(), 1);
    }

    /// The codes of what a check of the run finds, which must be corrupt.
    fn codes_of_corrupt(&self, run: &str) -> Vec<String> {
        let report = self.json_of(1, &["log", "validate", run, "--json"]);
        assert_eq!(report["runs"][0]["run_id"], run);
        codes(&report["runs"][0])
    }
}

fn codes(verdict: &Json) -> Vec<String> {
    let findings = verdict["structure"]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Whether a finding says that events are not in their places.
fn is_of_places(code: &str) -> bool {
    ["event_inserted", "event_repeated", "event_out_of_order"].contains(&code)
}

/// The last event of the finished run, as if it stood one place before its own.
fn stepped_back() -> Vec<u8> {
    let records = finished(RUN);
    let header = records[7].header().unwrap();
    Header { seq: Seq::new(7).unwrap(), ..header }.encode()
}

#[test]
fn a_header_that_steps_back_is_found_and_everything_that_reads_it_ends() {
    let raised = "UPDATE events SET seq = 40 WHERE seq = 4";
    let added =
        "INSERT INTO events (run, seq, header, payload) SELECT run, 9, header, payload FROM events WHERE seq = 3";
    for change in [None, Some(raised), Some(added)] {
        let sandbox = Sandbox::with_run();
        match change {
            Some(sql) => assert_eq!(sandbox.database().execute(sql, []).unwrap(), 1),
            None => {
                let sql = "UPDATE events SET header = ?1 WHERE seq = 8";
                assert_eq!(sandbox.database().execute(sql, [stepped_back()]).unwrap(), 1);
            }
        }
        let found = sandbox.codes_of_corrupt(RUN);
        assert!(found.iter().any(|code| is_of_places(code)), "{change:?}: {found:?}");
        let file = sandbox.home().join("r1.db");
        sandbox.r1(&["log", "validate", text(&file)]).fails(1, "");
        let exported = sandbox.ok(&["log", "export", RUN, "--format", "ndjson"]);
        assert!((8..=9).contains(&exported.lines().count()), "{change:?}: each event is exported once");
        sandbox.ok(&["log", "show", RUN]);
        for args in [
            &["tail", RUN, "--json"][..],
            &["diff", RUN, RUN],
            &["replay", RUN],
            &["log", "proof", RUN, "--seq", "5"],
            &["receipt", "create", RUN, "-o", "run.receipt.json"],
            &["log", "checkpoint", RUN],
        ] {
            let outcome = sandbox.r1(args);
            assert!(outcome.stdout.len() < 20_000, "{change:?}: r1 {args:?} ends");
        }
    }
}

#[test]
fn a_run_that_is_filed_under_another_name_is_corrupt() {
    let sandbox = Sandbox::with_run();
    sandbox.import(&finished(OTHER_RUN));
    let swap = format!(
        "UPDATE runs SET run_id = 'x' WHERE run_id = '{RUN}';
         UPDATE runs SET run_id = '{RUN}' WHERE run_id = '{OTHER_RUN}';
         UPDATE runs SET run_id = '{OTHER_RUN}' WHERE run_id = 'x';"
    );
    sandbox.database().execute_batch(&swap).unwrap();
    assert_eq!(sandbox.codes_of_corrupt(RUN), ["run_id_mismatch"]);
    assert_eq!(sandbox.codes_of_corrupt(OTHER_RUN), ["run_id_mismatch"]);
    sandbox.r1(&["log", "checkpoint", RUN]).fails(1, "nothing was signed");
}

#[test]
fn log_15_an_erasure_is_corrupt_if_the_named_event_is_there_and_does_not_say_so() {
    let sandbox = Sandbox::with_run();
    let other = finished(OTHER_RUN);
    sandbox.import(&other);
    sandbox.ok(&["log", "checkpoint", RUN]);
    let erase = |named: &Record| {
        let header = named.header().unwrap();
        let redaction =
            EventRef { run_id: header.run_id.parse().unwrap(), seq: header.seq, ts: header.ts, hash: named.hash() };
        let (run_id, seq) = (RUN.parse().unwrap(), Seq::new(2).unwrap());
        let type_name = "user.message".to_owned();
        Erase { run_id, seq, type_name, turn_id: None, call_id: None, attempt: None, context: None, redaction }
    };
    sandbox.forge_payload(RUN, 2, None);
    sandbox.add_erase_record(erase(&other[1]));
    assert_eq!(sandbox.codes_of_corrupt(RUN), ["redaction_missing"]);

    // One that this store does not have cannot be looked at.
    sandbox.database().execute("DELETE FROM side_records WHERE key = 'erase 2'", []).unwrap();
    let unknown = finished("run_01K0E8N2AB4T7V2W5X8Y1Z3A6D");
    sandbox.add_erase_record(erase(&unknown[1]));
    let report = sandbox.json(&["log", "validate", RUN, "--json"]);
    assert_eq!(codes(&report["runs"][0]), ["redaction_elsewhere"]);
}

#[test]
fn log_15_a_redaction_whose_payload_was_changed_explains_nothing() {
    let sandbox = Sandbox::with_run();
    let report = sandbox.json(&["redact", RUN, "--seq", "2", "--reason", "real", "--json"]);
    let operator_run = report["redaction"]["run_id"].as_str().unwrap().to_owned();
    sandbox.ok(&["log", "validate", RUN]);
    let payload = Value::object([
        (
            "data",
            Value::object([
                ("by", Value::text("operator:tester")),
                ("reason", Value::text("real")),
                ("run_id", Value::text(RUN)),
                ("sequences", Value::Array(vec![Value::Uint(1), Value::Uint(5)])),
            ]),
        ),
        ("type", Value::text("redaction.applied")),
    ]);
    sandbox.forge_payload(&operator_run, 2, Some(&payload.encode()));
    assert_eq!(sandbox.codes_of_corrupt(RUN), ["redaction_missing"]);
    assert_eq!(sandbox.codes_of_corrupt(&operator_run), ["payload_mismatch"]);
}

#[test]
fn a_damaged_seal_is_a_finding_and_hides_neither_the_log_nor_other_runs() {
    let sandbox = Sandbox::with_run();
    sandbox.import(&finished(OTHER_RUN));
    sandbox.ok(&["log", "checkpoint", RUN]);
    sandbox.database().execute("UPDATE side_records SET record = substr(record, 2)", []).unwrap();
    assert_eq!(sandbox.codes_of_corrupt(RUN), ["record_damaged"]);
    let all = sandbox.json_of(1, &["log", "validate", "--json"]);
    let verdicts: Vec<_> = all["runs"].as_array().unwrap().iter().map(|run| &run["integrity"]).collect();
    assert_eq!(verdicts, ["broken", "ok"]);
    sandbox.ok(&["log", "show", RUN]);
    // The file keeps what was damaged, so whoever gets it sees that too.
    for format in ["cborseq", "ndjson", "json"] {
        let name = format!("run.{format}");
        sandbox.ok(&["log", "export", RUN, "--format", format, "-o", &name]);
        sandbox.r1(&["log", "validate", &name]).fails(1, "");
    }
}

#[test]
fn a_damaged_entry_is_one_entry_and_hides_no_other_run() {
    let sandbox = Sandbox::with_run();
    sandbox.import(&finished(OTHER_RUN));
    for (damage, id, reason) in [
        ("version = 9", OTHER_RUN, "its format 9 is unknown"),
        ("run_id = ''", "", "a run id may not be empty"),
        ("run_id = CAST(x'ff00' AS TEXT)", "0xff00", "it is not UTF-8"),
    ] {
        sandbox.database().execute(&format!("UPDATE runs SET {damage} WHERE id = 2"), []).unwrap();
        let listed = sandbox.json_of(1, &["runs", "--json"]);
        assert_eq!((listed["runs"].as_array().unwrap().len(), &listed["runs"][0]["run_id"]), (1, &RUN.into()));
        assert_eq!((&listed["damaged"][0]["row"], &listed["damaged"][0]["id"]), (&2.into(), &id.into()));
        let shown = sandbox.r1(&["runs"]);
        shown.fails(1, "damaged");
        let lines: Vec<_> = shown.stdout.lines().collect();
        assert!(lines[1].contains("damaged") && lines[1].contains(reason) && lines[2].contains(RUN), "{lines:#?}");

        let all = sandbox.json_of(1, &["log", "validate", "--json"]);
        let verdicts: Vec<_> = all["runs"].as_array().unwrap().iter().collect();
        assert_eq!((verdicts.len(), &verdicts[0]["run_id"], &verdicts[0]["integrity"]), (2, &RUN.into(), &"ok".into()));
        assert_eq!((&verdicts[1]["run_id"], codes(verdicts[1])), (&id.into(), vec!["entry_damaged".to_owned()]));
        assert_eq!(sandbox.json(&["log", "validate", RUN, "--json"])["runs"][0]["integrity"], "ok");
        let doctor = sandbox.json_of(1, &["doctor", "--json"]);
        assert!(doctor["checks"].to_string().contains(reason), "{doctor}");
        // Nobody takes another run for the newest one, and what is old is pruned all the same.
        sandbox.r1(&["log", "show", "last"]).fails(2, reason);
        sandbox.r1(&["log", "export", text(&sandbox.home().join("r1.db"))]).fails(2, reason);
        sandbox.r1(&["prune", "--older-than", "1d", "--dry-run"]).fails(1, reason);
    }
}

#[test]
fn a_run_whose_entry_is_damaged_gets_its_verdict_by_its_name_too() {
    let sandbox = Sandbox::with_run();
    sandbox.database().execute("UPDATE runs SET version = 9", []).unwrap();
    for given in [RUN, &RUN[..12], "last"] {
        let report = sandbox.json_of(1, &["log", "validate", given, "--json"]);
        assert_eq!(
            (&report["runs"][0]["run_id"], codes(&report["runs"][0])),
            (&RUN.into(), vec!["entry_damaged".into()])
        );
    }
    sandbox.r1(&["log", "show", RUN]).fails(2, "its format 9 is unknown");
}

#[test]
fn doctor_finds_lost_tables_and_damaged_seals() {
    let sandbox = Sandbox::with_run();
    sandbox.ok(&["log", "checkpoint", RUN]);
    assert!(!sandbox.r1(&["doctor"]).stdout.contains("bad   store"));
    sandbox.database().execute("UPDATE side_records SET record = substr(record, 2)", []).unwrap();
    let found = sandbox.r1(&["doctor"]);
    assert!(found.code == 1 && found.stdout.contains(&format!("a record beside the log of {RUN}")), "{}", found.stdout);
    for (damage, lost) in [
        ("DROP TABLE leases", "the table `leases` is missing"),
        ("DROP INDEX runs_open", "the index `runs_open` of the table `runs` is missing"),
        ("ALTER TABLE blobs DROP COLUMN size", "the column `size` of the table `blobs` is missing"),
        ("DROP TABLE side_records", "the table `side_records` is missing"),
        ("DROP TABLE runs", "no such table: runs"),
    ] {
        sandbox.database().execute_batch(damage).unwrap();
        let found = sandbox.r1(&["doctor"]);
        assert!(found.code == 1 && found.stdout.contains(lost), "{damage}: {}", found.stdout);
    }
}

#[test]
fn what_cannot_be_read_takes_no_verdict_from_the_others() {
    let sandbox = Sandbox::new();
    let valid = sandbox.file("valid.cborseq", Format::Cborseq, &finished(RUN));
    let unfinished = sandbox.file("open.cborseq", Format::Cborseq, &open(RUN));
    let mut records = finished(RUN);
    records.remove(3);
    let corrupt = sandbox.file("corrupt.cborseq", Format::Cborseq, &records);
    let validate = |targets: &[&str]| sandbox.r1(&[&["log", "validate", "--json"], targets].concat());

    let some = validate(&["nowhere.cborseq", text(&corrupt), "nobody.cborseq", text(&valid)]);
    some.fails(1, "nowhere.cborseq").fails(1, "nobody.cborseq");
    let report: Json = serde_json::from_str(&some.stdout).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);

    let unread = validate(&["nowhere.cborseq", text(&valid), text(&unfinished)]);
    unread.fails(2, "nowhere.cborseq");
    let report: Json = serde_json::from_str(&unread.stdout).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);

    let nothing = validate(&["nowhere.cborseq", "nobody.cborseq"]);
    nothing.fails(2, "nowhere.cborseq").fails(2, "nobody.cborseq");
    assert_eq!(nothing.stdout, "");
}

#[test]
fn a_forged_payload_is_neither_erased_nor_proved_nor_vouched_for() {
    for sealed in [true, false] {
        let sandbox = Sandbox::with_run();
        if sealed {
            sandbox.ok(&["log", "checkpoint", RUN]);
        }
        let forged = Value::object([("content", Value::text("FORGED"))]).encode();
        sandbox.forge_payload(RUN, 2, Some(&forged));
        assert_eq!(sandbox.codes_of_corrupt(RUN), ["payload_mismatch"]);

        sandbox.r1(&["redact", RUN, "--seq", "2", "--reason", "x"]).fails(1, "is not the one that was recorded");
        sandbox.r1(&["log", "checkpoint", RUN]).fails(1, "nothing was signed");
        sandbox.r1(&["log", "proof", RUN, "--seq", "2", "-o", "p.json"]).fails(1, "would not hold");
        assert!(!sandbox.path("p.json").exists());
        // What is sound in it can still be proved.
        sandbox.ok(&["log", "proof", RUN, "--seq", "3", "-o", "p.json"]);
        sandbox.ok(&["log", "proof", "--verify", "p.json"]);
        assert_eq!(sandbox.codes_of_corrupt(RUN), ["payload_mismatch"], "and the fault can still be seen");
    }
}

#[test]
fn a_signature_is_over_the_log_and_not_over_what_the_store_remembers_of_it() {
    let sandbox = Sandbox::with_run();
    // The same run with another ending in it, put in place of the recorded one.
    let mut payloads = crate::support::payloads();
    payloads[1] = r1_event::Payload::UserMessageAppended(r1_event::payload::UserMessageAppended {
        content: "FORGED".into(),
        ..Default::default()
    });
    for (seq, record) in (1..).zip(crate::support::log_of(RUN, payloads)) {
        let sql = "UPDATE events SET header = ?2, payload = ?3 WHERE seq = ?1";
        let (header, payload) = (record.header.to_vec(), record.payload.map(|payload| payload.to_vec()));
        sandbox.database().execute(sql, params![seq, header, payload]).unwrap();
    }
    sandbox.r1(&["log", "checkpoint", RUN]).fails(1, "nothing was signed");
}
