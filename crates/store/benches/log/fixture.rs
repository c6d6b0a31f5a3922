//! Logs to measure with.

use bytes::Bytes;
use r1_event::cbor::Value;
use r1_event::payload::{Payload, Raw, RunStarted, ToolCallCompleted, ToolCallScheduled};
use r1_event::{Batch, Chain, Record, RunId, UnixNanos, Version};

pub(crate) fn run_id(number: usize) -> RunId {
    format!("run_01K0E8M9ZQ4T7V2W5X8Y{number:06}").parse().expect("a native id")
}

pub(crate) fn started() -> Payload {
    Payload::RunStarted(Box::new(RunStarted { goal: "measure".into(), ..RunStarted::default() }))
}

/// A tool result whose payload has exactly `size` bytes.
pub(crate) fn result(size: usize) -> Payload {
    exactly(size, |text| {
        let result = Raw::from(&Value::Text(text));
        Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: "call_1".into(),
            result,
            attempt: 1,
            ..Default::default()
        })
    })
}

/// The payload that `with` makes of a text just long enough.
fn exactly(size: usize, with: impl Fn(String) -> Payload) -> Payload {
    let sized = (0..size).rev().map(|len| with("x".repeat(len))).find(|payload| payload.encode().len() <= size);
    sized.filter(|payload| payload.encode().len() == size).expect("some text gives this size")
}

/// A log of `events` events with payloads of `size` bytes: each tool call is scheduled and completed.
pub(crate) fn log(run: RunId, events: usize, size: usize) -> Vec<Record> {
    let mut batch = Batch::new(&Chain::new(run));
    for (ts, payload) in calls(events, size) {
        batch.push(ts, payload).expect("a sound event");
    }
    batch.into_parts().0
}

/// The same as Starling would write it.
pub(crate) fn v1_log(events: usize, size: usize) -> Vec<Record> {
    let run = "01M7G8HRPXQPK8Y67MQ2D0WH6S".parse().expect("an id");
    let mut batch = Batch::new(&Chain::empty(run, Version::V1));
    for (ts, payload) in calls(events, size) {
        batch.push_v1(ts, payload).expect("a sound event");
    }
    batch.into_parts().0
}

fn calls(events: usize, size: usize) -> impl Iterator<Item = (UnixNanos, Payload)> {
    let completed = result(size);
    let scheduled = exactly(size, |text| {
        let args = Raw::from(&Value::object([("command", Value::Text(text))]));
        let (call_id, tool) = ("call_1".into(), "shell".into());
        Payload::ToolCallScheduled(ToolCallScheduled { call_id, tool, args, attempt: 1, ..Default::default() })
    });
    (0..events).map(move |index| {
        let payload = match index {
            0 => started(),
            _ if index % 2 == 1 => scheduled.clone(),
            _ => completed.clone(),
        };
        (UnixNanos(1_777_000_000_000_000_000 + index as i64), payload)
    })
}

/// The records as a store hands them out: page by page, each page one buffer.
pub(crate) fn pages(records: &[Record]) -> Vec<Vec<Record>> {
    let page = |page: &[Record]| {
        let parts = page.iter().flat_map(|record| [&record.header[..], record.payload.as_deref().unwrap_or_default()]);
        let buffer = Bytes::from(parts.collect::<Vec<_>>().concat());
        let mut at = 0;
        let mut next = |len: usize| {
            at += len;
            buffer.slice(at - len..at)
        };
        let slice = |record: &Record| Record {
            header: next(record.header.len()),
            payload: record.payload.as_ref().map(|payload| next(payload.len())),
        };
        page.iter().map(slice).collect()
    };
    records.chunks(1024).map(page).collect()
}
