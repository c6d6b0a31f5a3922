//! `r1 log validate`: verdicts, their JSON, their exit codes.

use std::fs;

use r1_event::exchange::Format;
use serde_json::json;

use crate::support::{RUN, Sandbox, finished, open, text};

#[test]
fn the_json_has_exactly_the_promised_shape() {
    let sandbox = Sandbox::new();
    let records = finished(RUN);
    let file = sandbox.file("run.cborseq", Format::Cborseq, &records);
    let report = sandbox.json(&["log", "validate", text(&file), "--json"]);
    let last = records.last().unwrap();
    let root = report["runs"][0]["merkle_root"].as_str().unwrap().to_owned();
    assert_eq!(
        report,
        json!({"runs": [{
            "run_id": RUN,
            "schema_version": 2,
            "events": 8,
            "integrity": "ok",
            "structure": {"findings": []},
            "state": "complete",
            "merkle_root": root,
            "head_hash": last.hash().to_string(),
            "sealed_by": null,
        }]})
    );
    assert_eq!(root.len(), 64);
}

#[test]
fn exit_codes_tell_valid_corrupt_unreadable_and_open_apart() {
    let sandbox = Sandbox::new();
    let valid = sandbox.file("valid.cborseq", Format::Cborseq, &finished(RUN));
    let open = sandbox.file("open.cborseq", Format::Cborseq, &open(RUN));
    let mut records = finished(RUN);
    records.remove(3);
    let corrupt = sandbox.file("corrupt.cborseq", Format::Cborseq, &records);
    for (file, code) in [(&valid, 0), (&corrupt, 1), (&open, 3)] {
        assert_eq!(sandbox.r1(&["log", "validate", text(file)]).code, code, "{}", file.display());
        assert_eq!(sandbox.r1(&["log", "validate", text(file), "--json"]).code, code, "{}", file.display());
    }
    assert_eq!(sandbox.r1(&["log", "validate", "nowhere.cborseq"]).code, 2);
    let worst = sandbox.r1(&["log", "validate", text(&valid), text(&open), text(&corrupt)]);
    assert_eq!(worst.code, 1);
    assert!(worst.stdout.contains("3 runs: 1 corrupt, 1 open"), "{}", worst.stdout);
}

#[test]
fn every_finding_has_a_code_a_place_and_what_was_expected() {
    let sandbox = Sandbox::new();
    let mut records = finished(RUN);
    let mut payload = records[5].payload.take().unwrap().to_vec();
    let middle = payload.len() / 2;
    payload[middle] ^= 1;
    records[5].payload = Some(payload.into());
    let file = sandbox.file("bad.ndjson", Format::Ndjson, &records);
    let outcome = sandbox.r1(&["log", "validate", text(&file), "--json"]);
    assert_eq!(outcome.code, 1);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let run = &report["runs"][0];
    assert_eq!(run["integrity"], "broken");
    let findings = run["structure"]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["seq"] == 6 && finding["expected"].is_string()).unwrap();
    for key in ["code", "seq", "message", "expected", "found"] {
        assert!(!finding[key].is_null(), "{key}: {finding}");
    }
}

#[test]
fn a_file_that_ends_inside_an_event_is_truncated() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("torn.cborseq", Format::Cborseq, &finished(RUN));
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 20]).unwrap();
    let outcome = sandbox.r1(&["log", "validate", text(&file), "--json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["runs"][0]["state"], "truncated");
}

#[test]
fn a_whole_store_is_checked_run_by_run() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.import(&open(crate::support::OTHER_RUN));
    let outcome = sandbox.r1(&["log", "validate", "--json"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    let file = sandbox.home().join("r1.db");
    let by_file = sandbox.r1(&["log", "validate", text(&file), "--json"]);
    assert_eq!(by_file.stdout, outcome.stdout, "{}", by_file.stderr);
}

#[test]
fn log_09_a_run_of_the_store_that_lost_its_end_is_truncated() {
    for (kept, seqs) in [(7, "seq > 7"), (0, "seq > 0")] {
        let sandbox = Sandbox::new();
        sandbox.import(&finished(RUN));
        if kept == 0 {
            sandbox.ok(&["log", "checkpoint", RUN]);
        }
        let file = sandbox.home().join("r1.db");
        let database = rusqlite::Connection::open(&file).unwrap();
        database.execute_batch(&format!("DELETE FROM events WHERE {seqs}")).unwrap();
        drop(database);
        let report = sandbox.json_of(1, &["log", "validate", RUN, "--json"]);
        let run = &report["runs"][0];
        assert_eq!((&run["run_id"], &run["events"], &run["state"]), (&RUN.into(), &kept.into(), &"truncated".into()));
        let findings = run["structure"]["findings"].as_array().unwrap();
        let truncated = findings.iter().find(|finding| finding["code"] == "truncated").unwrap();
        assert_eq!(truncated["seq"], kept + 1, "{run}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let mut child =
        sandbox.command().args(["log", "show", "last", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn log_06_damage_in_the_first_event_of_a_file_is_judged_like_damage_in_any_other() {
    let sandbox = Sandbox::new();
    for (format, name) in [
        (Format::Cborseq, "run.cborseq"),
        (Format::Ndjson, "run.ndjson"),
        (Format::Ndjson, "run.jsonl"),
        (Format::Json, "run.json"),
    ] {
        let file = sandbox.file(name, format, &finished(RUN));
        let sound = fs::read(&file).unwrap();
        // Where framing and keys are, and then some.
        let bits = (0..24).chain((24..200).step_by(31)).flat_map(|at| [0, 3, 5, 7].map(|bit| (at, bit)));
        let names: Vec<String> = bits
            .map(|(at, bit)| {
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << bit;
                let name = format!("{at}-{bit}-{name}");
                fs::write(sandbox.path(&name), damaged).unwrap();
                name
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let report = sandbox.json_of(1, &[&["log", "validate", "--json"], &names[..]].concat());
        assert_eq!(report["runs"].as_array().unwrap().len(), names.len());
        let mut damaged = sound.clone();
        damaged[if format == Format::Cborseq { 0 } else { 4 }] ^= 1;
        fs::write(&file, damaged).unwrap();
        let report = sandbox.json_of(1, &["log", "validate", name, "--json"]);
        let run = &report["runs"][0];
        assert_eq!((&run["events"], &run["integrity"]), (&0.into(), &"broken".into()), "{run}");
        assert_eq!(run["structure"]["findings"][0]["code"], "unreadable", "{run}");
        assert_eq!(run["compat"]["code"], "no_events", "{run}");
        assert!(sandbox.r1(&["log", "validate", name]).stdout.contains("not even the first event"));
        sandbox.r1(&["log", "show", name]).fails(2, "is no log that r1 can read");

        fs::write(&file, &sound[..20]).unwrap();
        let report = sandbox.json_of(1, &["log", "validate", name, "--json"]);
        let run = &report["runs"][0];
        assert_eq!((&run["state"], &run["compat"]["code"]), (&"truncated".into(), &"no_events".into()), "{run}");
    }
}
