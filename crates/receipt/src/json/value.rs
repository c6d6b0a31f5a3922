//! A JSON value of a receipt, as a tree.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use r1_event::cbor;

use super::text::{cmp_utf16, write_text};
use super::walk::Reader;
use super::{MAX_INTEGER, syntax};

/// A value that may stand in a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `true` or `false`.
    Bool(bool),
    /// An integer up to ±[`MAX_INTEGER`].
    Int(i64),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Self>),
    /// An object.
    Object(Object<'a>),
}

/// An object; its keys are unique and in the order of RFC 8785.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> Value<'a> {
    /// Reads canonical text; `None` for anything else.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        syntax::check(text).ok()?;
        let mut reader = Reader::new(text);
        let value = reader.build().ok()?;
        reader.is_canonical().then_some(value)
    }

    /// The canonical text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Appends the canonical text.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            // Into memory: there is nothing that could fail.
            Self::Int(number) => drop(write!(out, "{number}")),
            Self::Text(text) => write_text(out, text),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(object) => object.write(out),
        }
    }

    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// An unsigned number; beyond what JSON keeps exactly it stays at the largest.
    #[must_use]
    pub fn uint(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(MAX_INTEGER).min(MAX_INTEGER))
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number, if this is one.
    #[must_use]
    pub const fn as_int(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The object, if this is one.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object<'a>> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// What a log keeps, if it is a value of receipts.
    #[must_use]
    pub fn from_cbor(value: &cbor::Value) -> Option<Value<'static>> {
        Some(match value {
            cbor::Value::Bool(value) => Value::Bool(*value),
            cbor::Value::Uint(_) | cbor::Value::Nint(_) => {
                Value::Int(value.as_int().filter(|number| number.unsigned_abs() <= MAX_INTEGER.unsigned_abs())?)
            }
            cbor::Value::Text(text) => Value::Text(text.clone().into()),
            cbor::Value::Array(items) => Value::Array(items.iter().map(Value::from_cbor).collect::<Option<_>>()?),
            cbor::Value::Map(entries) => {
                let mut object = Object::default();
                for (key, value) in entries {
                    object.put(key.as_text()?.to_owned(), Value::from_cbor(value)?);
                }
                Value::Object(object)
            }
            cbor::Value::Bytes(_)
            | cbor::Value::Tag(..)
            | cbor::Value::Null
            | cbor::Value::Undefined
            | cbor::Value::Simple(_)
            | cbor::Value::Float(_) => return None,
        })
    }
}

impl<'a> Object<'a> {
    /// The value under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    /// The text under `key`, if there is one.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_text)
    }

    /// The number under `key`, if there is one.
    #[must_use]
    pub fn int(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Value::as_int)
    }

    /// Puts a value under a key, in the place of any other.
    pub fn put(&mut self, key: impl Into<Cow<'a, str>>, value: Value<'a>) {
        let key = key.into();
        match self.find(&key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// Puts a value under a key if there is one.
    pub fn put_some(&mut self, key: impl Into<Cow<'a, str>>, value: Option<Value<'a>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Puts a text under a key.
    pub fn put_text(&mut self, key: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) {
        self.put(key, Value::text(text));
    }

    /// The entries in canonical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the canonical text.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_text(out, key);
            out.push(':');
            value.write(out);
        }
        out.push('}');
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        // Whoever puts keys in their order, as readers do, needs no search.
        if self.0.last().is_none_or(|(last, _)| cmp_utf16(last, key) == Ordering::Less) {
            return Err(self.0.len());
        }
        self.0.binary_search_by(|(found, _)| cmp_utf16(found, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_else_is() {
        let text = "{\"\":[],\"a\":[1,-9007199254740991,true,\"\\u0001é\"],\"\u{10000}\":{},\"\u{e000}\":false}";
        let value = Value::read(text).unwrap();
        assert_eq!(value.to_text(), text);
        for refused in ["{\"b\":1,\"a\":2}", " 1", "1.0", "null", "9007199254740992", "[1,]", "-0", "\"\\u0041\"", ""] {
            assert_eq!(Value::read(refused), None, "{refused}");
        }
    }

    #[test]
    fn entries_find_their_place() {
        let mut object = Object::default();
        object.put_text("b", "1");
        object.put_text("a", "2");
        object.put("b", Value::Int(3));
        assert_eq!(Value::Object(object).to_text(), r#"{"a":"2","b":3}"#);
    }
}
