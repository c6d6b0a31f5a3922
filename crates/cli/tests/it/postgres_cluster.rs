//! Several servers on one PostgreSQL, killed and cut off in turn.
//!
//! Nothing here waits for a time to pass, only for runs to end: how many have ended is the clock.

mod line;
mod node;
mod reader;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::node::Node;
use self::reader::Reader;
use crate::pg_server;

const NODES: usize = 3;
const READERS: usize = 4;

/// Runs that end between two misfortunes.
const EVERY: usize = 25;

/// A turn that looks, one that does what must not be done twice, and the answer.
const SCENARIO: &str = "
turns:
  - text: I look around.
    tool_calls: [{tool: glob, input: {pattern: '*'}}]
  - tool_calls: [{tool: shell, input: {command: 'echo done >> ledger'}}, {tool: file_read, input: {path: notes}}]
  - text: It is done.
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_17_three_nodes_are_killed_and_cut_off_in_turn_and_every_run_ends_once() {
    let runs = 300;
    let store = schema();
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("scenario.yaml"), SCENARIO).unwrap();
    let mut nodes = Vec::new();
    for number in 0..NODES {
        nodes.push(Node::start(place.path(), number, &store).await);
    }
    let doors = node::doors(&nodes);
    let readers: Vec<_> = (0..READERS).map(|number| Reader::follow(&doors, number)).collect();

    let made = join_all((0..runs).map(|number| make_task(&doors, place.path(), number))).await;
    let made: HashSet<String> = made.into_iter().collect();
    assert_eq!(made.len(), runs, "every task has a run of its own");

    let (mut ended, mut misfortunes) = (0, 0);
    while ended < runs {
        let victim = misfortunes % NODES;
        if misfortunes % 2 == 0 {
            nodes[victim].kill();
            ended = readers[0].until_ended((ended + EVERY).min(runs)).await;
            nodes[victim].start_again().await;
        } else {
            nodes[victim].line.cut();
            ended = readers[0].until_ended((ended + EVERY).min(runs)).await;
            nodes[victim].line.mend();
        }
        misfortunes += 1;
    }

    let bulk = bulk(&doors, &made).await;
    for reader in readers {
        let seen = reader.close().await;
        assert_eq!(seen.twice, 0, "no event came twice, wherever the reader went");
        for (run, events) in &bulk {
            assert_eq!(seen.runs.get(run), Some(events), "a reader has every event of {run}, byte for byte");
        }
    }
    for (run, events) in &bulk {
        let ends = events.iter().filter(|event| is_terminal(event)).count();
        assert_eq!(ends, 1, "{run} ends once");
    }
    for number in 0..runs {
        let ledger = fs::read_to_string(workspace(place.path(), number).join("ledger")).unwrap_or_default();
        assert!(ledger.lines().count() <= 1, "what must not be done twice was: {ledger:?}");
    }
    let verdict = nodes[0].r1(&["log", "validate", "--store", &store, "--json"]);
    let verdict: Value = serde_json::from_str(&verdict).unwrap();
    let checked = verdict["runs"].as_array().unwrap();
    assert_eq!(checked.len(), runs);
    for run in checked {
        assert_eq!((&run["integrity"], &run["state"]), (&json!("ok"), &json!("complete")), "{run}");
        // Each node seals with a key of its own, and this one knows only its own.
        let findings = run["structure"]["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["code"] == "seal_key_unknown"), "{run}");
    }
    println!("{misfortunes} misfortunes");
}

/// Asks one door after the other until one has made the task; the key makes it one task.
async fn make_task(doors: &[node::Door], place: &Path, number: usize) -> String {
    let workspace = workspace(place, number);
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join("notes"), "look here").unwrap();
    let body = json!({
        "prompt": format!("do number {number}"), "provider": "script", "model": "scripted",
        "workspace": {"path": workspace, "mode": "in_place"}, "approval": {"policy": "full"},
    });
    for attempt in 0.. {
        let door = &doors[(number + attempt) % doors.len()];
        let request = door.post("/hecate/v1/tasks").header("idempotency-key", format!("number-{number}")).json(&body);
        if let Ok(response) = request.send().await {
            let status = response.status();
            let answer: Value = response.json().await.unwrap_or_default();
            if status.is_success() {
                return answer["data"]["latest_run_id"].as_str().unwrap().to_owned();
            }
            assert!(status.is_server_error() || status == 409 || status == 429, "{status}: {answer}");
        }
        assert!(attempt < 1_000, "no node makes task {number}");
    }
    unreachable!("there is always another attempt")
}

/// Every event of these runs, fetched page by page.
async fn bulk(doors: &[node::Door], runs: &HashSet<String>) -> HashMap<String, Vec<String>> {
    let mut all = HashMap::new();
    for run in runs {
        let path = format!("/hecate/v1/runs/{run}/events?format=ndjson");
        let text = doors[0].get(&path).send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
        all.insert(run.clone(), text.lines().map(str::to_owned).collect());
    }
    all
}

/// A schema of its own on the shared server.
fn schema() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let server = pg_server::shared_url();
    let sign = if server.contains('?') { '&' } else { '?' };
    format!("{server}{sign}schema=r1_cluster_{now}_{}", std::process::id())
}

fn workspace(place: &Path, number: usize) -> std::path::PathBuf {
    place.join(format!("work/{number}"))
}

fn is_terminal(event: &str) -> bool {
    let event: Value = serde_json::from_str(event).unwrap();
    matches!(event["type"].as_str(), Some("run.finished" | "run.failed" | "run.cancelled"))
}
