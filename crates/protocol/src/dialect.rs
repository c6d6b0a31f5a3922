//! The `model_call` dialect: other names for turns, on the wire only.
//!
//! `turn.X` is `model.call.X`, `turn_index` n is `model_call_index` n + 1, `turns` is `model_call_count`.

use std::borrow::Cow;

use serde_json::Value;

use crate::data::Object;
use crate::envelope::Envelope;
use crate::registry;

const TURN: &str = "turn.";
const MODEL_CALL: &str = "model.call.";

/// Which names an event is served with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// As R1 writes them.
    #[default]
    Turn,
    /// With model calls instead of turns.
    ModelCall,
}

impl Dialect {
    /// Gives an envelope the names of this dialect.
    pub fn apply(self, envelope: &mut Envelope) {
        match self {
            Self::Turn => {}
            Self::ModelCall => to_model_call(&mut envelope.type_name, &mut envelope.data),
        }
    }

    /// The name that this dialect gives a type.
    #[must_use]
    pub fn name_of(self, type_name: &str) -> Cow<'_, str> {
        match (self, type_name.strip_prefix(TURN)) {
            (Self::ModelCall, Some(rest)) => Cow::Owned(format!("{MODEL_CALL}{rest}")),
            (Self::ModelCall, None) | (Self::Turn, _) => Cow::Borrowed(type_name),
        }
    }
}

/// R1's own name of a type that may be given in the dialect.
#[must_use]
pub fn own_name(type_name: &str) -> Cow<'_, str> {
    match type_name.strip_prefix(MODEL_CALL) {
        Some(rest) => Cow::Owned(format!("{TURN}{rest}")),
        None => Cow::Borrowed(type_name),
    }
}

/// Whether anything of an event of this type may have another name in the dialect.
pub(crate) fn renames(type_name: &str) -> bool {
    type_name.starts_with(TURN) || has_turns(type_name)
}

/// Renames an event from R1's own names.
pub fn to_model_call(type_name: &mut String, data: &mut Object) {
    if has_turns(type_name) {
        rename(data, "turn_index", "model_call_index", |index| index.checked_add(1));
        rename(data, "turns", "model_call_count", Some);
    }
    if let Some(rest) = type_name.strip_prefix(TURN) {
        *type_name = format!("{MODEL_CALL}{rest}");
    }
}

/// Renames an event that may be in the dialect to R1's own names.
pub fn from_model_call(type_name: &mut String, data: &mut Object) {
    if let Some(rest) = type_name.strip_prefix(MODEL_CALL) {
        *type_name = format!("{TURN}{rest}");
    }
    if has_turns(type_name) {
        rename(data, "model_call_index", "turn_index", |index| index.checked_sub(1));
        rename(data, "model_call_count", "turns", Some);
    }
}

/// Whether the keys of this type's `data` are R1's to rename: what others define stays as it is.
fn has_turns(type_name: &str) -> bool {
    let row = registry::find(type_name).filter(|row| !row.open);
    row.is_some_and(|row| row.fields.iter().any(|field| matches!(field.name, "turn_index" | "turns")))
}

/// Renames a key whose value can be converted; leaves it alone otherwise, so that nothing is lost.
fn rename(data: &mut Object, from: &str, to: &str, convert: impl Fn(u64) -> Option<u64>) {
    let Some(converted) = data.get(from).and_then(Value::as_u64).and_then(convert) else { return };
    if !data.contains_key(to) {
        data.remove(from);
        data.insert(to.into(), converted.into());
    }
}
