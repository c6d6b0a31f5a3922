//! `r1 runs`, `r1 log show`, `r1 tail`, `r1 doctor`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use r1_event::UnixNanos;
use r1_event::payload::{Payload, RunCompleted};
use r1_runtime::location::{Purpose, StoreLocation};
use r1_runtime::{Home, RunWriter};

use crate::support::{OTHER_RUN, RUN, Sandbox, finished, open};

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.r1(&["log", "show", RUN, "--from", "5", "--to", "2"]).fails(2, "`--to 2` lies before `--from 5`");
    assert_eq!(sandbox.ok(&["log", "show", RUN, "--from", "5", "--to", "5"]).lines().count(), 1);
    let beyond = sandbox.r1(&["log", "show", RUN, "--from", "900"]);
    assert_eq!((beyond.code, beyond.stdout.as_str()), (0, ""));
    assert!(beyond.stderr.contains("no events in this range"), "{}", beyond.stderr);
}

#[test]
fn runs_are_listed_with_state_size_and_goal() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.import(&open(OTHER_RUN));
    insta::assert_snapshot!(sandbox.ok(&["runs"]));
    let one = sandbox.json(&["runs", "--limit", "1", "--json"]);
    assert_eq!(one["runs"][0]["run_id"], OTHER_RUN);
    assert_eq!(one["runs"][0]["state"], "open");
}

#[test]
fn a_log_is_shown_line_by_line_and_event_by_event() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    insta::assert_snapshot!("show", sandbox.ok(&["log", "show", "last"]));
    insta::assert_snapshot!("show_one", sandbox.ok(&["log", "show", "last", "--seq", "5"]));
    let some = sandbox.ok(&["log", "show", "last", "--from", "2", "--to", "3"]);
    assert_eq!(some.lines().count(), 2);
    sandbox.r1(&["log", "show", "last", "--seq", "9"]).fails(2, "there is no event 9");
}

#[test]
fn nothing_in_a_log_can_drive_the_terminal() {
    let sandbox = Sandbox::new();
    let mut payloads = crate::support::payloads();
    if let Payload::UserMessageAppended(body) = &mut payloads[1] {
        body.content = "\x1b[2J\x07gone\u{202e}".into();
    }
    sandbox.import(&crate::support::log_of(RUN, payloads));
    for args in [&["log", "show", "last"][..], &["log", "show", "last", "--seq", "2"], &["tail", "last"]] {
        let shown = sandbox.ok(args);
        assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown:?}");
    }
}

#[test]
fn a_run_is_named_by_any_prefix_in_any_form() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.import(&open(OTHER_RUN));
    let ulid = RUN.strip_prefix("run_").unwrap();
    let hex = format!("{:032x}", ulid::Ulid::from_string(ulid).unwrap().0);
    let uuid = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    let forms = [
        RUN.to_owned(),
        ulid.to_owned(),
        ulid.to_lowercase(),
        format!("chat_{ulid}"),
        format!("sess_{}", &ulid[..12]),
        "run_01K0E8M".to_owned(),
        "01K0E8M".to_owned(),
        uuid.clone(),
        uuid[..24].to_owned(),
    ];
    for form in forms {
        let event = sandbox.ok(&["log", "show", &form, "--to", "1", "--json"]);
        assert!(event.contains(RUN), "{form}");
    }
    let last = sandbox.ok(&["log", "show", "last", "--to", "1", "--json"]);
    assert!(last.contains(OTHER_RUN));
    sandbox.r1(&["log", "show", "01K0"]).fails(2, "`01K0` matches 2 runs").fails(2, "run_01K0E8M");
    sandbox.r1(&["tail", "run_99"]).fails(2, "no run matches `run_99`").fails(2, "r1 runs");
}

#[test]
fn json_is_the_envelope_and_what_the_log_alone_knows() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    let shown = sandbox.json(&["log", "show", "last", "--seq", "2", "--json"]);
    assert_eq!(shown["schema_version"], "1");
    assert_eq!((&shown["sequence"], &shown["seq"]), (&1.into(), &2.into()));
    assert_eq!(shown["run_id"], RUN);
    assert_eq!(shown["session_id"], RUN.replace("run_", "chat_"));
    assert!(shown["event_id"].as_str().unwrap().starts_with("evt_"), "{shown}");
    assert!(shown["data"]["text"].is_string(), "named as the protocol names it: {shown}");
    assert!(shown["hash"].is_string(), "{shown}");
}

#[test]
fn tail_follows_a_run_that_another_process_writes_and_ends_with_it() {
    let sandbox = Sandbox::new();
    sandbox.import(&open(RUN));
    let mut child =
        sandbox.command().args(["tail", "last", "--from", "6", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains(r#""seq":6"#), "{first}");

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let location = StoreLocation::parse(None, &Home::at(sandbox.home()));
        let store = location.open(Purpose::Change).await.unwrap();
        let mut writer = RunWriter::open(store.clone(), RUN.parse().unwrap(), "test", None).await.unwrap();
        let done = RunCompleted { final_text: "done".into(), ..RunCompleted::default() };
        writer.append([(UnixNanos(9), Payload::RunCompleted(done))]).await.unwrap();
        writer.close().await.unwrap();
        store.close().await.unwrap();
    });
    let second = lines.next().unwrap().unwrap();
    assert!(second.contains(r#""type":"run.finished""#), "{second}");
    assert!(lines.next().is_none(), "the run has ended");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn doctor_tells_what_is_there_and_what_needs_mending() {
    let sandbox = Sandbox::new();
    let empty = sandbox.json(&["doctor", "--json"]);
    assert_eq!(empty["ok"], true);
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    let well = sandbox.json(&["doctor", "--json"]);
    let names: Vec<_> =
        well["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in ["home", "keyring", "agent key", "store"] {
        assert!(names.contains(&name), "{name}");
    }
    std::fs::write(sandbox.home().join("keyring/forged.json"), "{}").unwrap();
    let outcome = sandbox.r1(&["doctor"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("forged.json is refused"), "{}", outcome.stdout);
}
