//! CBOR as canonical JSON in one pass, without a tree between the two.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::cbor::{Item, Walk};
use serde_json::Number;

use super::{key_order, write_number, write_text};

/// Appends the canonical JSON of the CBOR item that `bytes` are, as [`super::write`] does for what
/// [`crate::json::from_cbor`] makes of it.
///
/// `None`, and nothing appended, for what has no plain JSON: keys that are no text or come twice, numbers
/// beyond JSON's, simple values. That is rare, and [`crate::json::from_cbor`] knows what to do with it.
/// The depth of `bytes` must be bounded ([`r1_event::cbor::check`]).
pub fn write_cbor(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    let start = out.len();
    let written = Writer { out, keys: Vec::new() }.item(&mut Walk::new(bytes));
    if written.is_none() {
        out.truncate(start);
    }
    written
}

struct Writer<'a, 'out> {
    out: &'out mut Vec<u8>,
    /// The pairs of all open maps, those of the innermost last: one allocation for the whole item.
    keys: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Writer<'a, '_> {
    fn item(&mut self, walk: &mut Walk<'a>) -> Option<()> {
        match walk.enter()? {
            // Into memory: there is nothing that could fail.
            Item::Uint(n) => drop(write!(self.out, "{n}")),
            Item::Nint(n) => drop(write!(self.out, "{}", !i64::try_from(n).ok()?)),
            Item::Bytes(bytes) => write_text(self.out, &STANDARD.encode(bytes)),
            Item::Text(text) => write_text(self.out, text),
            Item::Array(count) => self.array(walk, count)?,
            Item::Map(count) => self.map(walk, count)?,
            Item::Tag(_) => self.item(walk)?,
            Item::Bool(true) => self.out.extend_from_slice(b"true"),
            Item::Bool(false) => self.out.extend_from_slice(b"false"),
            Item::Null | Item::Undefined => self.out.extend_from_slice(b"null"),
            Item::Float(number) => write_number(self.out, &Number::from_f64(number)?),
            Item::Simple(_) => return None,
        }
        Some(())
    }

    fn array(&mut self, walk: &mut Walk<'a>, count: u64) -> Option<()> {
        self.out.push(b'[');
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
            }
            self.item(walk)?;
        }
        self.out.push(b']');
        Some(())
    }

    fn map(&mut self, walk: &mut Walk<'a>, count: u64) -> Option<()> {
        let own = self.keys.len();
        for _ in 0..count {
            let Item::Text(key) = walk.enter()? else { return None };
            self.keys.push((key, walk.step()?));
        }
        let pairs = &mut self.keys[own..];
        pairs.sort_unstable_by(|(a, _), (b, _)| key_order(a, b));
        if pairs.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        self.out.push(b'{');
        for at in own..self.keys.len() {
            if at > own {
                self.out.push(b',');
            }
            let (key, value) = self.keys[at];
            write_text(self.out, key);
            self.out.push(b':');
            self.item(&mut Walk::new(value))?;
        }
        self.keys.truncate(own);
        self.out.push(b'}');
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use r1_event::cbor::Value as Cbor;

    use super::*;
    use crate::{canonical, json};

    fn any_item() -> impl Strategy<Value = Cbor> {
        let leaf = prop_oneof![
            any::<u64>().prop_map(Cbor::Uint),
            any::<u64>().prop_map(Cbor::Nint),
            any::<Vec<u8>>().prop_map(Cbor::Bytes),
            ".{0,40}".prop_map(Cbor::Text),
            "[ -~\n]{0,40}".prop_map(Cbor::Text),
            any::<bool>().prop_map(Cbor::Bool),
            any::<f64>().prop_map(Cbor::Float),
            (0u8..20).prop_map(Cbor::Simple),
            Just(Cbor::Null),
            Just(Cbor::Undefined),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let key = prop_oneof![9 => ".{0,6}".prop_map(Cbor::Text), 1 => (0u64..3).prop_map(Cbor::Uint)];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Cbor::Array),
                prop::collection::vec((key, inner.clone()), 0..6).prop_map(Cbor::Map),
                (0u64..40, inner).prop_map(|(tag, item)| Cbor::Tag(tag, Box::new(item))),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_tree(item in any_item()) {
            let mut direct = b"before".to_vec();
            match write_cbor(&mut direct, &item.encode()) {
                Some(()) => {
                    let tree = canonical::to_vec(&json::from_cbor(&item));
                    prop_assert_eq!(String::from_utf8_lossy(&direct[6..]), String::from_utf8_lossy(&tree));
                }
                None => prop_assert_eq!(direct, b"before"),
            }
        }
    }

    #[test]
    fn what_json_can_say_is_written_directly() {
        let value = serde_json::json!({
            "zz": [1, -1, 0.5, "€\n", null, true], "a": {"\u{10000}": 1, "\u{e000}": {}}, "": [], "b": u64::MAX,
        });
        let mut out = Vec::new();
        write_cbor(&mut out, &json::to_cbor(&value).encode()).unwrap();
        assert_eq!(out, canonical::to_vec(&value));
    }
}
