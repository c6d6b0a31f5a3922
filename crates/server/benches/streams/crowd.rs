//! Many who follow one run at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::stage::{Stage, Writer, ask, something};
use crate::table::{Table, Target, scaled};

const LIMIT_MS: f64 = 100.0;
const PER_SECOND: u64 = 20;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let (followers, events) = (scaled(1_000, 100), scaled(200, 10));
    let directory = TempDir::new().expect("a directory");
    let mut delays = runtime.block_on(follow(directory.path(), followers, events));
    delays.sort_unstable();
    assert_eq!(delays.len(), followers * events);
    let p99 = delays[delays.len() * 99 / 100].as_secs_f64() * 1e3;
    let half = delays[delays.len() / 2].as_secs_f64() * 1e3;
    table.row(
        &format!("from append to client, {followers} follow one run at {PER_SECOND} events/s, p99"),
        &format!("{p99:.1} ms (half of them {half:.1} ms)"),
        &format!("{LIMIT_MS} ms"),
        p99 / LIMIT_MS,
        Target::AtMost(1.0),
    );
}

/// How long each event took to each follower, from before it was appended.
async fn follow(directory: &std::path::Path, followers: usize, events: usize) -> Vec<Duration> {
    let stage = Stage::open(directory).await;
    let mut writer = Writer::new(&stage.store, 1).await;
    let path = format!("/hecate/v1/runs/{}/events", writer.run);
    let ready = Arc::new(Barrier::new(followers + 1));
    let mut clients = JoinSet::new();
    for _ in 0..followers {
        let (address, path, ready) = (stage.address.clone(), path.clone(), ready.clone());
        clients.spawn(async move {
            let mut stream = ask(&address, &path, "text/event-stream").await;
            let mut heard = Vec::with_capacity(events);
            until(&mut stream, 0, &mut heard).await;
            ready.wait().await;
            heard.clear();
            until(&mut stream, events as u64, &mut heard).await;
            heard
        });
    }
    ready.wait().await;
    let mut appended = Vec::with_capacity(events);
    let mut tick = tokio::time::interval(Duration::from_millis(1_000 / PER_SECOND));
    for n in 0..events {
        tick.tick().await;
        appended.push(Instant::now());
        writer.append([something(n)]).await;
    }
    let mut delays = Vec::with_capacity(followers * events);
    for heard in clients.join_all().await {
        delays.extend(heard.iter().zip(&appended).map(|(heard, appended)| heard.duration_since(*appended)));
    }
    delays
}

/// Reads until the event `last`, and notes when each came.
async fn until(stream: &mut TcpStream, last: u64, heard: &mut Vec<Instant>) {
    let mut buffer = vec![0; 16 << 10];
    let mut text = Vec::new();
    loop {
        let count = stream.read(&mut buffer).await.expect("an answer");
        assert!(count > 0, "the stream ended");
        let now = Instant::now();
        text.extend_from_slice(&buffer[..count]);
        let mut whole = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            whole += line.len();
            if let Some(id) = line.strip_prefix(b"id: ") {
                heard.push(now);
                let id = std::str::from_utf8(id).expect("digits").trim();
                if id.parse() == Ok(last) {
                    return;
                }
            }
        }
        text.drain(..whole);
    }
}
