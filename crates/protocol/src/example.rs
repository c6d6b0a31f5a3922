//! An event of each type, made from the [`registry`](crate::registry).
//!
//! They are this project's golden fixtures: whoever writes a reader of the protocol can test it with them.

use r1_event::id::to_hex;
use serde_json::{Value, json};

use crate::Envelope;
use crate::data::{Object, Time};
use crate::registry::{EventType, Field, Shape, id_prefix};
use crate::schema::Strictness;

const ULID: &str = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

/// An event of this type with every field that it may have.
#[must_use]
pub fn most(row: &EventType) -> Envelope {
    envelope(row, object(row.all_fields(), &|_| true))
}

/// An event of this type with only the fields that R1 always writes.
#[must_use]
pub fn least(row: &EventType) -> Envelope {
    envelope(row, object(row.all_fields(), &|field| Strictness::Strict.requires(field.presence)))
}

fn envelope(row: &EventType, data: Object) -> Envelope {
    Envelope {
        event_id: format!("evt_{ULID}"),
        run_id: format!("run_{ULID}"),
        task_id: Some(format!("task_{ULID}")),
        session_id: Some(format!("chat_{ULID}")),
        sequence: 7,
        occurred_at: Time::from("2026-09-21T14:13:20.123456789Z"),
        type_name: row.name.replace('*', "example"),
        data,
    }
}

fn object<'a>(fields: impl IntoIterator<Item = &'a Field>, wanted: &dyn Fn(&Field) -> bool) -> Object {
    let wanted_fields = fields.into_iter().filter(|field| wanted(field));
    wanted_fields.map(|field| (field.name.into(), value(field.name, field.shape, wanted))).collect()
}

fn value(key: &str, shape: Shape, wanted: &dyn Fn(&Field) -> bool) -> Value {
    match shape {
        Shape::Text => text(key).into(),
        Shape::Words(words) => words.first().copied().unwrap_or_default().into(),
        Shape::Time => "2026-09-21T14:13:20.000000000Z".into(),
        Shape::Uint => 3.into(),
        Shape::Int => (-1).into(),
        Shape::Bool => true.into(),
        Shape::Object => json!({ "key": "value" }),
        Shape::Any => json!([1, "two", null]),
        Shape::Nullable(shape) => value(key, *shape, wanted),
        Shape::List(shape) => json!([value(key, *shape, wanted)]),
        Shape::Struct(fields) => object(fields, wanted).into(),
    }
}

fn text(key: &str) -> String {
    let prefix = match key {
        "task_id" => Some("task"),
        "tool_call_id" | "call_id" => Some("call"),
        _ => id_prefix(key),
    };
    if let Some(prefix) = prefix {
        return format!("{prefix}_{ULID}");
    }
    if key.ends_with("_hash") || key.starts_with("root") || key == "sha256" || key == "merkle_root" {
        return to_hex(&[0xab; 32]);
    }
    format!("some {}", key.replace('_', " "))
}
