//! Names and positions: a run, a place in its log, the hash that names an event, a moment.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;

use crate::hash_many::hash_one;

/// A run's name as its log spells it. Never empty, at most [`RunId::MAX_LEN`] bytes.
///
/// R1's own runs are `run_` + ULID ([`RunId::is_native`]); Starling's are a ULID, `namespace/ULID`
/// or free text, and are kept as they are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Arc<str>);

impl RunId {
    /// The longest name a store takes: keys must stay small.
    pub const MAX_LEN: usize = 256;

    /// The text as it stands in every event of the run.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the form R1 gives its own runs: `run_` + 26 characters of a ULID.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.ulid_text().is_some()
    }

    /// The ULID inside a native id.
    #[must_use]
    pub fn ulid_text(&self) -> Option<&str> {
        self.0.strip_prefix("run_").filter(|rest| is_ulid(rest))
    }
}

/// Whether `text` is 26 Crockford base-32 digits that fit 128 bits.
fn is_ulid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 26
        && bytes[0] <= b'7'
        && bytes
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'H' | b'J' | b'K' | b'M' | b'N' | b'P'..=b'T' | b'V'..=b'Z'))
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        if text.is_empty() {
            return Err(InvalidRunId::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(InvalidRunId::TooLong { bytes: text.len() });
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A text that cannot name a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRunId {
    /// Nothing was given.
    #[error("a run id may not be empty")]
    Empty,
    /// More than a store's key may hold.
    #[error("a run id of {bytes} bytes is longer than the {max} allowed", max = RunId::MAX_LEN)]
    TooLong {
        /// How long the given text is.
        bytes: usize,
    },
}

/// Position of an event in its run's log, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(NonZeroU64);

impl Seq {
    /// The first event of every log.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The last position there is: what every store's integers hold, with room to count one further.
    pub const MAX: u64 = i64::MAX.cast_unsigned();

    /// The position `n`; `None` for 0 and beyond [`Self::MAX`], which no event has.
    #[must_use]
    pub const fn new(n: u64) -> Option<Self> {
        match NonZeroU64::new(n) {
            Some(n) if n.get() <= Self::MAX => Some(Self(n)),
            _ => None,
        }
    }

    /// The number, from 1.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The position after this one; the last one has none and stays.
    #[must_use]
    pub const fn next(self) -> Self {
        match Self::new(self.get() + 1) {
            Some(next) => next,
            None => self,
        }
    }

    /// The position before this one, unless this is the first.
    #[must_use]
    pub const fn previous(self) -> Option<Self> {
        Self::new(self.get() - 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seq({})", self.0)
    }
}

/// 32 bytes that name something by its content; printed and parsed as lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps raw digest bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// BLAKE3 of `bytes`.
    #[must_use]
    pub fn blake3(bytes: &[u8]) -> Self {
        hash_one(bytes)
    }

    /// The digest in `bytes`, if they are exactly 32.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The raw bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Appends the 64 digits.
    pub fn push_hex(&self, out: &mut String) {
        out.push_str(as_text(&self.0.map(hex_digits)));
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(as_text(&self.0.map(hex_digits)))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        from_hex(text).and_then(|bytes| Self::from_slice(&bytes)).ok_or(InvalidDigest)
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct InvalidDigest;

/// Lower-case hexadecimal digits of `bytes`.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    // Digits are ASCII: there is nothing that could fail.
    String::from_utf8(bytes.iter().copied().flat_map(hex_digits).collect()).unwrap_or_default()
}

fn hex_digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

fn as_text(digits: &[[u8; 2]]) -> &str {
    std::str::from_utf8(digits.as_flattened()).unwrap_or_default()
}

/// The bytes that `text` spells in hexadecimal digits of either case.
#[must_use]
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// A moment as logs keep it: nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixNanos(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_id_is_run_and_a_ulid_that_fits_128_bits() {
        let native = |text: &str| text.parse::<RunId>().unwrap().is_native();
        assert!(native("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B"));
        assert!(!native("run_81K0E8M9ZQ4T7V2W5X8Y1Z3A6B"), "overflows 128 bits");
        assert!(!native("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6U"), "U is no digit");
        assert!(!native("01K0E8M9ZQ4T7V2W5X8Y1Z3A6B"));
    }

    #[test]
    fn a_run_id_is_neither_empty_nor_longer_than_a_key() {
        assert_eq!("".parse::<RunId>(), Err(InvalidRunId::Empty));
        let long = "x".repeat(257);
        assert_eq!(long.parse::<RunId>(), Err(InvalidRunId::TooLong { bytes: 257 }));
    }

    #[test]
    fn hex_goes_both_ways_and_refuses_what_is_not_hex() {
        assert_eq!(to_hex(&[0, 0xab, 0xff]), "00abff");
        assert_eq!(from_hex("00ABff"), Some(vec![0, 0xab, 0xff]));
        assert_eq!(from_hex("0"), None);
        assert_eq!(from_hex("0g"), None);
        assert_eq!("ab".parse::<Digest>(), Err(InvalidDigest));
    }
}
