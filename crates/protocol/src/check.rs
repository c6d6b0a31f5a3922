//! Whether an event keeps the promises of its schema, without a validator of schemas.
//!
//! Writers ask this before an event is stored; tests hold it against the schemas themselves.

use r1_event::RunId;
use serde_json::Value;

use crate::Envelope;
use crate::data::{Object, Time};
use crate::registry::{self, Field, MAX_CALL_ID, MAX_SEQUENCE, MAX_TYPE_NAME, Shape, id_prefix};
use crate::schema::Strictness;

/// What is wrong with the `data` of an event of this type; nothing if the type is unknown.
#[must_use]
pub fn problems(type_name: &str, data: &Object, strictness: Strictness) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(row) = registry::find(type_name) {
        let check = Check { strictness, found: &mut found };
        check.object("", row.all_fields(), row.open, data);
    }
    found
}

/// What is wrong with an envelope itself, whatever its `data` says.
#[must_use]
pub fn envelope_problems(envelope: &Envelope) -> Vec<String> {
    let Envelope { event_id, run_id, task_id, session_id, sequence, occurred_at, type_name, data: _ } = envelope;
    let ids = [
        ("event_id", "evt", Some(event_id)),
        ("run_id", "run", Some(run_id)),
        ("task_id", "task", task_id.as_ref()),
        ("session_id", "chat", session_id.as_ref()),
    ];
    let mut found = Vec::new();
    for (key, prefix, id) in ids {
        found.extend(id.filter(|id| !is_own_id(prefix, id)).map(|id| format!("{key} cannot be {id:?}")));
    }
    if *sequence >= MAX_SEQUENCE {
        found.push(format!("sequence cannot be {sequence}"));
    }
    if !is_own_time(occurred_at.as_str()) {
        found.push(format!("occurred_at cannot be {:?}", occurred_at.as_str()));
    }
    if !is_type_name(type_name) {
        found.push(format!("type cannot be {type_name:?}"));
    }
    found
}

struct Check<'a> {
    strictness: Strictness,
    found: &'a mut Vec<String>,
}

impl Check<'_> {
    fn object<'f>(mut self, path: &str, fields: impl Iterator<Item = &'f Field> + Clone, open: bool, object: &Object) {
        for field in fields.clone() {
            let path = format!("{path}/{}", field.name);
            match object.get(field.name) {
                Some(value) => self.value(&path, field.name, field.shape, value),
                None if self.strictness.requires(field.presence) => self.found.push(format!("{path} is missing")),
                None => {}
            }
        }
        if self.strictness == Strictness::Strict && !open {
            let unknown = object.keys().filter(|key| fields.clone().all(|field| field.name != key.as_str()));
            self.found.extend(unknown.map(|key| format!("{path}/{key} is unknown")));
        }
    }

    fn value(&mut self, path: &str, key: &str, shape: Shape, value: &Value) {
        let strict = self.strictness == Strictness::Strict;
        let fits = match (shape, value) {
            (Shape::Text, Value::String(text)) => !strict || is_fit(key, text),
            (Shape::Words(words), Value::String(word)) => !strict || words.contains(&word.as_str()),
            (Shape::Time, Value::String(text)) => !strict || is_own_time(text),
            (Shape::Uint, value) if self.strictness != Strictness::Recorded => value.is_u64(),
            (Shape::Int | Shape::Uint, value) => value.is_i64() || value.is_u64(),
            (Shape::Bool, value) => value.is_boolean(),
            (Shape::Object, value) => value.is_object(),
            (Shape::Any, _) | (Shape::Nullable(_), Value::Null) => true,
            (Shape::Nullable(shape), value) => return self.value(path, key, *shape, value),
            (Shape::List(shape), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&format!("{path}/{index}"), key, *shape, item);
                }
                true
            }
            (Shape::Struct(fields), Value::Object(object)) => {
                let inside = Check { strictness: self.strictness, found: self.found };
                inside.object(path, fields.iter(), false, object);
                true
            }
            (Shape::Text | Shape::Words(_) | Shape::Time | Shape::List(_) | Shape::Struct(_), _) => false,
        };
        if !fits {
            self.found.push(format!("{path} cannot be {value}"));
        }
    }
}

/// Whether R1 would write this text under this key.
fn is_fit(key: &str, text: &str) -> bool {
    if key == "tool_call_id" {
        return (1..=MAX_CALL_ID).contains(&text.chars().count());
    }
    id_prefix(key).is_none_or(|prefix| is_own_id(prefix, text))
}

/// Whether this is the prefix and a ULID.
fn is_own_id(prefix: &str, text: &str) -> bool {
    let ulid = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
    ulid.and_then(|ulid| format!("run_{ulid}").parse().ok()).is_some_and(|id: RunId| id.is_native())
}

/// Whether this can name an event type: words of lower-case letters, digits and `_`, with dots between.
fn is_type_name(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
    };
    name.len() <= MAX_TYPE_NAME && name.contains('.') && name.split('.').all(is_word)
}

/// Whether this is a moment in the one form that R1 writes.
fn is_own_time(text: &str) -> bool {
    Time::from(text).nanos().is_some_and(|nanos| Time::from(nanos).as_str() == text)
}
