//! Money and time as a line tells them: in dollars and seconds, where the log counts in whole units.

use serde_json::{Number, Value};

use crate::data::Object;

/// Micro-dollars as dollars. Exact below eight billion dollars: there a float holds six decimals.
#[expect(clippy::cast_precision_loss, reason = "exact for every amount that is spent")]
pub(super) fn usd(micros: u64) -> Value {
    number(micros as f64 / 1e6)
}

/// Milliseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "exact for every duration of a process")]
pub(super) fn seconds(ms: u64) -> Value {
    number(ms as f64 / 1e3)
}

fn number(value: f64) -> Value {
    // A quotient of integers is finite.
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A stored key, the told one, and how the one becomes the other.
type Told = (&'static str, &'static str, fn(u64) -> Value);

/// What of the stored body of a `stoke.*` event is told otherwise.
const TOLD: &[(&str, &[Told])] = &[
    ("stoke.plan.ready", &[("estimated_cost_micros_usd", "estimated_cost", usd)]),
    ("stoke.session.end", ENDED),
    ("stoke.task.end", ENDED),
    ("stoke.cost", &[("cost_micros_usd", "cost_usd", usd)]),
];

const ENDED: &[Told] = &[("cost_micros_usd", "cost_usd", usd), ("duration_ms", "duration_s", seconds)];

/// The body of an event of this type as its line tells it.
pub(super) fn told(type_name: &str, mut body: Object) -> Object {
    let keys = TOLD.iter().find_map(|(name, keys)| (*name == type_name).then_some(*keys)).unwrap_or_default();
    for (stored, told, convert) in keys {
        if let Some(amount) = body.get(*stored).and_then(Value::as_u64) {
            body.remove(*stored);
            body.insert((*told).to_owned(), convert(amount));
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical;

    #[test]
    fn amounts_are_exact() {
        for (micros, text) in [
            (0, "0"),
            (1, "0.000001"),
            (1_500, "0.0015"),
            (12_345_678, "12.345678"),
            (1_000_000, "1"),
            (7_999_999_999_999_999, "7999999999.999999"),
        ] {
            assert_eq!(String::from_utf8(canonical::to_vec(&usd(micros))).unwrap(), text);
        }
        assert_eq!(String::from_utf8(canonical::to_vec(&seconds(1_234))).unwrap(), "1.234");
    }
}
