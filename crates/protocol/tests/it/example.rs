//! An event of each type, made from the registry.

use r1_event::id::to_hex;
use r1_protocol::registry::{EventType, Field, Shape};
use serde_json::{Map, Value, json};

pub(crate) const ULID: &str = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

/// An event of this type with every field it may have.
pub(crate) fn event(row: &EventType) -> Value {
    json!({
        "schema_version": "1",
        "event_id": format!("evt_{ULID}"),
        "run_id": format!("run_{ULID}"),
        "task_id": format!("task_{ULID}"),
        "session_id": format!("chat_{ULID}"),
        "sequence": 7,
        "occurred_at": "2026-09-21T14:13:20.123456789Z",
        "type": row.name.replace('*', "example"),
        "data": data(row),
    })
}

/// The `data` of an event of this type, with every field it may have.
pub(crate) fn data(row: &EventType) -> Map<String, Value> {
    object(row.all_fields())
}

fn object<'a>(fields: impl IntoIterator<Item = &'a Field>) -> Map<String, Value> {
    fields.into_iter().map(|field| (field.name.into(), value(field.name, field.shape))).collect()
}

fn value(key: &str, shape: Shape) -> Value {
    match shape {
        Shape::Text => text(key).into(),
        Shape::Words(words) => words[0].into(),
        Shape::Time => "2026-09-21T14:13:20.000000000Z".into(),
        Shape::Uint => 3.into(),
        Shape::Int => (-1).into(),
        Shape::Bool => true.into(),
        Shape::Object => json!({ "key": "value" }),
        Shape::Any => json!([1, "two", null]),
        Shape::Nullable(shape) => value(key, *shape),
        Shape::List(shape) => json!([value(key, *shape)]),
        Shape::Struct(fields) => object(fields).into(),
    }
}

fn text(key: &str) -> String {
    let prefixes = [
        ("run_id", "run"),
        ("approval_id", "appr"),
        ("artifact_id", "art"),
        ("artifact_ids", "art"),
        ("checkpoint_id", "ckpt"),
        ("event_id", "evt"),
        ("lane_id", "lane"),
        ("note_id", "note"),
        ("mission_id", "mis"),
        ("worktree_id", "wt"),
        ("task_id", "task"),
        ("call_id", "call"),
    ];
    if let Some((_, prefix)) = prefixes.iter().find(|(name, _)| key.ends_with(name)) {
        return format!("{prefix}_{ULID}");
    }
    if key.ends_with("_hash") || key.starts_with("root") || key == "sha256" || key == "merkle_root" {
        return to_hex(&[0xab; 32]);
    }
    format!("some {}", key.replace('_', " "))
}
