//! The twelve events of the STOKE protocol.

use r1_event::Payload;
use r1_protocol::registry::{self, EventType, Presence};
use r1_protocol::stoke::Options;
use r1_protocol::{data, example};
use serde_json::Value;

use super::{log, projected, text, value};

fn rows() -> impl Iterator<Item = &'static EventType> {
    registry::all().filter(|row| row.name.starts_with("stoke."))
}

/// The line of one event with this data.
fn line(type_name: &str, data: &data::Object) -> (String, Value) {
    let event = Payload::Typed(data::typed(type_name, &Value::Object(data.clone())));
    let lines = projected(&log([Payload::RunStarted(Box::default()), event]), Options::default());
    assert_eq!(lines[1].len(), 1, "{type_name}");
    (text(&lines[1..]), value(&lines[1][0]))
}

#[test]
fn stoke_01_the_twelve_events_are_told_in_dollars_and_seconds() {
    let names: Vec<_> = rows().map(|row| row.name).collect();
    assert_eq!(names.len(), 12, "{names:?}");
    let lines: String = rows().map(|row| line(row.name, &example::most(row).data).0).collect();
    assert!(!lines.contains("micros_usd") && !lines.contains("duration_ms"), "{lines}");
    insta::assert_snapshot!("seed_events", lines);
}

#[test]
fn stoke_01_what_is_absent_is_left_out() {
    for row in rows() {
        let most = example::most(row).data;
        let (_, whole) = line(row.name, &most);
        for field in row.all_fields().filter(|field| field.presence == Presence::Optional) {
            let mut data = most.clone();
            data.remove(field.name);
            let (written, without) = line(row.name, &data);
            assert_eq!(without.get(field.name), None, "{written}");
            assert_eq!(without.as_object().unwrap().len(), whole.as_object().unwrap().len() - 1, "{written}");
            assert!(!written.contains("null"), "{written}");
        }
    }
}
