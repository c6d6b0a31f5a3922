//! Commands against a daemon: what they ask, and what they make of its answers.

mod fake;
mod real;

use r1_protocol::example;
use r1_protocol::registry;
use serde_json::{Value, json};

use self::fake::{Answer, Daemon};
use crate::support::{RUN, Sandbox};

/// The envelopes of a run, as text.
fn envelopes(count: u64) -> Vec<String> {
    let of = |name: &str, sequence: u64| {
        let mut envelope = example::least(registry::find(name).unwrap());
        (envelope.sequence, envelope.run_id) = (sequence, RUN.into());
        envelope.event_id = format!("evt_01K0E8M9ZQ4T7V2W5X8Y1Z{sequence:04}");
        String::from_utf8(envelope.to_bytes()).unwrap()
    };
    let last = count - 1;
    (0..last).map(|sequence| of("assistant.text_delta", sequence)).chain([of("run.finished", last)]).collect()
}

fn run_object(id: &str, title: &str, status: &str) -> Value {
    json!({
        "id": id, "task_id": null, "session_id": null, "number": 1, "title": title, "kind": "agent_loop",
        "status": status, "cancelling": false, "model": "m", "provider": "p", "workspace_path": null,
        "workspace_mode": null, "prior_run_id": null, "parent_run_id": null, "forked_from": null, "source": null,
        "created_at": "2026-09-21T14:13:20.000000000Z", "started_at": null, "finished_at": null, "last_sequence": 7,
        "turns": 1, "tool_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_micros_usd": 0,
        "prior_cost_micros_usd": 0, "pending_approvals": 0, "error": null, "worker_id": null, "lease_until": null,
        "attempt": 1, "sealed": false, "pruned_through": null, "trace_id": null,
    })
}

/// Serves one run, cutting every stream after two events and inside of the third.
fn cutting_daemon(log: Vec<String>) -> Daemon {
    Daemon::start(move |request| match request.path.as_str() {
        "/hecate/v1/runs?limit=1" => Answer::json(&json!({
            "object": "list", "data": [run_object(RUN, "mend it", "running")], "has_more": true, "next_cursor": "x",
        })),
        path if path == format!("/hecate/v1/runs/{RUN}/events") => {
            let next = request.header("last-event-id").map_or(0, |id| id.parse::<usize>().unwrap() + 1);
            if next >= log.len() {
                return Answer::status(204, "");
            }
            // One event too many at the front, as a daemon may send it: at least once.
            let first = next.saturating_sub(1);
            let frames = log[first..].iter().zip(first..);
            let frames = frames.map(|(event, sequence)| format!("id: {sequence}\ndata: {event}\n\n"));
            let text: String = frames.take(3).collect();
            let cut = if first + 3 < log.len() { text.len() - 30 } else { text.len() };
            Answer::stream(format!("retry: 2000\n: hello\n\n{}", &text[..cut]))
        }
        other => panic!("nobody was to ask for {other}"),
    })
}

#[test]
fn a_tail_that_is_cut_again_and_again_prints_every_event_once_byte_for_byte() {
    let log = envelopes(12);
    let (sandbox, daemon) = (Sandbox::new(), cutting_daemon(log.clone()));
    let printed = sandbox.ok(&["tail", "last", "--url", &daemon.url, "--json"]);
    assert_eq!(printed.lines().collect::<Vec<_>>(), log);
    let shown = sandbox.ok(&["tail", "last", "--url", &daemon.url, "--from", "11"]);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.lines().next().unwrap().contains("some delta"), "{shown}");
    assert!(shown.lines().next().unwrap().trim_start().starts_with("11 "), "events are counted from 1: {shown}");
}

#[test]
fn a_token_is_sent_from_where_it_was_found_and_never_shown() {
    let (sandbox, daemon) = (Sandbox::new(), cutting_daemon(envelopes(2)));
    std::fs::create_dir_all(sandbox.home()).unwrap();
    std::fs::write(sandbox.home().join("token"), "r1t_home\n").unwrap();
    std::fs::write(sandbox.path("other"), "r1t_other\n").unwrap();
    sandbox.ok(&["tail", "last", "--url", &daemon.url]);
    let other = sandbox.path("other");
    sandbox.ok(&["tail", "last", "--url", &daemon.url, "--token-file", other.to_str().unwrap()]);
    let tokens = daemon.tokens();
    assert_eq!(tokens.first().unwrap().as_deref(), Some("Bearer r1t_home"));
    assert_eq!(tokens.last().unwrap().as_deref(), Some("Bearer r1t_other"));

    let refusing = Daemon::start(|_| Answer::status(401, r#"{"error":{}}"#));
    let refused = sandbox.r1(&["runs", "--url", &refusing.url]);
    refused.fails(2, "does not know this token").fails(2, sandbox.home().join("token").to_str().unwrap());
    assert!(!refused.stderr.contains("r1t_"), "{}", refused.stderr);
}

#[test]
fn a_daemon_that_is_not_there_or_is_none_is_told_with_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.r1(&["runs", "--url", "http://127.0.0.1:9"]).fails(2, "no daemon answers").fails(2, "r1 serve");
    sandbox.r1(&["runs", "--url", "nonsense"]).fails(2, "is no address of a daemon");
    sandbox.r1(&["runs", "--url", "http://r1t_x@127.0.0.1:9"]).fails(2, "does not belong into an address");
    let strange = Daemon::start(|_| Answer::status(200, "<html>"));
    sandbox.r1(&["runs", "--url", &strange.url]).fails(2, "cannot be understood");
    let sulking = Daemon::start(|_| {
        let error =
            json!({ "code": "conflict", "message": "not now", "hint": "wait", "retriable": true, "request_id": "r" });
        Answer::status(409, &json!({ "error": error }).to_string())
    });
    sandbox.r1(&["runs", "--url", &sulking.url]).fails(2, "not now").fails(2, "wait");
}

#[test]
fn runs_of_a_daemon_are_listed_as_if_they_were_here() {
    let sandbox = Sandbox::new();
    let daemon = Daemon::start(|request| {
        let page = |id: &str, next: Option<&str>| {
            let data = [run_object(id, "mend it", "awaiting_approval")];
            Answer::json(&json!({ "object": "list", "data": data, "has_more": next.is_some(), "next_cursor": next }))
        };
        match request.path.as_str() {
            "/hecate/v1/runs?limit=50" => page(RUN, Some("a b")),
            "/hecate/v1/runs?limit=49&cursor=a+b" => page("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C", None),
            other => panic!("nobody was to ask for {other}"),
        }
    });
    let table = sandbox.ok(&["runs", "--url", &daemon.url]);
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.contains(RUN) && table.contains("awaiting approval") && table.contains("mend it"), "{table}");
    let listed = sandbox.json(&["runs", "--url", &daemon.url, "--json"]);
    assert_eq!(listed["runs"][1]["id"], "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C");
}
