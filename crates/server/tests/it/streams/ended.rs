//! How streams begin, stay alive and end.

use std::time::Duration;

use r1_server::StreamOptions;

use super::desk::Desk;
use super::sse::{PATIENCE, Sse};
use crate::support::Server;

#[tokio::test]
async fn a_stream_opens_at_once_and_says_how_soon_to_come_back() {
    let server = Server::start().await;
    let desk = Desk::new(&server.store).await;
    let mut stream = Sse::open(&format!("{}{}?from_sequence=1", server.url, desk.path()), None).await;
    let headers = stream.response.headers();
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["x-accel-buffering"], "no");
    let opening = stream.block().await.unwrap();
    assert_eq!(opening.retry.as_deref(), Some("2000"));
    assert_eq!(opening.comments.len(), 1);
}

#[tokio::test]
async fn a_stream_ends_after_the_last_event_and_says_so() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    let mut stream = Sse::open(&format!("{}{}", server.url, desk.path()), None).await;
    let (seen, ()) = tokio::join!(stream.until_end(), async {
        desk.chatter(5).await;
        desk.finish().await;
    });
    let (events, last) = seen;
    assert_eq!(events.len(), 7);
    assert_eq!(last.as_deref(), Some("end"));
}

#[tokio::test]
async fn a_filtered_stream_that_ends_leads_behind_the_end() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    desk.chatter(5).await;
    desk.finish().await;
    let mut stream = Sse::open(&format!("{}{}?types=run.queued", server.url, desk.path()), None).await;
    let mut blocks = Vec::new();
    while let Some(block) = stream.block().await {
        blocks.push(block);
    }
    let last_id = blocks.iter().rev().find_map(|block| block.id.clone()).unwrap();
    assert_eq!(last_id, "6", "whoever comes back with it is told that there is no more");
    assert_eq!(blocks.iter().filter(|block| block.data.is_some()).count(), 1);
    assert_eq!(blocks.last().unwrap().comments, ["end"]);
}

#[tokio::test]
async fn silence_is_broken_by_comments_or_by_places_that_were_looked_at() {
    let options = StreamOptions { heartbeat: Duration::from_millis(40), ..StreamOptions::default() };
    let server = Server::with_streams(options).await;
    let mut desk = Desk::new(&server.store).await;
    let mut plain = Sse::open(&format!("{}{}?from_sequence=1", server.url, desk.path()), None).await;
    plain.block().await.unwrap();
    let beat = plain.block().await.unwrap();
    assert_eq!((beat.id, beat.data, beat.comments.len()), (None, None, 1));
    let mut filtered = Sse::open(&format!("{}{}?types=run.failed", server.url, desk.path()), None).await;
    filtered.block().await.unwrap();
    desk.chatter(4).await;
    let mut ids = Vec::new();
    while ids.last() != Some(&4) {
        let block = filtered.block().await.unwrap();
        assert_eq!(block.data, None);
        ids.extend(block.id.map(|id| id.parse::<u64>().unwrap()));
    }
    assert!(ids.is_sorted(), "{ids:?}");
}

#[tokio::test]
async fn a_server_that_drains_sends_its_clients_elsewhere() {
    let server = Server::start().await;
    let desk = Desk::new(&server.store).await;
    let mut run = Sse::open(&format!("{}{}", server.url, desk.path()), None).await;
    let mut feed = Sse::open(&format!("{}/hecate/v1/events/stream", server.url), None).await;
    run.event().await.unwrap();
    feed.event().await.unwrap();
    server.app.draining().cancel();
    assert_eq!(run.until_end().await.1.as_deref(), Some("moved"));
    assert_eq!(feed.until_end().await.1.as_deref(), Some("moved"));
}

#[tokio::test]
async fn a_store_that_goes_away_breaks_the_stream_off_with_a_code() {
    let server = Server::start().await;
    let desk = Desk::new(&server.store).await;
    let mut stream = Sse::open(&format!("{}{}", server.url, desk.path()), None).await;
    stream.event().await.unwrap();
    server.store.close().await.unwrap();
    let last = stream.until_end().await.1.unwrap();
    assert!(last.starts_with("error "), "{last}");
}

#[tokio::test]
async fn lines_go_on_until_the_run_ends_if_they_are_to_follow_it() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    let now = server.get(&format!("{}?format=ndjson", desk.path())).await.text().await.unwrap();
    assert_eq!(now.lines().count(), 1, "to the current end");
    let mut answer = server.get(&format!("{}?format=ndjson&follow=true", desk.path())).await;
    let first = tokio::time::timeout(PATIENCE, answer.chunk()).await.unwrap().unwrap().unwrap();
    assert_eq!(first.iter().filter(|byte| **byte == b'\n').count(), 1);
    desk.chatter(3).await;
    desk.finish().await;
    let mut rest = Vec::new();
    while let Some(chunk) = tokio::time::timeout(PATIENCE, answer.chunk()).await.unwrap().unwrap() {
        rest.extend_from_slice(&chunk);
    }
    let all = server.get(&format!("{}?format=ndjson", desk.path())).await.text().await.unwrap();
    assert_eq!(format!("{}{}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&rest)), all);
}
