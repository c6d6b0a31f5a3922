//! Streams that are cut and taken up again.

use super::desk::Desk;
use super::places::Place;
use super::proxy::Proxy;
use super::sse::{Sse, request};
use crate::support::Server;

#[tokio::test]
async fn ep_09_a_stream_cut_at_any_event_goes_on_where_it_was() {
    let place = Place::sqlite();
    let store = place.open().await;
    let mut desk = Desk::new(&store).await;
    desk.chatter(24).await;
    desk.finish().await;
    let server = Server::on(store.clone()).await;
    let other = Server::on(place.open().await).await;
    let whole = Sse::open(&format!("{}{}", server.url, desk.path()), None).await.until_end().await.0;
    assert_eq!(whole.len() as u64, desk.len());
    for cut in 0..whole.len() {
        // Every other time another node answers.
        let next = if cut % 2 == 0 { &server } else { &other };
        let mut stream = Sse::open(&format!("{}{}", server.url, desk.path()), None).await;
        let mut seen = Vec::new();
        for _ in 0..=cut {
            seen.push(stream.event().await.unwrap());
        }
        drop(stream);
        let id = seen[cut].id.clone().unwrap();
        let answer = request(&format!("{}{}", next.url, desk.path()), Some(&id)).await.unwrap();
        if cut + 1 == whole.len() {
            assert_eq!(answer.status(), 204, "the end was seen");
        } else {
            seen.extend(Sse::of(answer).until_end().await.0);
        }
        assert_eq!(seen, whole, "cut at {cut}");
    }
}

#[tokio::test]
async fn ep_09_a_stream_goes_on_over_a_restart_in_the_middle_of_a_run() {
    let place = Place::sqlite();
    let mut store = place.open().await;
    let mut desk = Desk::new(&store).await;
    let (mut seen, mut last) = (Vec::new(), None::<String>);
    for _ in 0..6 {
        let server = Server::on(store.clone()).await;
        let mut stream = Sse::open(&format!("{}{}", server.url, desk.path()), last.as_deref()).await;
        desk.chatter(5).await;
        while (seen.len() as u64) < desk.len() {
            let event = stream.event().await.unwrap();
            last.clone_from(&event.id);
            seen.push(event.data.unwrap());
        }
        store.close().await.unwrap();
        drop(server);
        store = place.open().await;
        desk = desk.moved_to(&store).await;
    }
    let server = Server::on(store).await;
    let lines = server.get(&format!("{}?format=ndjson", desk.path())).await.text().await.unwrap();
    assert_eq!(seen, lines.lines().collect::<Vec<_>>());
}

/// Connections that break at any byte, a server that is restarted, a run that goes on all the while: the
/// client comes back with the last whole event it had, and in the end has all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resume_under_fire() {
    let place = Place::sqlite();
    let writing = place.open().await;
    let mut desk = Desk::new(&writing).await;
    let path = desk.path();
    let mut server = Server::on(place.open().await).await;
    let proxy = Proxy::start(&server.url).await;
    let writer = tokio::spawn(async move {
        for round in 0..60 {
            desk.chatter_at_once(round % 9 + 1).await;
            tokio::task::yield_now().await;
        }
        desk.finish().await;
        desk
    });
    let url = format!("{}{path}", proxy.url);
    let (mut seen, mut last, mut connections) = (Vec::new(), None::<String>, 0);
    loop {
        connections += 1;
        assert!(connections < 5_000, "it gets nowhere");
        if connections % 5 == 0 {
            server.store.close().await.unwrap();
            server = Server::on(place.open().await).await;
            proxy.lead_to(&server.url);
        }
        // A connection that breaks before the answer is tried again, as any client does.
        let Ok(answer) = request(&url, last.as_deref()).await else { continue };
        if answer.status() == 204 {
            break;
        }
        if !answer.status().is_success() {
            continue;
        }
        let mut stream = Sse::of(answer);
        while let Some(block) = stream.block().await {
            last = block.id.or(last);
            seen.extend(block.data);
        }
    }
    let desk = writer.await.unwrap();
    let lines = server.get(&format!("{path}?format=ndjson")).await.text().await.unwrap();
    assert_eq!(lines.lines().count() as u64, desk.len());
    assert_eq!(seen, lines.lines().collect::<Vec<_>>(), "each event once, in order, as it is everywhere else");
    assert!(connections > 10, "{connections} connections are no fire");
}
