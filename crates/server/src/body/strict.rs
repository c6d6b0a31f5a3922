//! JSON of which there is only one reading.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::ApiError;

/// Reads one JSON value: no member twice, nothing behind it, not nested deeper than `depth`.
pub(super) fn parse(bytes: &[u8], depth: usize) -> Result<Value, ApiError> {
    let place = RefCell::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { left: depth, place: &place }.deserialize(&mut json).and_then(|value| {
        json.end()?;
        Ok(value)
    });
    value.map_err(|err| match place.into_inner() {
        Some(Fault { pointer, reason }) => ApiError::invalid(pointer, reason),
        None => ApiError::invalid("", format!("is not JSON: {err}")),
    })
}

/// What is wrong, and where: found from the inside out.
struct Fault {
    pointer: String,
    reason: String,
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    left: usize,
    place: &'a RefCell<Option<Fault>>,
}

impl Strict<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, ..self }),
            None => Err(self.refuse("is nested too deeply".into())),
        }
    }

    fn refuse<E: serde::de::Error>(self, reason: String) -> E {
        let error = E::custom(&reason);
        *self.place.borrow_mut() = Some(Fault { pointer: String::new(), reason });
        error
    }

    /// Puts a step in front of the place of a fault, on the way out.
    fn within<T, E>(self, step: impl fmt::Display, result: Result<T, E>) -> Result<T, E> {
        if result.is_err()
            && let Some(fault) = self.place.borrow_mut().as_mut()
        {
            fault.pointer = format!("/{step}{}", fault.pointer);
        }
        result
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = self.within(values.len(), items.next_element_seed(inner))? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let step = super::escaped(&name);
            if values.contains_key(&name) {
                return self.within(step, Err(self.refuse("is there twice".into())));
            }
            let value = self.within(step, members.next_value_seed(inner))?;
            values.insert(name, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn refused(text: &str) -> String {
        format!("{:?}", parse(text.as_bytes(), 64).unwrap_err())
    }

    #[test]
    fn two_members_of_one_name_are_refused_where_they_are() {
        assert!(refused(r#"{"a":{"b":[0,{"c":1,"c":2}]}}"#).contains(r#"path: "/a/b/1/c""#));
        // The same name, written differently.
        assert!(refused(r#"{"a":1,"\u0061":2}"#).contains(r#"path: "/a""#));
    }

    #[test]
    fn nothing_may_follow() {
        assert!(refused("{} {}").contains("trailing"));
        assert!(refused("").contains("not JSON"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(64).as_bytes(), 64).is_ok());
        assert!(refused(&nested(65)).contains("too deeply"));
        assert!(refused(&nested(100_000)).contains("too deeply"));
    }

    #[test]
    fn broken_text_is_refused() {
        for bad in [&b"\"\xff\""[..], b"\"\\ud800\"", b"{\"a\":1,}", b"01", b"NaN", b"1e999"] {
            assert!(parse(bad, 64).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_others_read_is_read_the_same(text in "[ -~]{0,40}", number in any::<i64>()) {
            let value = json!({"text": text, "list": [number, null, {"x": true}]});
            prop_assert_eq!(parse(value.to_string().as_bytes(), 64).unwrap(), value);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes, 64);
        }
    }
}
