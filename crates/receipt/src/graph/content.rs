//! What came from outside, as receipts give it: the canonical text of JSON, a hash, an amount.

use r1_event::cbor::{self, Item, Rules, Walk};
use r1_event::payload::Raw;
use r1_protocol::{canonical, json};

use crate::body::MAX_ARGS;
use crate::json::{MAX_INTEGER, Object, Value};
use crate::node::sha256_hex;

/// An embedded value and the form in which it is hashed.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// `jcs` or `cbor`.
    pub(super) form: &'static str,
    pub(super) hash: String,
    /// The text, if the value has one that is short enough for a receipt.
    pub(super) text: Option<String>,
}

impl Content {
    /// What a log keeps: its canonical JSON, or the stored bytes where there is none.
    pub(super) fn of(raw: &Raw) -> Self {
        match json_text(raw) {
            Some(text) => {
                let hash = sha256_hex(&text);
                Self { form: "jcs", hash, text: Some(text).filter(|text| text.len() <= MAX_ARGS) }
            }
            None => Self { form: "cbor", hash: sha256_hex(raw.bytes()), text: None },
        }
    }

    /// What stands for arguments that nobody recorded.
    pub(super) fn unknown() -> Self {
        Self::of(&Raw::default())
    }

    /// Puts the arguments of a call into its body.
    pub(super) fn put_args(&self, body: &mut Object<'static>) {
        body.put_text("args_form", self.form);
        body.put_text("args_hash", self.hash.clone());
        body.put_some("args", self.text.clone().map(Value::text));
    }
}

/// The canonical JSON of what a log keeps, if every reader of JSON keeps it exactly.
fn json_text(raw: &Raw) -> Option<String> {
    let bytes = raw.bytes();
    cbor::check(bytes, Rules { utf8: true, ..Rules::READABLE }).ok()?;
    if !is_json(&mut Walk::new(bytes)) {
        return None;
    }
    let mut text = Vec::with_capacity(bytes.len() + bytes.len() / 4);
    if canonical::write_cbor(&mut text, bytes).is_none() {
        // A key that comes twice: the later value counts.
        canonical::write(&mut text, &json::from_raw(raw));
    }
    String::from_utf8(text).ok()
}

/// Whether the next item is JSON that every reader keeps exactly. Its depth must be bounded.
fn is_json(walk: &mut Walk<'_>) -> bool {
    match walk.enter() {
        Some(Item::Uint(number)) => number <= MAX_INTEGER.unsigned_abs(),
        Some(Item::Nint(number)) => number < MAX_INTEGER.unsigned_abs(),
        Some(Item::Float(number)) => number.is_finite(),
        Some(Item::Array(count)) => (0..count).all(|_| is_json(walk)),
        Some(Item::Map(count)) => (0..count).all(|_| matches!(walk.enter(), Some(Item::Text(_))) && is_json(walk)),
        Some(Item::Text(_) | Item::Bool(_) | Item::Null) => true,
        Some(Item::Bytes(_) | Item::Tag(_) | Item::Undefined | Item::Simple(_)) | None => false,
    }
}

/// Dollars as micro-dollars: the exact value of the float times 10^6, half to even. What is no amount is 0.
pub(super) fn micros(dollars: f64) -> u64 {
    if !dollars.is_finite() || dollars <= 0.0 {
        return 0;
    }
    let bits = dollars.to_bits();
    let (exponent, fraction) = ((bits >> 52).cast_signed(), bits & ((1 << 52) - 1));
    // Value = mantissa · 2^power; 10^6 = 15625 · 2^6.
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let power = exponent.max(1) - 1075 + 6;
    let scaled = u128::from(mantissa) * 15_625;
    let amount = match u32::try_from(power) {
        Ok(power) => scaled.checked_shl(power).filter(|shifted| shifted >> power == scaled).unwrap_or(u128::MAX),
        Err(_) => half_to_even(scaled, power.unsigned_abs()),
    };
    u64::try_from(amount).unwrap_or(u64::MAX)
}

/// `number` / 2^`shift`, rounded.
fn half_to_even(number: u128, shift: u64) -> u128 {
    // Wider than any product above: nothing is left of it.
    let Some(shift) = u32::try_from(shift).ok().filter(|shift| *shift < 100) else { return 0 };
    let (whole, rest, half) = (number >> shift, number & ((1 << shift) - 1), 1_u128 << (shift - 1));
    whole + u128::from(rest > half || rest == half && whole & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_from_their_exact_value() {
        // 0.0000005 as a float is a little less than half a micro-dollar; 2.5 and 3.5 micro-dollars are not exact.
        for (dollars, expected) in [
            (1.25, 1_250_000),
            (0.1, 100_000),
            (0.000_000_5, 0),
            (0.000_001_5, 2),
            (f64::from(1 << 20), 1_048_576_000_000),
            (0.5_f64.powi(7), 7812),
            (0.5_f64.powi(7) * 3.0, 23438),
            (5e-324, 0),
            (1e300, u64::MAX),
            (-1.0, 0),
            (f64::NAN, 0),
        ] {
            assert_eq!(micros(dollars), expected, "{dollars}");
        }
    }

    #[test]
    fn what_json_cannot_keep_is_hashed_as_it_is_stored() {
        let content = |value: cbor::Value| Content::of(&Raw::from(&value));
        let plain = content(cbor::Value::object([("b", cbor::Value::Float(1.5)), ("a", cbor::Value::Uint(2))]));
        assert_eq!((plain.form, plain.text.as_deref()), ("jcs", Some(r#"{"a":2,"b":1.5}"#)));
        let twice = content(cbor::Value::object([("a", cbor::Value::Uint(1)), ("a", cbor::Value::Uint(2))]));
        assert_eq!((twice.form, twice.text.as_deref()), ("jcs", Some(r#"{"a":2}"#)));
        for value in [cbor::Value::Bytes(vec![1]), cbor::Value::Uint(1 << 53), cbor::Value::Float(f64::INFINITY)] {
            let stored = content(value.clone());
            assert_eq!((stored.form, stored.text, stored.hash), ("cbor", None, sha256_hex(value.encode())));
        }
        for key in [cbor::Value::Uint(1), cbor::Value::Array(vec![])] {
            assert_eq!(content(cbor::Value::Map(vec![(key, cbor::Value::Null)])).form, "cbor");
        }
        assert_eq!(content(cbor::Value::int(-MAX_INTEGER)).form, "jcs");
        assert_eq!(content(cbor::Value::int(-MAX_INTEGER - 1)).form, "cbor");
    }
}
