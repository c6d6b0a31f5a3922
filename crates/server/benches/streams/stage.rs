//! A server, runs in its store, and a client that does as little as possible.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use r1_event::payload::{
    AssistantMessageCompleted, Raw, RunStarted, ToolCallCompleted, ToolCallScheduled, TurnStarted,
};
use r1_event::{Batch, Chain, Payload, RunId, UnixNanos};
use r1_protocol::data::{self, EventData as _};
use r1_protocol::json;
use r1_runtime::engine::Engine;
use r1_runtime::redact::Redactor;
use r1_server::access::{AccessSettings, OperatorToken};
use r1_server::listen::{Binding, Bound};
use r1_server::{App, Limits, Node, Settings, StreamOptions};
use r1_store::{Lease, SharedStore, SqliteOptions, SqliteStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::world::TestWorld;

const TOKEN: &str = "r1t_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A server that answers.
pub(crate) struct Stage {
    pub(crate) address: String,
    pub(crate) store: SharedStore,
    task: tokio::task::JoinHandle<()>,
}

impl Stage {
    pub(crate) async fn open(directory: &Path) -> Self {
        let store = SqliteStore::open(directory.join("r1.db"), SqliteOptions::default()).await.expect("a store");
        let store: SharedStore = Arc::new(store);
        let world = Arc::new(TestWorld::new(directory.to_owned()));
        let engine = Engine::new(
            store.clone(),
            world,
            Arc::new(Redactor::default()),
            directory.join("snapshots"),
            None,
            "r1-00000001".into(),
        );
        let settings = Settings {
            access: AccessSettings {
                operator: OperatorToken::given(TOKEN).expect("a token"),
                operator_name: "operator".into(),
                allow_hosts: Vec::new(),
                allow_origins: Vec::new(),
                behind_proxy: false,
            },
            limits: Limits::default(),
            node: Node {
                started_at: UnixNanos(0),
                worker_slots: 4,
                busy: Arc::default(),
                sandbox_layer: "none".into(),
            },
            streams: StreamOptions::default(),
        };
        let app = Arc::new(App::new(Arc::new(engine), settings));
        let binding = Binding { tcp: "127.0.0.1:0".parse().ok(), ..Binding::default() };
        let bound = Bound::bind(&binding).await.expect("a port");
        let address = bound.tcp_address().expect("an address").to_string();
        let task = tokio::spawn(bound.serve(app, Duration::ZERO));
        Self { address, store, task }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Somebody who writes a run.
pub(crate) struct Writer {
    store: SharedStore,
    pub(crate) run: RunId,
    lease: Lease,
    chain: Chain,
}

impl Writer {
    pub(crate) async fn new(store: &SharedStore, number: u64) -> Self {
        let run: RunId =
            format!("run_{}", ulid::Ulid::from_parts(1_777_000_000_000 + number, 7)).parse().expect("an id");
        let lease = store.acquire(&run, "bench", Duration::from_secs(3600)).await.expect("a lease").lease;
        let mut writer = Self { store: store.clone(), chain: Chain::new(run.clone()), run, lease };
        let started = RunStarted {
            goal: "watch me".into(),
            run_kind: Some("agent_loop".into()),
            task_id: Some("task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C".into()),
            ..RunStarted::default()
        };
        writer.append([Payload::RunStarted(Box::new(started))]).await;
        writer
    }

    pub(crate) async fn append(&mut self, payloads: impl IntoIterator<Item = Payload>) {
        let mut batch = Batch::new(&self.chain);
        for payload in payloads {
            let at =
                UnixNanos(1_777_000_000_000_000_000 + i64::try_from(self.chain.size()).expect("small") * 1_234_567);
            batch.push(at, payload).expect("an event");
        }
        let chain = batch.after().clone();
        self.store.append(&self.lease, batch).await.expect("appended");
        self.chain = chain;
    }

    /// Appends events as a working agent has them.
    pub(crate) async fn work(&mut self, events: usize) {
        let mut left = events;
        let mut number = 0;
        while left > 0 {
            let count = left.min(2_000);
            self.append((number..number + count).map(something)).await;
            (left, number) = (left - count, number + count);
        }
    }
}

/// The n-th event of a run: mostly deltas and output, and a call with its turn now and then.
pub(crate) fn something(n: usize) -> Payload {
    let n64 = n as u64;
    let text = "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade.\n";
    match n % 10 {
        0 => Payload::TurnStarted(TurnStarted {
            turn_id: "T1".into(),
            turn_index: Some(n64),
            input_tokens: 1_200,
            model: Some("m-1".into()),
            provider: Some("scripted".into()),
            ..TurnStarted::default()
        }),
        1..=4 => data::AssistantTextDelta { turn_index: n64, delta: text.repeat(2), ..Default::default() }.to_payload(),
        5 => Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "T1".into(),
            text: text.repeat(3),
            stop_reason: "tool_use".into(),
            input_tokens: 1_200,
            output_tokens: 77,
            cost_micros_usd: Some(1_234),
            turn_index: Some(n64),
            duration_ms: Some(900),
            ..AssistantMessageCompleted::default()
        })),
        6 => Payload::ToolCallScheduled(ToolCallScheduled {
            call_id: format!("call_{n}"),
            turn_id: "T1".into(),
            tool: "shell".into(),
            attempt: 1,
            turn_index: Some(n64),
            kind: Some("shell".into()),
            ..ToolCallScheduled::default()
        }),
        7 | 8 => data::ToolShellOutputChunk {
            tool_call_id: format!("call_{n}"),
            data: text.repeat(8),
            byte_offset: n64,
            ..Default::default()
        }
        .to_payload(),
        _ => Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: format!("call_{n}"),
            result: raw(&json!({ "exit_code": 0, "stdout": text.repeat(4), "truncated": false })),
            duration_ms: 12,
            attempt: 1,
            tool: Some("shell".into()),
            kind: Some("shell".into()),
            summary: Some("it went well".into()),
            ..ToolCallCompleted::default()
        }),
    }
}

fn raw(value: &serde_json::Value) -> Raw {
    json::to_raw(value)
}

/// Asks, and gives the connection with the answer still to be read.
pub(crate) async fn ask(address: &str, path: &str, accept: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nAccept: {accept}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("asked");
    stream
}

/// Reads an answer to its end; tells how many bytes it had.
pub(crate) async fn drain(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let mut bytes = 0;
    loop {
        match stream.read(buffer).await.expect("an answer") {
            0 => return bytes,
            count => bytes += count,
        }
    }
}
