//! Putting an event's `data` together.

use bytes::Bytes;
use r1_event::cbor::{self, Item, Walk};
use r1_event::id::to_hex;
use r1_event::payload::{Extra, Raw};
use serde_json::Value;

use crate::data::Object;
use crate::{canonical, json};

/// An event's `data` in the making. A value that is not there leaves its key out.
#[derive(Default)]
pub(super) struct Fields(Vec<(&'static str, Member)>);

enum Member {
    Json(Value),
    /// An embedded value as it is stored.
    Item(Raw),
}

impl Fields {
    pub(super) fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.push((key, Member::Json(value.into())));
    }

    pub(super) fn put_some(&mut self, key: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// A text that v1 leaves out when it is empty.
    pub(super) fn put_text(&mut self, key: &'static str, text: String) {
        self.put_some(key, Some(text).filter(|text| !text.is_empty()));
    }

    /// A number that v1 leaves out when it is zero.
    pub(super) fn put_count(&mut self, key: &'static str, count: i64) {
        self.put_some(key, Some(count).filter(|count| *count != 0));
    }

    /// A hash, in hex.
    pub(super) fn put_hash(&mut self, key: &'static str, hash: Option<&Bytes>) {
        self.put_some(key, hash.map(|hash| to_hex(hash)));
    }

    /// An embedded value, null included.
    pub(super) fn put_raw(&mut self, key: &'static str, raw: Raw) {
        self.0.push((key, Member::Item(raw)));
    }

    /// An embedded value, unless it is null.
    pub(super) fn put_raw_unless_null(&mut self, key: &'static str, raw: Raw) {
        let is_null = match Walk::new(raw.bytes()).enter() {
            Some(Item::Null | Item::Undefined) | None => true,
            Some(Item::Tag(_)) => json::from_raw(&raw).is_null(),
            Some(_) => false,
        };
        if !is_null {
            self.put_raw(key, raw);
        }
    }

    /// Micro-dollars; the integer beside a float wins.
    pub(super) fn put_cost(&mut self, key: &'static str, stored: Option<u64>, dollars: f64) {
        match stored {
            Some(stored) => self.put(key, stored),
            None => self.put_some(key, micros(dollars)),
        }
    }

    /// The keys that every event may carry.
    pub(super) fn put_common(&mut self, extra: &Extra) {
        for key in ["lane_id", "redacted_paths", "actor", "origin"] {
            if let Some(raw) = extra.get(key) {
                self.put_raw(key, raw);
            }
        }
    }

    pub(super) fn finish(self) -> Object {
        let value = |member| match member {
            Member::Json(value) => value,
            Member::Item(raw) => json::from_raw(&raw),
        };
        self.0.into_iter().map(|(key, member)| (key.to_owned(), value(member))).collect()
    }

    /// Appends the canonical JSON of what [`Self::finish`] gives, without making it.
    pub(super) fn write(mut self, out: &mut Vec<u8>) {
        // Our own keys are ASCII, so the order of their bytes is the canonical one.
        self.0.sort_by_key(|(key, _)| *key);
        out.push(b'{');
        let mut first = true;
        for (at, (key, member)) in self.0.iter().enumerate() {
            // Of a key that was put twice the later value counts.
            if self.0.get(at + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            canonical::write_text(out, key);
            out.push(b':');
            match member {
                Member::Json(value) => canonical::write(out, value),
                Member::Item(raw) => {
                    if canonical::write_cbor(out, raw.bytes()).is_none() {
                        canonical::write(out, &json::from_raw(raw));
                    }
                }
            }
        }
        out.push(b'}');
    }
}

/// A log position under `key` as a sequence.
pub(super) fn sequence(map: &cbor::Value, key: &str) -> Option<u64> {
    map.get(key).and_then(cbor::Value::as_uint).and_then(|seq| seq.checked_sub(1))
}

/// The text under `key`.
pub(super) fn text(map: &cbor::Value, key: &str) -> Option<String> {
    map.get(key).and_then(cbor::Value::as_text).map(Into::into)
}

/// Dollars as micro-dollars, half to even; nothing for what is no amount.
pub(crate) fn micros(dollars: f64) -> Option<i64> {
    whole(dollars * 1e6)
}

/// The nearest integer, half to even; nothing for what is none.
pub(super) fn whole(number: f64) -> Option<i64> {
    // A float outside of the integers becomes the nearest one.
    number.is_finite().then(|| number.round_ties_even() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_rounded_half_to_even() {
        assert_eq!(micros(0.000_000_5), Some(0));
        assert_eq!(micros(0.000_001_5), Some(2));
        assert_eq!(micros(1.25), Some(1_250_000));
        assert_eq!(micros(f64::NAN), None);
    }
}
