//! Stored events as they are served: whatever a payload holds, there is an envelope, its bytes are JSON, and
//! they are the same bytes when that JSON is written again.
//!
//! Input: the kind and a byte of choices, then the payload.

#![no_main]

use r1_event::{Batch, Chain, Kind, Payload, Record, RunId, UnixNanos};
use r1_protocol::dialect::Dialect;
use r1_protocol::{Envelope, RunFacts, Thinking, canonical, check};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [kind, choices, payload @ ..] = data else { return };
    let kind = Kind::from_number(u64::from(*kind));
    let Ok(payload) = Payload::decode(kind, &payload.to_vec().into()) else { return };
    let run: RunId = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().expect("a run id");
    let mut batch = Batch::new(&Chain::new(run));
    if batch.push(UnixNanos(1), payload).is_err() {
        return;
    }
    let thinking = if choices & 1 == 0 { Thinking::Shown } else { Thinking::Hidden };
    for record in batch.records() {
        let mut envelope = served(record, thinking);
        if choices & 2 != 0 {
            Dialect::ModelCall.apply(&mut envelope);
        }
        assert_bytes(&envelope);
    }
});

fn served(record: &Record, thinking: Thinking) -> Envelope {
    let facts = RunFacts::of_first(record, None).expect("facts of our own header");
    facts.envelope(record, None, thinking).expect("an envelope of our own header")
}

fn assert_bytes(envelope: &Envelope) {
    let bytes = envelope.to_bytes();
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("an envelope is JSON");
    let data = json["data"].as_object().expect("data is an object");
    let mut written = Vec::new();
    canonical::write_object(&mut written, data);
    assert!(bytes.ends_with(&[written.as_slice(), b"}"].concat()), "data is not canonical");
    let _ = check::envelope_problems(envelope);
}
