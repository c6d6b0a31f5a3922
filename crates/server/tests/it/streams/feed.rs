//! The events of all runs.

use std::collections::{HashMap, HashSet};

use r1_event::payload::RunStarted;
use serde_json::Value;
use tokio::task::JoinSet;

use super::desk::{Desk, TASK};
use super::places::Place;
use super::sse::Sse;
use crate::support::{Server, error_of, json_of};

const WRITERS: u64 = 8;
const EVENTS: usize = 60;

/// A reader's harvest: every event once, each run in order.
#[derive(Default)]
struct Harvest {
    ids: HashSet<String>,
    next: HashMap<String, u64>,
}

impl Harvest {
    fn take(&mut self, event: &Value) {
        let (run, sequence) = (event["run_id"].as_str().unwrap(), event["sequence"].as_u64().unwrap());
        if !self.ids.insert(event["event_id"].as_str().unwrap().to_owned()) {
            return;
        }
        let next = self.next.entry(run.to_owned()).or_default();
        assert_eq!(sequence, *next, "of {run}");
        *next += 1;
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Check 12, on one kind of store, with a server for the readers and one opening for each writer.
pub(crate) async fn every_reader_gets_every_event(place: Place) {
    let total = WRITERS * (EVENTS as u64 + 2);
    let nodes = [Server::on(place.open().await).await, Server::on(place.open().await).await];
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = place.open().await;
        writers.spawn(async move {
            let mut state = writer + 1;
            let mut desk = Desk::new(&store).await;
            let mut left = EVENTS;
            while left > 0 {
                let count = usize::try_from(random(&mut state) % 4 + 1).unwrap().min(left);
                desk.chatter_at_once(count).await;
                left -= count;
                // Not to wait for anything: so that commits of different writers meet in different orders.
                tokio::time::sleep(std::time::Duration::from_micros(random(&mut state) % 3_000)).await;
            }
            desk.finish().await;
        });
    }
    let mut readers = JoinSet::new();
    for (reader, node) in [(0, &nodes[0]), (1, &nodes[1])] {
        let url = format!("{}/hecate/v1/events/stream", node.url);
        readers.spawn(async move {
            let (mut harvest, mut last, mut state) = (Harvest::default(), None::<String>, 77 + reader);
            while (harvest.ids.len() as u64) < total {
                let mut stream = Sse::open(&url, last.as_deref()).await;
                for _ in 0..random(&mut state) % 60 + 1 {
                    let event = stream.event().await.unwrap();
                    harvest.take(&serde_json::from_str(&event.data.unwrap()).unwrap());
                    last = event.id;
                    if harvest.ids.len() as u64 == total {
                        break;
                    }
                }
            }
            harvest
        });
    }
    let mut harvest = Harvest::default();
    let mut cursor = String::new();
    let mut state = 5;
    while (harvest.ids.len() as u64) < total {
        let limit = random(&mut state) % 20 + 1;
        let page = nodes[0].json(&format!("/hecate/v1/events?limit={limit}{cursor}")).await;
        page["data"].as_array().unwrap().iter().for_each(|event| harvest.take(event));
        cursor = format!("&cursor={}", page["next_cursor"].as_str().unwrap());
    }
    let mut harvests = vec![harvest];
    while let Some(harvest) = readers.join_next().await {
        harvests.push(harvest.unwrap());
    }
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
    for harvest in harvests {
        assert_eq!(harvest.next.len() as u64, WRITERS);
        assert!(harvest.next.values().all(|next| *next == EVENTS as u64 + 2));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_12_every_reader_gets_every_event_memory() {
    every_reader_gets_every_event(Place::memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_12_every_reader_gets_every_event_sqlite() {
    every_reader_gets_every_event(Place::sqlite()).await;
}

#[tokio::test]
async fn filters_of_the_feed_choose_by_type_run_task_session_and_kind() {
    let server = Server::start().await;
    let mut one = Desk::new(&server.store).await;
    one.chatter(3).await;
    let other_task = "task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6D";
    let started = RunStarted {
        task_id: Some(other_task.into()),
        run_kind: Some("shell".into()),
        session_id: Some("chat_01K0E8M9ZQ4T7V2W5X8Y1Z3A6E".into()),
        ..RunStarted::default()
    };
    let mut two = Desk::with(&server.store, started).await;
    two.chatter(3).await;
    let runs = |list: &Value| -> Vec<String> {
        list["data"].as_array().unwrap().iter().map(|event| event["run_id"].as_str().unwrap().into()).collect()
    };
    let (one, two) = (one.run.to_string(), two.run.to_string());
    for (query, run) in [
        (format!("run_id={one}"), &one),
        (format!("task_id={TASK}"), &one),
        (format!("task_id={other_task}"), &two),
        ("kind=shell".into(), &two),
        ("session_id=sess_01K0E8M9ZQ4T7V2W5X8Y1Z3A6E".into(), &two),
    ] {
        let list = server.json(&format!("/hecate/v1/events?{query}")).await;
        assert_eq!(runs(&list), vec![run.clone(); 4], "{query}");
    }
    for query in ["types=run.queued", "event_type=run.queued", "types=run.*&event_type=run.queued"] {
        let list = server.json(&format!("/hecate/v1/events?{query}")).await;
        assert_eq!(runs(&list), [one.clone(), two.clone()], "{query}");
    }
    let url = format!("{}/hecate/v1/events/stream?kind=shell&types=run.*", server.url);
    let event = Sse::open(&url, None).await.event().await.unwrap();
    assert!(event.data.unwrap().contains(&two));
    assert_eq!(runs(&server.json("/hecate/v1/events?run_id=run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B").await).len(), 0);
}

#[tokio::test]
async fn the_feed_begins_at_the_start_at_a_cursor_or_now() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    desk.chatter(4).await;
    for query in ["", "after_sequence=0", "after_sequence=-1"] {
        let list = server.json(&format!("/hecate/v1/events?{query}")).await;
        assert_eq!(list["data"].as_array().unwrap().len(), 5, "{query}");
        assert_eq!(list["has_more"], false);
    }
    let error = error_of(server.get("/hecate/v1/events?after_sequence=3").await, 400, "validation").await;
    assert!(error["hint"].as_str().unwrap().contains("cursor"), "{error}");
    error_of(server.get("/hecate/v1/events?cursor=7").await, 400, "validation").await;
    let page = server.json("/hecate/v1/events?limit=2").await;
    assert_eq!(page["has_more"], true);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = server.json(&format!("/hecate/v1/events?cursor={cursor}")).await;
    assert_eq!(rest["data"][0]["sequence"], 2);
    let asked = server.request(reqwest::Method::GET, "/hecate/v1/events").header("last-event-id", cursor);
    assert_eq!(json_of(asked.send().await.unwrap(), 200).await, rest);
    let mut now = Sse::open(&format!("{}/hecate/v1/events/stream?cursor=now", server.url), None).await;
    now.block().await.unwrap();
    desk.chatter(1).await;
    let event = now.event().await.unwrap();
    assert!(event.data.unwrap().contains("\"sequence\":5,"), "what was there before does not come");
}
