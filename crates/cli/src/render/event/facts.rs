//! What an event says for which there are no words of its own: its keys and values, without JSON.

use r1_protocol::registry;
use serde_json::{Map, Value};

use crate::render::number::{duration, usd};

/// Keys whose text says by itself what it is; the first that is there stands alone.
const PLAIN: [&str; 11] =
    ["title", "summary", "message", "text", "path", "url", "query", "name", "command", "error", "pattern"];

/// Everything that the data of an event tells, most telling first: its own keys in the order of the registry, then
/// others. What only points elsewhere is left out if there is something else.
pub(super) fn facts(type_name: &str, data: &Value) -> String {
    let Value::Object(data) = data else { return brief(data) };
    let known = registry::find(type_name).map(|row| row.fields).unwrap_or_default();
    let is_known = |key: &str| known.iter().any(|field| field.name == key);
    let is_common = |key: &str| registry::COMMON.iter().any(|field| field.name == key);
    let others = data.keys().map(String::as_str).filter(|key| !is_known(key) && !is_common(key));
    let keys = known.iter().map(|field| field.name).chain(others);
    let plain = PLAIN.iter().copied().find(|key| data.get(*key).is_some_and(Value::is_string));
    let (mut told, mut pointers) = (Vec::new(), Vec::new());
    told.extend(plain.map(|key| brief(&data[key])));
    for key in keys.filter(|key| Some(*key) != plain) {
        if let Some(fact) = data.get(key).and_then(|value| fact(key, value)) {
            let kind = if points_elsewhere(key) { &mut pointers } else { &mut told };
            kind.push(fact);
        }
    }
    if told.is_empty() { pointers.join(" · ") } else { told.join(" · ") }
}

/// A value in words: texts as they are, lists with commas, objects as `key=value`.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::Object(members) => match members.iter().next() {
            Some((_, only)) if members.len() == 1 => part(only, false),
            _ => pairs(members),
        },
        other => part(other, false),
    }
}

/// A value inside of another one: what has spaces is kept together.
fn part(value: &Value, inside: bool) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if inside && (text.is_empty() || text.contains(char::is_whitespace)) => format!("{text:?}"),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(|item| part(item, true)).collect::<Vec<_>>().join(", "),
        Value::Object(members) => format!("({})", pairs(members)),
    }
}

/// An object as `key=value`.
pub(super) fn pairs(members: &Map<String, Value>) -> String {
    members.iter().map(|(key, value)| format!("{key}={}", part(value, true))).collect::<Vec<_>>().join(" ")
}

/// `key: value`, with the unit that the key names; `None` if it says nothing.
fn fact(key: &str, value: &Value) -> Option<String> {
    let number = value.as_u64();
    let with_unit = number.and_then(|number| {
        let money = key.strip_suffix("_micros_usd").map(|key| (key, usd(number)));
        let time = || key.strip_suffix("_ms").map(|key| (key, duration(number)));
        // Events are counted from 1 wherever people see them.
        let place = || key.strip_suffix("_sequence").map(|key| (key, format!("event {}", number.saturating_add(1))));
        money.or_else(time).or_else(place)
    });
    let (key, said) = with_unit.unwrap_or_else(|| (key.strip_suffix("_id").unwrap_or(key), brief(value)));
    let key = key.replace('_', " ");
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(key),
        _ if said.is_empty() => None,
        _ => Some(format!("{key}: {said}")),
    }
}

/// Whether a key holds the name of something else, or a place that is of no use to a reader.
fn points_elsewhere(key: &str) -> bool {
    const ENDS: [&str; 8] = ["_id", "_ids", "_hash", "_index", "_digest", "_blake3", "_sha256", "_revision"];
    ENDS.iter().any(|end| key.ends_with(end)) || ["digest", "merkle_root", "sha256", "trace_parent"].contains(&key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_told_without_json() {
        for (value, told) in [
            (json!({ "command": "cat .env" }), "cat .env"),
            (json!({ "path": "a.txt", "old": "one two", "n": 3 }), r#"n=3 old="one two" path=a.txt"#),
            (json!([1, "two", null, { "a": [true] }]), "1, two, , (a=true)"),
            (json!(null), ""),
        ] {
            assert_eq!(brief(&value), told);
        }
    }

    #[test]
    fn the_most_telling_stands_first_and_units_are_named() {
        let data =
            json!({ "child_run_id": "run_1", "cost_micros_usd": 1500, "summary": "done", "final_status": "failed" });
        assert_eq!(facts("run.child_finished", &data), "done · final status: failed · cost: $0.0015");
        assert_eq!(facts("nobody.knows", &json!({ "wait_ms": 1200, "is": true, "not": false })), "is · wait: 1.2 s");
        assert_eq!(facts("run.checkpoint_saved", &json!({ "at_sequence": 17, "checkpoint_id": "c" })), "at: event 18");
        assert_eq!(facts("run.handed_over", &json!({ "worker_id": "w1" })), "worker: w1");
    }
}
