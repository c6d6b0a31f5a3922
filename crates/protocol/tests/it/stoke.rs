//! A run as lines of JSON.

mod envelope;
mod rows;
mod seed;
mod story;

use r1_event::side_record::Erase;
use r1_event::{Batch, Chain, Payload, Record, UnixNanos};
use r1_protocol::RunFacts;
use r1_protocol::stoke::{Line, Options, Projection};
use serde_json::Value;

pub(crate) const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

/// Every line that there is.
pub(crate) fn everything() -> Options {
    Options {
        partial_messages: true,
        thinking: true,
        replay_user_messages: true,
        all_events: true,
        ..Options::default()
    }
}

pub(crate) fn log(payloads: impl IntoIterator<Item = Payload>) -> Vec<Record> {
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    for (payload, index) in payloads.into_iter().zip(0..) {
        batch.push(UnixNanos(1_777_000_000_000_000_000 + index * 250_000_000), payload).unwrap();
    }
    batch.records().to_vec()
}

/// The lines of each event; the node of an event is named after its place.
pub(crate) fn projected(records: &[Record], options: Options) -> Vec<Vec<Line>> {
    projected_with(records, &[], options)
}

pub(crate) fn projected_with(records: &[Record], erasures: &[Erase], options: Options) -> Vec<Vec<Line>> {
    let facts = RunFacts::of_first(&records[0], None).unwrap();
    let mut projection = Projection::new(facts, options);
    let lines = |(record, seq): (&Record, u64)| {
        let erased = erasures.iter().find(|erase| erase.seq.get() == seq);
        projection.push(record, erased, Some(format!("node-sha256-{seq:064x}")))
    };
    records.iter().zip(1..).map(lines).collect()
}

/// All lines, as they are printed.
pub(crate) fn text(lines: &[Vec<Line>]) -> String {
    lines.iter().flatten().map(|line| std::str::from_utf8(&line.bytes).unwrap()).collect()
}

pub(crate) fn value(line: &Line) -> Value {
    serde_json::from_slice(&line.bytes).unwrap()
}
