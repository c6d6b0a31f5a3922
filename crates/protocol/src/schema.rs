//! JSON Schemas (draft 2020-12) of the envelopes, made from the [`registry`](crate::registry).

use r1_event::Version;
use r1_event::side_record::may_be_erased;
use serde_json::{Map, Value, json};

use crate::RunFacts;
use crate::registry::{EventType, Field, MAX_CALL_ID, MAX_SEQUENCE, MAX_TYPE_NAME, Presence, Shape, id_prefix};

/// How much a schema demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// What a consumer may rely on whoever wrote the event: unknown fields and words are fine.
    Open,
    /// What R1 promises of its own events: nothing unknown, nothing missing.
    Strict,
    /// What R1 promises of v1 logs and recorded runs, where a source may not tell everything.
    Recorded,
}

impl Strictness {
    pub(crate) const fn requires(self, presence: Presence) -> bool {
        match (presence, self) {
            (Presence::Identity, _) | (Presence::Required, Self::Strict) => true,
            (Presence::Required, Self::Open | Self::Recorded) | (Presence::Optional, _) => false,
        }
    }

    /// How strictly events of this run are checked.
    #[must_use]
    pub fn of(run: &RunFacts) -> Self {
        let is_recorded = run.run_kind.as_deref() == Some("recorded");
        match run.version {
            Version::V2 if !is_recorded => Self::Strict,
            Version::V2 | Version::V1 => Self::Recorded,
        }
    }
}

/// The schema of one event type.
#[must_use]
pub fn schema(row: &EventType, strictness: Strictness) -> Value {
    let mut variants = vec![object(row.all_fields(), strictness, row.open)];
    if row.kinds.iter().any(|kind| may_be_erased(*kind, row.name)) {
        variants.push(erased());
    }
    if row.name.starts_with("assistant.thinking_") {
        variants.push(hidden());
    }
    let type_name = match row.name.strip_suffix('*') {
        Some(prefix) => json!({ "type": "string", "pattern": format!("^{}.", prefix.replace('.', "\\.")) }),
        None => json!({ "const": row.name }),
    };
    let mut schema = envelope(type_name, json!({ "anyOf": variants }), strictness);
    schema.insert("$id".into(), id(row.name, strictness).into());
    schema.insert("title".into(), row.name.into());
    schema.insert("description".into(), row.summary.into());
    Value::Object(schema)
}

fn id(name: &str, strictness: Strictness) -> String {
    let suffix = match strictness {
        Strictness::Open => "",
        Strictness::Strict => ":strict",
        Strictness::Recorded => ":recorded",
    };
    format!("urn:r1:events:v1:{name}{suffix}")
}

fn envelope(type_name: Value, data: Value, strictness: Strictness) -> Map<String, Value> {
    let id = |prefix: &str| match strictness {
        Strictness::Open => json!({ "type": "string" }),
        Strictness::Strict | Strictness::Recorded => json!({ "type": "string", "pattern": ulid_pattern(prefix) }),
    };
    let mut schema = Map::new();
    let mut put = |key: &str, value: Value| schema.insert(key.into(), value);
    put("$schema", "https://json-schema.org/draft/2020-12/schema".into());
    put("type", "object".into());
    put("required", json!(["schema_version", "event_id", "run_id", "sequence", "occurred_at", "type", "data"]));
    put(
        "properties",
        json!({
            "schema_version": { "const": "1" },
            "event_id": id("evt"),
            "run_id": id("run"),
            "task_id": id("task"),
            "session_id": id("chat"),
            "sequence": { "type": "integer", "minimum": 0, "exclusiveMaximum": MAX_SEQUENCE },
            "occurred_at": time(strictness),
            "type": type_name,
            "data": data,
        }),
    );
    put("additionalProperties", (strictness == Strictness::Open).into());
    schema
}

/// The schema of an object with these fields.
fn object<'a>(fields: impl IntoIterator<Item = &'a Field>, strictness: Strictness, open: bool) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields {
        properties.insert(field.name.into(), property(field, strictness));
        if strictness.requires(field.presence) {
            required.push(field.name);
        }
    }
    let closed = strictness == Strictness::Strict && !open;
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": !closed })
}

fn property(field: &Field, strictness: Strictness) -> Value {
    let mut schema = of_shape(field.shape, strictness);
    if let Value::Object(schema) = &mut schema {
        if strictness == Strictness::Strict {
            constrain(field.name, schema);
        }
        if !field.summary.is_empty() {
            schema.insert("description".into(), field.summary.into());
        }
    }
    schema
}

fn of_shape(shape: Shape, strictness: Strictness) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Words(words) if strictness == Strictness::Strict => json!({ "enum": words }),
        Shape::Words(words) => json!({ "type": "string", "examples": words }),
        Shape::Time => time(strictness),
        // A foreign log may hold any number, and it is served as it is.
        Shape::Uint if strictness == Strictness::Recorded => json!({ "type": "integer" }),
        Shape::Uint => json!({ "type": "integer", "minimum": 0 }),
        Shape::Int => json!({ "type": "integer" }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Object => json!({ "type": "object" }),
        Shape::Any => json!({}),
        Shape::Nullable(shape) => json!({ "anyOf": [of_shape(*shape, strictness), { "type": "null" }] }),
        Shape::List(shape) => json!({ "type": "array", "items": of_shape(*shape, strictness) }),
        Shape::Struct(fields) => object(fields, strictness, false),
    }
}

fn time(strictness: Strictness) -> Value {
    match strictness {
        Strictness::Strict => json!({ "type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$" }),
        Strictness::Open | Strictness::Recorded => json!({ "type": "string", "format": "date-time" }),
    }
}

/// The form of ids that R1 mints, by the key they stand under.
fn constrain(key: &str, schema: &mut Map<String, Value>) {
    if key == "tool_call_id" {
        schema.insert("minLength".into(), 1.into());
        schema.insert("maxLength".into(), MAX_CALL_ID.into());
    }
    let Some(prefix) = id_prefix(key) else { return };
    let text = match schema.get("type").and_then(Value::as_str) {
        Some("string") => Some(schema),
        Some("array") => schema.get_mut("items").and_then(Value::as_object_mut),
        // Nullable: the id itself is the first choice.
        _ => schema.get_mut("anyOf").and_then(|choices| choices.get_mut(0)).and_then(Value::as_object_mut),
    };
    if let Some(text) = text {
        text.insert("pattern".into(), ulid_pattern(prefix).into());
    }
}

fn ulid_pattern(prefix: &str) -> String {
    format!("^{prefix}_[0-9A-HJKMNP-TV-Z]{{26}}$")
}

/// What is served of an event whose payload was erased.
fn erased() -> Value {
    json!({
        "type": "object",
        "required": ["erased", "payload_hash", "payload_size"],
        "properties": {
            "erased": { "const": true },
            "payload_hash": { "type": "string" },
            "payload_size": { "type": "integer", "minimum": 0 },
            "redaction_event_id": { "type": "string" },
        },
        "additionalProperties": false,
    })
}

/// What is served of reasoning that nobody asked for.
fn hidden() -> Value {
    json!({
        "type": "object",
        "required": ["hidden"],
        "properties": {
            "hidden": { "const": true },
            "turn_index": { "type": "integer", "minimum": 0 },
            "block_index": { "type": "integer", "minimum": 0 },
        },
        "additionalProperties": false,
    })
}

/// The schema of any envelope, whatever its type.
#[must_use]
pub fn any_envelope(strictness: Strictness) -> Value {
    let pattern = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$";
    let type_name = json!({ "type": "string", "pattern": pattern, "maxLength": MAX_TYPE_NAME });
    let mut schema = envelope(type_name, json!({ "type": "object" }), strictness);
    schema.insert("$id".into(), id("envelope", strictness).into());
    schema.insert("title".into(), "envelope".into());
    Value::Object(schema)
}
