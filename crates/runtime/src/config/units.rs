//! Periods, sizes and money, as people write them.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A period: `250ms`, `90s`, `5m`, `24h`, `7d`; `0s` means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

/// A size: `512`, `64KiB`, `8MiB`, `1GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// Money in micro-dollars; written in dollars: `5`, `0.25`, `"0.25"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(pub u64);

impl Period {
    /// Whole milliseconds.
    #[must_use]
    pub fn as_millis(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }

    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_unit(text)?;
        let milliseconds = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.checked_mul(milliseconds).map(Duration::from_millis).map(Self)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_millis() {
            ms if ms % 3_600_000 == 0 && ms > 0 => write!(f, "{}h", ms / 3_600_000),
            ms if ms % 60_000 == 0 && ms > 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl ByteSize {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_unit(text)?;
        let bytes: u64 = match unit {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            _ => return None,
        };
        number.checked_mul(bytes).map(Self)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes > 0 && bytes % (1 << 30) == 0 => write!(f, "{}GiB", bytes >> 30),
            bytes if bytes > 0 && bytes % (1 << 20) == 0 => write!(f, "{}MiB", bytes >> 20),
            bytes if bytes > 0 && bytes % (1 << 10) == 0 => write!(f, "{}KiB", bytes >> 10),
            bytes => write!(f, "{bytes}B"),
        }
    }
}

impl Usd {
    /// Exact: no float comes near money that was written as text.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('$');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 6 {
            return None;
        }
        let micros: u64 = format!("{fraction:0<6}").parse().ok()?;
        whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros).map(Self)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let fraction = format!("{micros:06}");
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// Reads text, and numbers where the type has a meaning for them.
struct Written<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
    number: bool,
}

impl<T> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        let parsed = if self.number { (self.parse)(&number.to_string()) } else { None };
        parsed.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        let parsed = if self.number { (self.parse)(&number.to_string()) } else { None };
        parsed.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        let parsed = if self.number { (self.parse)(&number.to_string()) } else { None };
        parsed.ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }
}

macro_rules! written {
    ($($unit:ty, $number:literal, $expected:literal;)+) => {$(
        impl<'de> Deserialize<'de> for $unit {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let written = Written { expected: $expected, parse: Self::parse, number: $number };
                deserializer.deserialize_any(written)
            }
        }

        impl Serialize for $unit {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

written! {
    Period, false, "a period such as \"90s\", \"5m\" or \"24h\"";
    ByteSize, true, "a size such as 512, \"64KiB\" or \"8MiB\"";
    Usd, true, "dollars such as 5 or 0.25, with at most six decimals";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_as_people_write_them_and_written_back() {
        for (text, milliseconds) in [("250ms", 250), ("90s", 90_000), ("5m", 300_000), ("24h", 86_400_000), ("0s", 0)] {
            assert_eq!(Period::parse(text).unwrap().as_millis(), milliseconds);
        }
        for (text, bytes) in [("512", 512), ("64KiB", 65_536), ("8 MiB", 8 << 20), ("1GB", 1_000_000_000)] {
            assert_eq!(ByteSize::parse(text), Some(ByteSize(bytes)));
        }
        for (text, micros) in [("5", 5_000_000), ("0.25", 250_000), ("$1.000001", 1_000_001), ("0", 0)] {
            assert_eq!(Usd::parse(text), Some(Usd(micros)));
            assert_eq!(Usd::parse(&Usd(micros).to_string()), Some(Usd(micros)));
        }
        for bad in ["", "s", "5", "-1s", "5 weeks", "99999999999999999999s"] {
            assert_eq!(Period::parse(bad), None, "{bad}");
        }
        for bad in ["", ".5", "-1", "1.0000001", "1,5", "1e3", "NaN"] {
            assert_eq!(Usd::parse(bad), None, "{bad}");
        }
        assert_eq!(Period(Duration::from_secs(5400)).to_string(), "90m");
        assert_eq!(ByteSize(3 << 20).to_string(), "3MiB");
    }
}
