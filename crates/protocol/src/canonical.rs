//! JSON in its one canonical spelling: RFC 8785, but for integers, which keep all their digits.

mod from_cbor;
mod text;

use std::cmp::Ordering;
use std::io::Write as _;

pub use from_cbor::write_cbor;
use serde_json::{Map, Number, Value};
pub use text::{escape, plain_len, write_text};

/// The canonical bytes of a value.
#[must_use]
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, value);
    out
}

/// Appends the canonical bytes of a value.
pub fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        Value::Object(object) => write_object(out, object),
    }
}

/// Appends the canonical bytes of an object.
pub fn write_object(out: &mut Vec<u8>, object: &Map<String, Value>) {
    let mut entries: Vec<_> = object.iter().collect();
    // The map is in the order of UTF-8; RFC 8785 wants that of UTF-16.
    entries.sort_unstable_by(|(a, _), (b, _)| key_order(a, b));
    out.push(b'{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(out, key);
        out.push(b':');
        write(out, value);
    }
    out.push(b'}');
}

/// The order of keys: that of UTF-16, which for ASCII is that of the bytes.
#[inline]
fn key_order(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    if number.is_f64() {
        // A JSON number is finite, which is all that could be refused.
        let _ = serde_json_canonicalizer::to_writer(number, out);
    } else {
        // Digits into memory: there is nothing that could fail.
        let _ = write!(out, "{number}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_in_utf16_order_and_numbers_in_their_shortest_form() {
        let value = json!({ "\u{e000}": 1, "\u{10000}": 2, "b": [1.0, 0.1, 1e21, -0.0, u64::MAX], "a": "\u{7}\n\"€" });
        let text = String::from_utf8(to_vec(&value)).unwrap();
        assert_eq!(
            text,
            "{\"a\":\"\\u0007\\n\\\"€\",\"b\":[1,0.1,1e+21,0,18446744073709551615],\"\u{10000}\":2,\"\u{e000}\":1}"
        );
    }
}
