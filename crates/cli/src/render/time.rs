//! Moments as people write them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Date and time where the user is.
pub(crate) fn date_time(nanos: i64) -> String {
    format(nanos, "%Y-%m-%d %H:%M:%S")
}

/// Time of day where the user is, to the millisecond.
pub(crate) fn time_of_day(nanos: i64) -> String {
    format(nanos, "%H:%M:%S%.3f")
}

fn format(nanos: i64, format: &str) -> String {
    // Every 64-bit count of nanoseconds is a moment between 1677 and 2262.
    Timestamp::from_nanosecond(nanos.into())
        .map_or_else(|_| nanos.to_string(), |time| time.to_zoned(TimeZone::system()).strftime(format).to_string())
}
