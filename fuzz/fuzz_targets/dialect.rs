//! Events from outside: any JSON is kept in CBOR and comes back unchanged, and renaming to the other dialect
//! and back settles at once.
//!
//! Input: a JSON object `{"type": …, "data": {…}}`.

#![no_main]

use r1_event::cbor::{Rules, Value as Cbor};
use r1_protocol::data::Object;
use r1_protocol::schema::Strictness;
use r1_protocol::{check, dialect, json};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(event) = serde_json::from_slice::<Value>(data) else { return };
    let bytes = json::to_cbor(&event).encode();
    if let Ok(read) = Cbor::decode(&bytes, Rules::CANONICAL) {
        assert_eq!(json::from_cbor(&read), event, "JSON that a log changes");
    }
    let (Some(name), Some(data)) = (event["type"].as_str(), event["data"].as_object()) else { return };
    for strictness in [Strictness::Open, Strictness::Strict, Strictness::Recorded] {
        let _ = check::problems(name, data, strictness);
    }
    let own = renamed(dialect::from_model_call, (name.to_owned(), data.clone()));
    let other = renamed(dialect::to_model_call, own.clone());
    let back = renamed(dialect::from_model_call, other.clone());
    assert_eq!(renamed(dialect::to_model_call, back), other, "renaming does not settle");
});

fn renamed(rename: fn(&mut String, &mut Object), (mut name, mut data): (String, Object)) -> (String, Object) {
    rename(&mut name, &mut data);
    (name, data)
}
