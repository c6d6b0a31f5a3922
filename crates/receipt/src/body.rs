//! What each type of event must say: closed tables, and the rules between their keys.

mod shape;
mod table;

use std::borrow::Cow;

use r1_event::cbor;

use self::shape::{Field, Shape};
use crate::file::MAX_BODY;
use crate::json::walk::MAX_TEXT;
use crate::json::{Object, Value};
use crate::node::{NodeType, sha256_hex};

/// The longest arguments that a call shows; of longer ones it gives the hash alone.
pub(crate) const MAX_ARGS: usize = 16 << 10;
/// What `seq`, `at` and the braces add to a body, at most.
const PLACE: usize = 128;
/// The longest reason of an override.
const MAX_OVERRIDE_REASON: usize = 512;

/// A body that is not what its type demands: at which key, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The key.
    pub key: Cow<'static, str>,
    /// What is wrong, as the rest of a sentence about it.
    pub problem: &'static str,
}

impl Unfit {
    const fn new(key: &'static str, problem: &'static str) -> Self {
        Self { key: Cow::Borrowed(key), problem }
    }
}

/// Checks what an event says; `is_first` if it follows nothing.
pub(crate) fn check(node_type: NodeType, is_first: bool, body: &Object<'_>) -> Result<(), Unfit> {
    let fields = fields_of(node_type, is_first, body)?;
    shape::check_object(&[table::EVERY, fields], body)?;
    check_rules(node_type, body)
}

/// Checks what an event from outside says before it is stored: a receipt could not take anything else.
pub fn check_data(node_type: NodeType, data: &cbor::Value) -> Result<(), Unfit> {
    let body = from_data(node_type, data);
    let fields = fields_of(node_type, false, &body)?;
    let given = if let cbor::Value::Map(entries) = data { entries.as_slice() } else { &[] };
    for key in given.iter().filter_map(|(key, _)| key.as_text()) {
        if body.get(key).is_none() {
            let known = fields.iter().any(|field| field.name == key);
            let problem = if known { "has no form in a receipt" } else { "is unknown" };
            return Err(Unfit { key: Cow::Owned(key.to_owned()), problem });
        }
    }
    check_size(&body)?;
    shape::check_object(&[fields], &body)?;
    check_rules(node_type, &body)
}

/// Whether a body is within the limits of a receipt, with room for its place and time.
fn check_size(body: &Object<'_>) -> Result<(), Unfit> {
    body.iter().try_for_each(|(key, value)| check_texts(key, value))?;
    let lengths: Vec<_> = body.iter().map(|(key, value)| (value.to_text().len(), key)).collect();
    let whole: usize = lengths.iter().map(|(length, key)| length + key.len() + "\"\":,".len()).sum();
    match lengths.into_iter().max() {
        Some((_, key)) if whole + PLACE > MAX_BODY => {
            Err(Unfit { key: Cow::Owned(key.to_owned()), problem: "is too long: an event has at most 1 MiB" })
        }
        _ => Ok(()),
    }
}

fn check_texts(key: &str, value: &Value<'_>) -> Result<(), Unfit> {
    match value {
        Value::Text(text) if text.len() > MAX_TEXT => {
            Err(Unfit { key: Cow::Owned(key.to_owned()), problem: "is longer than 64 KiB" })
        }
        Value::Text(_) | Value::Bool(_) | Value::Int(_) => Ok(()),
        Value::Array(items) => items.iter().try_for_each(|item| check_texts(key, item)),
        Value::Object(object) => object.iter().try_for_each(|(key, value)| check_texts(key, value)),
    }
}

fn check_rules(node_type: NodeType, body: &Object<'_>) -> Result<(), Unfit> {
    match node_type {
        NodeType::ToolCall => check_call(body),
        NodeType::MemoryRead => check_memory(body, body.get("hit") == Some(&Value::Bool(true))),
        NodeType::MemoryWrite => check_memory(body, body.text("op") == Some("set")),
        NodeType::GateDecision => check_override(body),
        NodeType::PhaseTransition => check_sorted(body),
        NodeType::SkillAuthoringDecision => check_confidence(body),
        NodeType::BeaconLedgerEvent => check_detail(body),
        NodeType::Thought | NodeType::Artifact => Ok(()),
    }
}

fn fields_of(node_type: NodeType, is_first: bool, body: &Object<'_>) -> Result<&'static [Field], Unfit> {
    Ok(match node_type {
        NodeType::Thought => table::THOUGHT,
        NodeType::ToolCall => table::TOOL_CALL,
        NodeType::MemoryRead if is_first && is_beginning(body) => table::ROOT,
        NodeType::MemoryRead => table::MEMORY_READ,
        NodeType::MemoryWrite => table::MEMORY_WRITE,
        NodeType::PhaseTransition => table::PHASE_TRANSITION,
        NodeType::GateDecision => table::GATE_DECISION,
        NodeType::Artifact => match body.text("kind") {
            Some("child_run") => table::CHILD_RUN,
            Some("run_log") => table::RUN_LOG,
            Some(_) => table::ARTIFACT,
            None => return Err(Unfit::new("kind", "is missing")),
        },
        NodeType::SkillAuthoringDecision => table::SKILL,
        NodeType::BeaconLedgerEvent => table::BEACON,
    })
}

/// Whether a read that follows nothing is meant to begin a run; another one has only lost what it follows.
fn is_beginning(body: &Object<'_>) -> bool {
    let is_identity = body.text("tier") == Some("L0") && body.text("key") == Some("identity");
    is_identity || body.get("run_id").is_some() || body.get("link").is_some()
}

fn check_call(body: &Object<'_>) -> Result<(), Unfit> {
    match (body.text("args"), body.text("args_form")) {
        (Some(args), Some("jcs")) if args.len() > MAX_ARGS => Err(Unfit::new("args", "is longer than 16 KiB")),
        (Some(args), Some("jcs")) if body.text("args_hash") != Some(&sha256_hex(args)) => {
            Err(Unfit::new("args_hash", "is not the hash of `args`"))
        }
        (Some(args), Some("jcs")) if crate::json::syntax::check(args).is_err() => Err(Unfit::new("args", "is no JSON")),
        (Some(_), Some("cbor")) => Err(Unfit::new("args", "has no text in this form")),
        _ => Ok(()),
    }
}

fn check_memory(body: &Object<'_>, has_value: bool) -> Result<(), Unfit> {
    let tier = table::TIERS.iter().position(|tier| body.text("tier") == Some(tier));
    if tier.and_then(|tier| table::STORES.get(tier).copied()) != body.text("store") {
        return Err(Unfit::new("store", "does not belong to its tier"));
    }
    if body.get("fingerprint").is_some() != has_value {
        return Err(Unfit::new("fingerprint", "must be there if and only if there is a value"));
    }
    Ok(())
}

fn check_override(body: &Object<'_>) -> Result<(), Unfit> {
    let reason = body.get("override").and_then(Value::as_object).and_then(|given| given.text("reason"));
    match reason {
        Some(reason) if reason.is_empty() || reason.len() > MAX_OVERRIDE_REASON => {
            Err(Unfit::new("override.reason", "must have 1 to 512 bytes"))
        }
        _ => Ok(()),
    }
}

fn check_sorted(body: &Object<'_>) -> Result<(), Unfit> {
    let required = body.get("required").and_then(Value::as_array).unwrap_or_default();
    let sorted = required.windows(2).all(|pair| pair[0].as_text() < pair[1].as_text());
    if sorted { Ok(()) } else { Err(Unfit::new("required", "must be sorted")) }
}

fn check_confidence(body: &Object<'_>) -> Result<(), Unfit> {
    if body.text("mode") == Some("operator") && body.int("confidence") != Some(1000) {
        return Err(Unfit::new("confidence", "of an operator is 1000"));
    }
    Ok(())
}

fn check_detail(body: &Object<'_>) -> Result<(), Unfit> {
    let kind = body.text("kind").unwrap_or_default();
    let detail = body.get("detail").and_then(Value::as_object);
    let fields = table::BEACON_KINDS.iter().find(|(name, _)| *name == kind);
    match (fields, detail) {
        (Some((_, fields)), Some(detail)) => shape::check_object(&[fields], detail),
        _ => Err(Unfit::new("kind", "is none that is known")),
    }
}

/// What an event of the log says under the keys that a body of this type has.
///
/// A value that receipts have no form for is left out; [`check`] then names what is missing.
pub(crate) fn from_data(node_type: NodeType, data: &cbor::Value) -> Object<'static> {
    let mut body = Object::default();
    let fields = fields_of(node_type, false, &body).unwrap_or_default();
    // Objects inside of bodies (approvals, overrides, links) are made here and never taken over.
    let taken = |field: &&Field| !matches!(field.shape, Shape::Object(_));
    for field in fields.iter().filter(taken) {
        body.put_some(field.name, data.get(field.name).and_then(Value::from_cbor));
    }
    body
}

/// The keys that every gate decision has.
pub(crate) fn required_of_gates() -> impl Iterator<Item = &'static str> {
    table::GATE_DECISION.iter().filter(|field| field.required).map(|field| field.name)
}

/// Whether an artifact of this kind has a place in a receipt.
pub(crate) fn is_artifact_kind(kind: &str) -> bool {
    table::ARTIFACT_KINDS.contains(&kind)
}

/// A time as bodies give it: nanoseconds in decimal digits.
pub(crate) fn read_decimal(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}
