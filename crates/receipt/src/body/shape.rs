//! What may stand under a key.

use std::borrow::Cow;

use r1_event::KeyId;

use super::{Unfit, read_decimal};
use crate::file::read_signature;
use crate::json::{Object, Value};
use crate::node::{NodeId, read_hex};

/// One key of a body.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
}

/// A kind of value.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Bool,
    /// Any integer.
    Int,
    /// From 0.
    Uint,
    /// From 1.
    Count,
    /// 0 to 1000.
    PerMille,
    Text,
    /// One of these.
    Words(&'static [&'static str]),
    /// 64 lower-case hexadecimal digits.
    Hash,
    /// The id of an event of the receipt.
    EventId,
    /// Nanoseconds in decimal digits.
    Nanos,
    /// `ed25519:` and 128 digits.
    Signature,
    /// `kid:` and 43 characters.
    KeyId,
    Texts,
    Hashes,
    /// An object with these keys.
    Object(&'static [Field]),
    /// An object that is checked elsewhere.
    AnyObject,
    /// The number of a log format.
    Version,
}

/// Checks that an object has every required key, no unknown one, and under each what belongs there.
pub(super) fn check_object(tables: &[&'static [Field]], object: &Object<'_>) -> Result<(), Unfit> {
    let fields = || tables.iter().flat_map(|table| table.iter());
    for (key, value) in object.iter() {
        let Some(field) = fields().find(|field| field.name == key) else {
            return Err(Unfit { key: Cow::Owned(key.to_owned()), problem: "is unknown" });
        };
        check(field, value)?;
    }
    match fields().find(|field| field.required && object.get(field.name).is_none()) {
        Some(field) => Err(Unfit::new(field.name, "is missing")),
        None => Ok(()),
    }
}

fn check(field: &Field, value: &Value<'_>) -> Result<(), Unfit> {
    let fits = match field.shape {
        Shape::Bool => matches!(value, Value::Bool(_)),
        Shape::Int => value.as_int().is_some(),
        Shape::Uint => value.as_int().is_some_and(|number| number >= 0),
        Shape::Count => value.as_int().is_some_and(|number| number >= 1),
        Shape::PerMille => value.as_int().is_some_and(|number| (0..=1000).contains(&number)),
        Shape::Version => matches!(value, Value::Int(1 | 2)),
        Shape::Text => value.as_text().is_some(),
        Shape::Words(words) => value.as_text().is_some_and(|word| words.contains(&word)),
        Shape::Hash => is_hash(value),
        Shape::EventId => value.as_text().is_some_and(|text| text.parse::<NodeId>().is_ok()),
        Shape::Nanos => value.as_text().is_some_and(|text| read_decimal(text).is_some()),
        Shape::Signature => value.as_text().is_some_and(|text| read_signature(text).is_some()),
        Shape::KeyId => value.as_text().is_some_and(|text| text.parse::<KeyId>().is_ok()),
        Shape::Texts => value.as_array().is_some_and(|items| items.iter().all(|item| item.as_text().is_some())),
        Shape::Hashes => value.as_array().is_some_and(|items| items.iter().all(is_hash)),
        Shape::AnyObject => value.as_object().is_some(),
        Shape::Object(fields) => match value.as_object() {
            Some(object) => return check_object(&[fields], object),
            None => false,
        },
    };
    if fits { Ok(()) } else { Err(Unfit::new(field.name, "does not hold what it should")) }
}

fn is_hash(value: &Value<'_>) -> bool {
    value.as_text().is_some_and(|text| read_hex::<32>(text).is_some())
}
