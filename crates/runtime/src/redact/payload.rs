//! Every text of every payload.

mod contents;
mod value;

use r1_event::Payload;
use r1_event::cbor::Value;
use r1_event::payload::Raw;

use super::Redactor;
use super::engine::Which;
use contents::{Content, Contents};

/// The payload without secrets.
pub(super) fn redact(redactor: &Redactor, mut payload: Payload) -> Payload {
    let mut paths = Vec::new();
    if let Payload::Typed(typed) = &mut payload {
        let names = value::Names::of_type(&typed.r#type);
        if let Some(data) = value::redact(redactor, &typed.data, "", names, &mut paths) {
            typed.data = with_paths(data, &paths);
        }
        return payload;
    }
    let Some(Contents { contents, extra }) = Contents::of(&mut payload) else { return payload };
    for (name, content) in contents {
        let pointer = format!("/{name}");
        match content {
            Content::Text(text) => {
                if let Some(redacted) = redactor.replaced(text, Which::All) {
                    *text = redacted;
                    paths.push(pointer);
                }
            }
            Content::Value(raw) => {
                if let Some(redacted) = value::redact(redactor, raw, &pointer, value::Names::Foreign, &mut paths) {
                    *raw = Raw::from(&redacted);
                }
            }
        }
    }
    let unknown: Vec<_> = extra.iter().map(|(key, item)| (key.to_owned(), item)).collect();
    for (key, item) in unknown.into_iter().filter(|(key, _)| !value::is_reference(key)) {
        if let Some(redacted) = value::redact(redactor, &item, &format!("/{key}"), value::Names::Foreign, &mut paths) {
            extra.set(&key, Raw::from(&redacted));
        }
    }
    if !paths.is_empty() {
        let earlier = extra.get(PATHS).and_then(|raw| raw.value().ok());
        extra.set(PATHS, Raw::from(&merged(earlier, &paths)));
    }
    payload
}

/// The key that names the places.
const PATHS: &str = "redacted_paths";

/// `data` that names its places.
fn with_paths(data: Value, paths: &[String]) -> Raw {
    let Value::Map(mut entries) = data else { return Raw::from(&data) };
    let at = entries.iter().position(|(name, _)| name.as_text() == Some(PATHS));
    let earlier = at.map(|at| entries.remove(at).1);
    entries.push((Value::text(PATHS), merged(earlier, paths)));
    Raw::from(&Value::Map(entries))
}

/// The places named before and the new ones, each once.
fn merged(earlier: Option<Value>, paths: &[String]) -> Value {
    let mut all: Vec<String> = match earlier {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_text).map(Into::into).collect(),
        _ => Vec::new(),
    };
    for path in paths {
        if !all.contains(path) {
            all.push(path.clone());
        }
    }
    Value::Array(all.into_iter().map(Value::Text).collect())
}
