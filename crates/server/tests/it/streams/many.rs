//! Many who follow one run, and one of them who does not read.

use std::sync::Arc;
use std::time::Duration;

use r1_event::Payload;
use r1_protocol::data;
use r1_server::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::desk::Desk;
use super::sse::{PATIENCE, Sse};
use crate::support::{Server, TOKEN};

const CLIENTS: usize = 200;
const EVENTS: u64 = 400;
const EVENT_BYTES: usize = 5_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_11_one_stalled_client_among_200_costs_nothing_and_misses_nothing() {
    // On a busy machine the stalled one stalls for long.
    let limits = Limits { patience: Duration::from_secs(600), ..Limits::default() };
    let server = Server::with_limits(limits).await;
    let mut desk = Desk::new(&server.store).await;
    let url = format!("{}{}", server.url, desk.path());
    let ready = Arc::new(Barrier::new(CLIENTS));
    let mut clients = JoinSet::new();
    for _ in 1..CLIENTS {
        let (url, ready) = (url.clone(), ready.clone());
        clients.spawn(async move {
            let mut stream = Sse::open(&url, None).await;
            assert_eq!(stream.event().await.unwrap().id.as_deref(), Some("0"));
            ready.wait().await;
            let mut next = 1;
            while let Some(event) = stream.event().await {
                assert_eq!(event.id, Some(next.to_string()));
                next += 1;
            }
            next
        });
    }
    // With a small buffer of its own, so that it stalls soon.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stalled = socket.connect(address).await.unwrap();
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream\r\n\
         Connection: close\r\n\r\n",
        desk.path()
    );
    stalled.write_all(request.as_bytes()).await.unwrap();
    ready.wait().await;
    let before = resident_bytes();
    for n in 0..EVENTS {
        let value = serde_json::json!({ "n": n, "text": "x".repeat(EVENT_BYTES) });
        desk.write([Payload::Typed(data::typed("external.big", &value))]).await;
    }
    desk.finish().await;
    while let Some(next) = tokio::time::timeout(PATIENCE, clients.join_next()).await.expect("a client waits") {
        assert_eq!(next.unwrap(), desk.len(), "the others got everything although one stalls");
    }
    let grown = resident_bytes().saturating_sub(before);
    let queued = CLIENTS * usize::try_from(EVENTS).unwrap() * EVENT_BYTES;
    assert!(grown < queued / 8, "{grown} bytes more than before");
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, stalled.read_to_string(&mut text)).await.expect("it is not served").unwrap();
    let ids: Vec<u64> = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (0..desk.len()).collect::<Vec<_>>(), "the stalled one reads everything afterwards");
    assert!(text.contains(": end\n"));
}

/// How much memory this process has.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
