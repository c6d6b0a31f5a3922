//! Making and checking receipts: 10,000 events in under 150 ms each, and ten times the events in about ten times
//! the time.
//!
//! `R1_BENCH_QUICK=1` measures once; figures are then for the smoke test alone and no limit counts.

use std::time::{Duration, Instant};

use r1_event::payload::{
    AssistantMessageCompleted, Payload, PlannedToolUse, Raw, RunCompleted, RunStarted, ToolCallCompleted,
    ToolCallScheduled, TurnStarted,
};
use r1_event::{Batch, Chain, Record, UnixNanos, cbor};
use r1_receipt::graph::Notes;
use r1_receipt::key::{KnownKey, SecretKey};
use r1_receipt::{Builder, Options, Signed, Verdict, Withhold, verify};

const LIMIT: Duration = Duration::from_millis(150);
const EVENTS: usize = 10_000;
/// How much more than ten times as long ten times as much may take: the sort, and caches that no longer hold it all.
const GROWTH: f64 = 16.0;

fn main() {
    let quick = std::env::var_os("R1_BENCH_QUICK").is_some();
    let rounds = if quick { 1 } else { 15 };
    let key = SecretKey::from_seed([7; 32]);
    let known = [KnownKey::bare(*key.public().as_bytes())];
    let (small, large) = (Subject::new(EVENTS, &key), Subject::new(EVENTS * 10, &key));
    let mut failed = false;
    for (name, work) in [
        ("create", &(|subject: &Subject| drop(subject.create(&key))) as &dyn Fn(&Subject)),
        ("verify", &|subject: &Subject| subject.verify(&known)),
    ] {
        let time = best(rounds, || work(&small));
        let growth = best(rounds.min(3), || work(&large)).as_secs_f64() / time.as_secs_f64();
        println!(
            "{name}: {:.1} ms for a receipt of {} events, {:.1} MB ({:.2} of the limit of {} ms); {growth:.1} times as long for 10 times as many",
            time.as_secs_f64() * 1e3,
            small.nodes,
            small.signed.bytes.len() as f64 / 1e6,
            time.as_secs_f64() / LIMIT.as_secs_f64(),
            LIMIT.as_millis(),
        );
        failed |= !quick && (time > LIMIT || growth > GROWTH);
    }
    if failed {
        std::process::exit(1);
    }
}

/// The fastest of so many.
fn best(rounds: usize, work: impl Fn()) -> Duration {
    let once = || {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    (0..rounds).map(|_| once()).min().unwrap_or_default()
}

struct Subject {
    records: Vec<Record>,
    signed: Signed,
    nodes: usize,
}

impl Subject {
    /// A log whose receipt has so many events: turns with three calls each.
    fn new(nodes: usize, key: &SecretKey) -> Self {
        let records = log(nodes / 4);
        let signed = sign(&records, key);
        let nodes = verify(&signed.bytes, &Options::default()).events;
        Self { records, signed, nodes }
    }

    fn create(&self, key: &SecretKey) -> Signed {
        sign(&self.records, key)
    }

    fn verify(&self, known: &[KnownKey]) {
        let report = verify(&self.signed.bytes, &Options { keys: known, ..Options::default() });
        assert!(report.verdict() == Verdict::Valid, "{:?}", report.failure);
    }
}

fn sign(records: &[Record], key: &SecretKey) -> Signed {
    let mut builder = Builder::new(&[], Notes::default());
    builder.extend(records);
    match builder.sign(key, Withhold::default()) {
        Some(signed) => signed,
        None => std::process::exit(2),
    }
}

fn log(turns: usize) -> Vec<Record> {
    let Ok(run) = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse() else { std::process::exit(2) };
    let mut batch = Batch::new(&Chain::new(run));
    let mut clock = 1_777_000_000_000_000_000;
    let mut push = |payload| {
        clock += 1_000_000;
        if batch.push(UnixNanos(clock), payload).is_err() {
            std::process::exit(2);
        }
    };
    push(Payload::RunStarted(Box::new(RunStarted { schema_version: 2, ..RunStarted::default() })));
    for turn in 0..turns {
        let turn_id = format!("T{turn}");
        let args = Raw::from(&cbor::Value::object([
            ("path", cbor::Value::text(format!("src/module_{turn}/lib.rs"))),
            ("offset", cbor::Value::Uint(turn as u64)),
        ]));
        let calls: Vec<String> = (0..3).map(|call| format!("call_{turn}_{call}")).collect();
        let planned = |id: &String| PlannedToolUse {
            call_id: id.clone(),
            tool: "file_read".into(),
            args: args.clone(),
            ..PlannedToolUse::default()
        };
        push(Payload::TurnStarted(TurnStarted { turn_id: turn_id.clone(), ..TurnStarted::default() }));
        push(Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: turn_id.clone(),
            text: "I read three files and think about them. ".repeat(8),
            tool_uses: Some(calls.iter().map(planned).collect()),
            ..AssistantMessageCompleted::default()
        })));
        for id in &calls {
            push(Payload::ToolCallScheduled(ToolCallScheduled {
                call_id: id.clone(),
                turn_id: turn_id.clone(),
                tool: "file_read".into(),
                args: args.clone(),
                attempt: 1,
                ..ToolCallScheduled::default()
            }));
        }
        for id in &calls {
            push(Payload::ToolCallCompleted(ToolCallCompleted {
                call_id: id.clone(),
                result: Raw::from(&cbor::Value::text("fn main() {}\n".repeat(100))),
                attempt: 1,
                ..ToolCallCompleted::default()
            }));
        }
    }
    push(Payload::RunCompleted(RunCompleted::default()));
    batch.records().to_vec()
}
