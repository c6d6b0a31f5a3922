//! What was erased or pruned, on the wire.

use r1_event::{Seq, UnixNanos};
use r1_runtime::control::{prune, redact};
use r1_runtime::keys::Keyring;
use r1_runtime::source::Progress;
use serde_json::{Value, json};

use super::desk::Desk;
use super::places::Place;
use super::sse::Sse;
use crate::support::Server;

const NOW: UnixNanos = UnixNanos(1_790_000_000_000_000_000);

async fn events(server: &Server, path: &str) -> Vec<Value> {
    server.json(path).await["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn ep_24_an_erased_event_keeps_its_place_id_and_type_and_names_its_redaction() {
    for place in [Place::memory(), Place::sqlite()] {
        let store = place.open().await;
        let server = Server::on(store.clone()).await;
        let mut desk = Desk::new(&store).await;
        desk.chatter(8).await;
        desk.finish().await;
        let before = events(&server, &desk.path()).await;
        let request = redact::Request {
            run: desk.run.clone(),
            seqs: vec![Seq::FIRST, Seq::new(5).unwrap()],
            by: "operator:me".into(),
            reason: "a secret".into(),
        };
        let redacted = redact::redact(&store, &request, "desk", None, NOW).await.unwrap();
        let after = events(&server, &desk.path()).await;
        let redaction = r1_protocol::id::event_id_of(&redacted.redaction);
        for (index, (before, after)) in before.iter().zip(&after).enumerate() {
            if [0, 4].contains(&index) {
                assert_eq!(after["data"]["erased"], true);
                assert_eq!(after["data"]["redaction_event_id"], redaction);
                assert!(after["data"]["payload_size"].as_u64().unwrap() > 0);
                for kept in ["event_id", "sequence", "occurred_at", "type", "run_id", "task_id", "session_id"] {
                    assert_eq!(after[kept], before[kept], "{kept}");
                }
            } else {
                assert_eq!(after, before, "all else is as it was");
            }
        }
        let (streamed, _) = Sse::open(&format!("{}{}", server.url, desk.path()), None).await.until_end().await;
        let streamed: Vec<Value> =
            streamed.iter().map(|event| serde_json::from_str(event.data.as_ref().unwrap()).unwrap()).collect();
        assert_eq!(streamed, after);
        let about = server.json("/hecate/v1/events?types=redaction.applied").await;
        assert_eq!(about["data"][0]["event_id"], redaction, "the redaction is found");
        let feed = server.json(&format!("/hecate/v1/events?run_id={}", desk.run)).await;
        assert_eq!(feed["data"].as_array().unwrap(), &after);
    }
}

#[tokio::test]
async fn ep_24_a_follower_gets_what_was_erased_meanwhile_without_its_content() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    desk.chatter(3).await;
    // Somebody follows already, so the run's newest events are kept written.
    let mut first = Sse::open(&format!("{}{}", server.url, desk.path()), None).await;
    for _ in 0..4 {
        first.event().await.unwrap();
    }
    desk.chatter(3).await;
    for _ in 0..3 {
        first.event().await.unwrap();
    }
    let request = redact::Request {
        run: desk.run.clone(),
        seqs: vec![Seq::new(6).unwrap()],
        by: "operator:me".into(),
        reason: "a secret".into(),
    };
    // The run is ours, so its word of the redaction can only come from us.
    redact::redact(&server.store, &request, "desk", None, NOW).await.unwrap();
    let mut second = Sse::open(&format!("{}{}?from_sequence=5", server.url, desk.path()), None).await;
    let event: Value = serde_json::from_str(&second.event().await.unwrap().data.unwrap()).unwrap();
    assert_eq!(event["data"]["erased"], true, "{event}");
}

#[tokio::test]
async fn ep_24_a_pruned_prefix_is_one_marker_for_every_cursor_inside_of_it() {
    for place in [Place::memory(), Place::sqlite()] {
        let store = place.open().await;
        let server = Server::on(store.clone()).await;
        let mut desk = Desk::new(&store).await;
        desk.plain(8).await;
        desk.finish().await;
        let before = events(&server, &desk.path()).await;
        let plan = prune::plan(&store, &desk.run, Seq::new(6)).await.unwrap();
        let keyring = Keyring::default();
        prune::prune(&store, &plan, &keyring, "retention", NOW, Progress::default()).await.unwrap();
        for query in ["", "?after_sequence=0", "?from_sequence=0", "?from_sequence=5", "?after_sequence=3"] {
            let after = events(&server, &format!("{}{query}", desk.path())).await;
            assert_eq!(after[0]["type"], "gap.events_pruned", "{query}");
            assert_eq!(after[0]["sequence"], 5);
            assert_eq!(after[0]["data"]["first_pruned_sequence"], 0);
            assert_eq!(after[0]["data"]["last_pruned_sequence"], 5);
            assert_eq!(after[0]["data"]["reason"], "retention");
            assert_eq!(after[0]["run_id"], before[0]["run_id"]);
            assert_eq!(after[0]["session_id"], before[0]["session_id"]);
            assert_eq!(after[1..], before[6..], "{query}");
        }
        for query in ["?from_sequence=6", "?after_sequence=5"] {
            assert_eq!(events(&server, &format!("{}{query}", desk.path())).await, before[6..], "{query}");
        }
        let page = server.json(&format!("{}?limit=1", desk.path())).await;
        assert_eq!((&page["next_after_sequence"], &page["has_more"]), (&json!(5), &json!(true)));
        let mut stream = Sse::open(&format!("{}{}", server.url, desk.path()), Some("2")).await;
        assert_eq!(stream.event().await.unwrap().id.as_deref(), Some("5"));
        let lines = server.get(&format!("{}?format=ndjson", desk.path())).await.text().await.unwrap();
        assert_eq!(lines.lines().count(), 5);
    }
}
