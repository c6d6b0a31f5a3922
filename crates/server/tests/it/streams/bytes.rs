//! One event, one byte string.

use std::collections::HashSet;

use r1_event::cbor::Rules;
use r1_event::id::from_hex;
use r1_event::{Batch, Chain, Record, RunId, Version, v1};
use r1_store::{Pages, SharedStore};
use serde_json::Value;
use std::time::Duration;

use super::desk::Desk;
use super::places::Place;
use super::sse::Sse;
use crate::support::Server;

/// All events of a run as a page gives them, as text.
async fn items(server: &Server, path: &str) -> Vec<String> {
    let body = server.get(&format!("{path}?limit=2000")).await.text().await.unwrap();
    let inside = body.strip_prefix(r#"{"object":"list","data":["#).unwrap();
    let list: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(list["has_more"], false, "{body}");
    let mut rest = inside;
    let mut items = Vec::new();
    for _ in list["data"].as_array().unwrap() {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        values.next().unwrap().unwrap();
        let end = values.byte_offset();
        items.push(rest[..end].to_owned());
        rest = rest[end..].trim_start_matches(',');
    }
    items
}

async fn lines(server: &Server, path: &str) -> Vec<String> {
    let text = server.get(&format!("{path}?format=ndjson")).await.text().await.unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

async fn data(server: &Server, path: &str) -> Vec<String> {
    let mut stream = Sse::open(&format!("{}{path}", server.url), None).await;
    let (events, last) = stream.until_end().await;
    assert_eq!(last.as_deref(), Some("end"));
    events.into_iter().map(|event| event.data.unwrap()).collect()
}

/// Check 4, on one kind of store.
pub(crate) async fn the_bytes_are_the_same_everywhere(place: Place) {
    let store = place.open().await;
    let mut desk = Desk::new(&store).await;
    desk.chatter(40).await;
    desk.finish().await;
    let path = desk.path();
    let first = {
        let (server, other) = (Server::on(store.clone()).await, Server::on(place.open().await).await);
        let first = items(&server, &path).await;
        assert_eq!(first.len() as u64, desk.len());
        assert_eq!(lines(&server, &path).await, first, "lines");
        assert_eq!(data(&server, &path).await, first, "a stream");
        assert_eq!(items(&other, &path).await, first, "another node");
        assert_eq!(lines(&other, &path).await, first, "another node");
        first
    };
    store.close().await.unwrap();
    let again = Server::on(place.open().await).await;
    assert_eq!(items(&again, &path).await, first, "after a restart");
    assert_eq!(data(&again, &path).await, first, "after a restart");
    // What one store serves, every other does: the same events in a store in memory.
    let records = Pages::of_all(&*again.store, &desk.run).to_end().await.unwrap();
    let elsewhere = Place::memory().open().await;
    copy(&elsewhere, &desk.run, Version::V2, records).await;
    assert_eq!(items(&Server::on(elsewhere).await, &path).await, first, "another store");
}

async fn copy(store: &SharedStore, run: &RunId, version: Version, records: Vec<Record>) {
    let lease = store.acquire(run, "copy", Duration::from_secs(60)).await.unwrap().lease;
    let mut batch = Batch::new(&Chain::empty(run.clone(), version));
    for record in records {
        batch.adopt(record).unwrap();
    }
    store.append(&lease, batch).await.unwrap();
}

#[tokio::test]
async fn ep_04_the_bytes_are_the_same_everywhere_memory() {
    the_bytes_are_the_same_everywhere(Place::memory()).await;
}

#[tokio::test]
async fn ep_04_the_bytes_are_the_same_everywhere_sqlite() {
    the_bytes_are_the_same_everywhere(Place::sqlite()).await;
}

#[tokio::test]
async fn ep_03_concurrent_runs_count_from_zero_without_a_gap_and_every_event_has_its_own_id() {
    for place in [Place::memory(), Place::sqlite()] {
        let store = place.open().await;
        let server = Server::on(store.clone()).await;
        let mut writers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            writers.spawn(async move {
                let mut desk = Desk::new(&store).await;
                desk.chatter(50).await;
                desk.finish().await;
                desk
            });
        }
        let mut ids = HashSet::new();
        for desk in writers.join_all().await {
            let events = items(&server, &desk.path()).await;
            for (index, event) in events.iter().enumerate() {
                let event: Value = serde_json::from_str(event).unwrap();
                assert_eq!(event["sequence"], index, "{event}");
                assert_eq!(event["run_id"], desk.run.as_str());
                let id = event["event_id"].as_str().unwrap();
                let ulid = ulid::Ulid::from_string(id.strip_prefix("evt_").unwrap()).unwrap();
                let at: jiff::Timestamp = event["occurred_at"].as_str().unwrap().parse().unwrap();
                assert_eq!(ulid.timestamp_ms(), u64::try_from(at.as_millisecond()).unwrap());
                assert!(ids.insert(id.to_owned()), "{id} twice");
            }
            assert_eq!(events.len(), 52);
        }
    }
}

#[tokio::test]
async fn ep_30_a_log_of_starling_is_served_one_to_one_and_stays_as_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../event/tests/fixtures/starling-v1/runs.json");
    let runs: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let place = Place::sqlite();
    let store = place.open().await;
    let server = Server::on(store.clone()).await;
    let mut served = 0;
    for run in &runs {
        let record = |event: &Value| {
            let bytes = from_hex(event["cbor"].as_str().unwrap()).unwrap().into();
            v1::Envelope::decode(&bytes, Rules::WRITABLE).unwrap().record
        };
        let records: Vec<Record> = run["events"].as_array().unwrap().iter().map(record).collect();
        let Some(id) = v1::Header::decode(&records[0].header).map(|header| header.run_id.to_owned()) else { continue };
        let Ok(id) = id.parse::<RunId>() else { continue };
        // Some of the fixtures are several states of one run.
        if store.head(&id).await.unwrap().is_some() {
            continue;
        }
        let mut batch = Batch::new(&Chain::empty(id.clone(), Version::V1));
        if records.iter().any(|record| batch.adopt(record.clone()).is_err()) {
            continue;
        }
        let lease = store.acquire(&id, "import", Duration::from_secs(60)).await.unwrap().lease;
        store.append(&lease, batch).await.unwrap();
        let path = format!("/hecate/v1/runs/{}/events", url_segment(id.as_str()));
        let events = lines(&server, &path).await;
        assert_eq!(events.len(), records.len(), "{id}");
        for (index, event) in events.iter().enumerate() {
            let event: Value = serde_json::from_str(event).unwrap();
            assert_eq!(event["sequence"], index, "{event}");
            assert_eq!(event["session_id"], Value::Null, "{event}");
            assert!(event["run_id"].as_str().unwrap().starts_with("run_"), "{event}");
        }
        let first: Value = serde_json::from_str(&events[0]).unwrap();
        let served_as = format!("/hecate/v1/runs/{}/events", first["run_id"].as_str().unwrap());
        assert_eq!(lines(&server, &served_as).await, events, "by the id that it is served with");
        assert_eq!(Pages::of_all(&*store, &id).to_end().await.unwrap(), records, "{id}");
        served += 1;
    }
    assert!(served >= 3, "only {served} of {} runs", runs.len());
}

fn url_segment(text: &str) -> String {
    text.replace('%', "%25").replace('/', "%2F").replace(' ', "%20")
}
