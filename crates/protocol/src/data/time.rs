//! Moments inside of `data`.

use jiff::{SignedDuration, Timestamp};
use r1_event::UnixNanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::{Shape, Shaped};

/// A moment as text: RFC 3339 in UTC. R1 always writes nine digits of the second's fraction; a foreign
/// writer's text is kept as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Time(#[schemars(extend("format" = "date-time"))] String);

impl Time {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The moment, if the text is one that a log can hold.
    #[must_use]
    pub fn nanos(&self) -> Option<UnixNanos> {
        let time: Timestamp = self.0.parse().ok()?;
        i64::try_from(time.as_nanosecond()).ok().map(UnixNanos)
    }
}

impl From<&str> for Time {
    /// Takes a text as it is.
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<UnixNanos> for Time {
    fn from(UnixNanos(nanos): UnixNanos) -> Self {
        // 64 bits of nanoseconds are 292 years either way: far inside of what a timestamp holds.
        let time = Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_nanos(nanos)).unwrap_or_default();
        Self(format!("{time:.9}"))
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Shaped for Time {
    const SHAPE: Shape = Shape::Time;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_nine_digits_and_read_back() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
            (1_790_000_000_123_000_000, "2026-09-21T14:13:20.123000000Z"),
            (i64::MAX, "2262-04-11T23:47:16.854775807Z"),
            (i64::MIN, "1677-09-21T00:12:43.145224192Z"),
        ] {
            let time = Time::from(UnixNanos(nanos));
            assert_eq!(time.as_str(), text);
            assert_eq!(time.nanos(), Some(UnixNanos(nanos)));
        }
    }

    #[test]
    fn a_foreign_form_is_understood_and_kept() {
        let time: Time = serde_json::from_str(r#""2026-01-02T03:04:05+01:00""#).unwrap();
        assert_eq!(time.as_str(), "2026-01-02T03:04:05+01:00");
        assert_eq!(Time::from(time.nanos().unwrap()).as_str(), "2026-01-02T02:04:05.000000000Z");
    }
}
