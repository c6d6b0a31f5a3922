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

impl Time {
    /// Appends a moment in the one form that R1 writes, as `Time::from` gives it.
    pub(crate) fn write(out: &mut Vec<u8>, UnixNanos(nanos): UnixNanos) {
        let (seconds, fraction) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = date(days);
        digits(out, year, 4);
        for (separator, number) in
            [(b'-', month), (b'-', day), (b'T', second / 3_600), (b':', second / 60 % 60), (b':', second % 60)]
        {
            out.push(separator);
            digits(out, number, 2);
        }
        out.push(b'.');
        digits(out, fraction, 9);
        out.push(b'Z');
    }
}

/// Year, month and day of the day with this number from 1970-01-01 on, in the Gregorian calendar.
const fn date(days: i64) -> (i64, i64, i64) {
    // Counted from the first of March of a year that 400 divides: then a leap day is the last of its year.
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days, and again.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next_year, month, day)
}

/// Appends exactly `count` digits.
fn digits(out: &mut Vec<u8>, number: i64, count: u32) {
    for place in (0..count).rev() {
        // One decimal digit.
        out.push(b'0' + (number / 10_i64.pow(place) % 10) as u8);
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
            let mut written = Vec::new();
            Time::write(&mut written, UnixNanos(nanos));
            assert_eq!(String::from_utf8_lossy(&written), text);
        }
    }

    #[test]
    fn every_day_is_written_as_the_calendar_has_it() {
        for day in -106_751..=106_750_i64 {
            let moment = UnixNanos(day * 86_400_000_000_000 + 3_723_000_000_009);
            let mut written = Vec::new();
            Time::write(&mut written, moment);
            assert_eq!(String::from_utf8_lossy(&written), Time::from(moment).as_str());
        }
    }

    #[test]
    fn a_foreign_form_is_understood_and_kept() {
        let time: Time = serde_json::from_str(r#""2026-01-02T03:04:05+01:00""#).unwrap();
        assert_eq!(time.as_str(), "2026-01-02T03:04:05+01:00");
        assert_eq!(Time::from(time.nanos().unwrap()).as_str(), "2026-01-02T02:04:05.000000000Z");
    }
}
