//! Any CBOR item as a tree.

use super::read::Reader;
use super::scan::{self, Malformed, Rules};
use super::write;

/// One CBOR item.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An unsigned integer.
    Uint(u64),
    /// The negative integer −1 − n.
    Nint(u64),
    /// A byte string.
    Bytes(Vec<u8>),
    /// A text string.
    Text(String),
    /// An array.
    Array(Vec<Self>),
    /// A map; written in canonical order whatever the order here.
    Map(Vec<(Self, Self)>),
    /// A tagged item.
    Tag(u64, Box<Self>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `undefined`.
    Undefined,
    /// Any other simple value.
    Simple(u8),
    /// A float of any width.
    Float(f64),
}

impl Value {
    /// A map with text keys.
    #[must_use]
    pub fn object<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (Self::Text(key.into()), value)).collect())
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A signed integer.
    #[must_use]
    pub const fn int(n: i64) -> Self {
        if n >= 0 { Self::Uint(n.cast_unsigned()) } else { Self::Nint((!n).cast_unsigned()) }
    }

    /// The value under the text key `key`, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find_map(|(name, value)| (name.as_text() == Some(key)).then_some(value))
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The bytes, if this is a byte string.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The number, if this is an unsigned integer.
    #[must_use]
    pub const fn as_uint(&self) -> Option<u64> {
        if let Self::Uint(n) = self { Some(*n) } else { None }
    }

    /// The number, if this is an integer that fits.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Uint(n) => i64::try_from(*n).ok(),
            Self::Nint(n) => i64::try_from(*n).ok().map(|n| !n),
            _ => None,
        }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// Reads exactly one item that keeps `rules`. Text that is not UTF-8 is always refused: there is
    /// no value for it.
    pub fn decode(bytes: &[u8], rules: Rules) -> Result<Self, Malformed> {
        let rules = Rules { utf8: true, max_depth: rules.max_depth.min(Rules::MAX_DEPTH), ..rules };
        scan::check(bytes, rules)?;
        let mut reader = Reader::new(bytes);
        // The scan bounds the depth, so this recursion is bounded too.
        read_item(&mut reader).ok_or(Malformed { problem: scan::Problem::Truncated, offset: reader.position() })
    }

    /// The canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Appends the canonical bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Uint(n) => write::uint(out, *n),
            Self::Nint(n) => write::nint(out, *n),
            Self::Bytes(bytes) => write::bytes(out, bytes),
            Self::Text(text) => write::text(out, text),
            Self::Array(items) => {
                write::array(out, items.len());
                items.iter().for_each(|item| item.write(out));
            }
            Self::Map(entries) => {
                let mut encoded: Vec<_> = entries.iter().map(|(key, value)| (key.encode(), value)).collect();
                encoded.sort_by(|(a, _), (b, _)| a.cmp(b));
                write::map(out, encoded.len());
                for (key, value) in encoded {
                    out.extend_from_slice(&key);
                    value.write(out);
                }
            }
            Self::Tag(number, item) => {
                write::tag(out, *number);
                item.write(out);
            }
            Self::Bool(value) => write::bool(out, *value),
            Self::Null => write::null(out),
            Self::Undefined => out.push(write::UNDEFINED),
            Self::Simple(n) if *n < 24 => out.push(0xe0 | n),
            Self::Simple(n) => out.extend_from_slice(&[0xf8, *n]),
            Self::Float(value) => write::float(out, *value),
        }
    }
}

fn read_item(reader: &mut Reader<'_>) -> Option<Value> {
    let head = reader.head().ok()?;
    let n = head.argument;
    Some(match head.major {
        0 => Value::Uint(n),
        1 => Value::Nint(n),
        2 => Value::Bytes(reader.take(n)?.to_vec()),
        3 => Value::Text(String::from_utf8(reader.take(n)?.to_vec()).ok()?),
        4 => Value::Array((0..n).map(|_| read_item(reader)).collect::<Option<_>>()?),
        5 => Value::Map((0..n).map(|_| Some((read_item(reader)?, read_item(reader)?))).collect::<Option<_>>()?),
        6 => Value::Tag(n, Box::new(read_item(reader)?)),
        _ => match head.info {
            20 => Value::Bool(false),
            21 => Value::Bool(true),
            22 => Value::Null,
            23 => Value::Undefined,
            25..=27 => Value::Float(scan::float_value(head)),
            _ => Value::Simple(u8::try_from(n).ok()?),
        },
    })
}
