//! Moments as people write them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

const DATE_TIME: &str = "%Y-%m-%d %H:%M:%S";

/// Date and time where the user is.
pub(crate) fn date_time(nanos: i64) -> String {
    format(nanos, DATE_TIME)
}

/// Date and time of a moment that no log need hold.
pub(crate) fn date_time_at(moment: Timestamp) -> String {
    moment.to_zoned(TimeZone::system()).strftime(DATE_TIME).to_string()
}

/// Time of day where the user is, to the millisecond.
pub(crate) fn time_of_day(nanos: i64) -> String {
    format(nanos, "%H:%M:%S%.3f")
}

/// Time of day where the user is, to the second.
pub(crate) fn clock(nanos: i64) -> String {
    format(nanos, "%H:%M:%S")
}

/// Month, day and time where the user is, to the minute.
pub(crate) fn day_and_minute(nanos: i64) -> String {
    format(nanos, "%m-%d %H:%M")
}

fn format(nanos: i64, format: &str) -> String {
    // Every 64-bit count of nanoseconds is a moment between 1677 and 2262.
    Timestamp::from_nanosecond(nanos.into())
        .map_or_else(|_| nanos.to_string(), |time| time.to_zoned(TimeZone::system()).strftime(format).to_string())
}
