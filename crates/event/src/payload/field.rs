//! How a payload's fields become CBOR and come back.

use bytes::Bytes;

use super::map::next_item;
use crate::cbor::{self, Malformed, Reader, Rules, Value, write};

/// A value that can stand under a payload key.
pub trait Field: Sized + Default {
    /// What the bytes are, for tables.
    const TYPE: FieldType;

    /// Appends the canonical bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads one item; `raw` is exactly that item, already known to be well-formed.
    fn read(raw: &[u8]) -> Option<Self>;

    /// Whether an optional key with this value is left out.
    fn is_absent(&self) -> bool;

    /// How many bytes [`Self::write`] appends: a buffer of exactly that size becomes shared bytes
    /// without a second allocation.
    fn encoded_len(&self) -> usize;
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// A boolean.
    Bool,
    /// An unsigned integer of at most this many bits.
    Uint(u32),
    /// A signed 64-bit integer.
    Int,
    /// A float.
    Float,
    /// Text.
    Text,
    /// A byte string, or null.
    Bytes,
    /// Any item, kept as it is.
    Raw,
    /// An array, or null.
    List(&'static Self),
    /// A map with these keys, or null.
    Struct(&'static [FieldSpec]),
}

/// One key of a payload.
#[derive(Clone, Copy, Debug)]
pub struct FieldSpec {
    /// The key.
    pub name: &'static str,
    /// What stands under it.
    pub field_type: FieldType,
    /// When it stands there.
    pub presence: Presence,
}

/// When a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always, as in v1.
    Always,
    /// Unless zero or empty, as in v1.
    UnlessEmpty,
    /// R1's addition: only in v2 logs, and only if there is a value.
    V2,
}

/// Why a payload could not be read as its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Not CBOR at all.
    #[error("the payload is not well-formed CBOR")]
    Malformed(#[from] Malformed),
    /// Not a map.
    #[error("the payload is not a map")]
    NotAMap,
    /// A key holds something else than its kind says.
    #[error("`{key}` does not hold what its kind says")]
    WrongType {
        /// The key.
        key: String,
    },
}

/// One CBOR item kept as its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(pub(super) Bytes);

impl Raw {
    /// Takes canonical bytes of one item.
    pub fn new(bytes: Bytes) -> Result<Self, Malformed> {
        cbor::check(&bytes, Rules::CANONICAL)?;
        Ok(Self(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The item as a tree.
    pub fn value(&self) -> Result<Value, Malformed> {
        Value::decode(&self.0, Rules::READABLE)
    }
}

impl From<&Value> for Raw {
    fn from(value: &Value) -> Self {
        Self(value.encode().into())
    }
}

impl Default for Raw {
    /// `null`.
    fn default() -> Self {
        Self(Bytes::from_static(&[write::NULL]))
    }
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Raw({})", crate::id::to_hex(&self.0))
    }
}

impl Field for Raw {
    const TYPE: FieldType = FieldType::Raw;
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
    fn read(raw: &[u8]) -> Option<Self> {
        Some(Self(Bytes::copy_from_slice(raw)))
    }
    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
    fn encoded_len(&self) -> usize {
        self.0.len()
    }
}

pub(super) fn is_null(raw: &[u8]) -> bool {
    matches!(raw, [write::NULL | write::UNDEFINED])
}

impl Field for String {
    const TYPE: FieldType = FieldType::Text;
    fn write(&self, out: &mut Vec<u8>) {
        write::text(out, self);
    }
    fn read(raw: &[u8]) -> Option<Self> {
        if is_null(raw) {
            return Some(Self::new());
        }
        let mut reader = Reader::new(raw);
        let head = reader.head().ok().filter(|head| head.major == 3)?;
        reader.take(head.argument).and_then(|text| std::str::from_utf8(text).ok()).map(Into::into)
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
    fn encoded_len(&self) -> usize {
        string_len(self.len())
    }
}

impl Field for bool {
    const TYPE: FieldType = FieldType::Bool;
    fn write(&self, out: &mut Vec<u8>) {
        write::bool(out, *self);
    }
    fn read(raw: &[u8]) -> Option<Self> {
        match raw {
            [0xf4] => Some(false),
            [0xf5] => Some(true),
            _ if is_null(raw) => Some(false),
            _ => None,
        }
    }
    fn is_absent(&self) -> bool {
        !self
    }
    fn encoded_len(&self) -> usize {
        1
    }
}

impl Field for i64 {
    const TYPE: FieldType = FieldType::Int;
    fn write(&self, out: &mut Vec<u8>) {
        write::int(out, *self);
    }
    fn read(raw: &[u8]) -> Option<Self> {
        if is_null(raw) {
            return Some(0);
        }
        let head = Reader::new(raw).head().ok()?;
        let magnitude = Self::try_from(head.argument).ok()?;
        match head.major {
            0 => Some(magnitude),
            1 => Some(!magnitude),
            _ => None,
        }
    }
    fn is_absent(&self) -> bool {
        *self == 0
    }
    fn encoded_len(&self) -> usize {
        write::head_len(if *self < 0 { !self } else { *self }.cast_unsigned())
    }
}

macro_rules! uint_field {
    ($($int:ty),+) => {$(
        impl Field for $int {
            const TYPE: FieldType = FieldType::Uint(<$int>::BITS);
            fn write(&self, out: &mut Vec<u8>) {
                write::uint(out, u64::from(*self));
            }
            fn read(raw: &[u8]) -> Option<Self> {
                if is_null(raw) {
                    return Some(0);
                }
                let head = Reader::new(raw).head().ok().filter(|head| head.major == 0)?;
                head.argument.try_into().ok()
            }
            fn is_absent(&self) -> bool {
                *self == 0
            }
            fn encoded_len(&self) -> usize {
                write::head_len(u64::from(*self))
            }
        }
    )+};
}
uint_field!(u32, u64);

impl Field for f64 {
    const TYPE: FieldType = FieldType::Float;
    fn write(&self, out: &mut Vec<u8>) {
        write::float(out, *self);
    }
    #[expect(clippy::cast_precision_loss, reason = "an integer in a float's place is read as Starling reads it")]
    fn read(raw: &[u8]) -> Option<Self> {
        match Value::decode(raw, Rules::READABLE).ok()? {
            Value::Float(value) => Some(value),
            Value::Uint(n) => Some(n as Self),
            Value::Nint(n) => Some(-1.0 - n as Self),
            Value::Null | Value::Undefined => Some(0.0),
            _ => None,
        }
    }
    fn is_absent(&self) -> bool {
        *self == 0.0
    }
    fn encoded_len(&self) -> usize {
        write::float_len(*self)
    }
}

/// A byte string that may be null; null and empty are different bytes.
impl Field for Option<Bytes> {
    const TYPE: FieldType = FieldType::Bytes;
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(bytes) => write::bytes(out, bytes),
            None => write::null(out),
        }
    }
    fn read(raw: &[u8]) -> Option<Self> {
        if is_null(raw) {
            return Some(None);
        }
        let mut reader = Reader::new(raw);
        let head = reader.head().ok().filter(|head| head.major == 2)?;
        reader.take(head.argument).map(|bytes| Some(Bytes::copy_from_slice(bytes)))
    }
    fn is_absent(&self) -> bool {
        self.as_ref().is_none_or(Bytes::is_empty)
    }
    fn encoded_len(&self) -> usize {
        self.as_ref().map_or(1, |bytes| string_len(bytes.len()))
    }
}

impl<T: Field> Field for Box<T> {
    const TYPE: FieldType = T::TYPE;
    fn write(&self, out: &mut Vec<u8>) {
        T::write(self, out);
    }
    fn read(raw: &[u8]) -> Option<Self> {
        T::read(raw).map(Self::new)
    }
    fn is_absent(&self) -> bool {
        T::is_absent(self)
    }
    fn encoded_len(&self) -> usize {
        T::encoded_len(self)
    }
}

impl<T: Field> Field for Vec<T> {
    const TYPE: FieldType = FieldType::List(&T::TYPE);
    fn write(&self, out: &mut Vec<u8>) {
        write::array(out, self.len());
        self.iter().for_each(|item| item.write(out));
    }
    fn read(raw: &[u8]) -> Option<Self> {
        if is_null(raw) {
            return Some(Self::new());
        }
        let mut reader = Reader::new(raw);
        let head = reader.head().ok().filter(|head| head.major == 4)?;
        let mut at = reader.position();
        (0..head.argument)
            .map(|_| {
                let item = next_item(raw, &mut at)?;
                T::read(item)
            })
            .collect()
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
    fn encoded_len(&self) -> usize {
        write::head_len(self.len() as u64) + self.iter().map(T::encoded_len).sum::<usize>()
    }
}

/// A key that only some writers have: left out when there is nothing to say.
macro_rules! optional_field {
    ($($value:ty),+) => {$(
        impl Field for Option<$value> {
            const TYPE: FieldType = <$value as Field>::TYPE;
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    Some(value) => value.write(out),
                    None => write::null(out),
                }
            }
            fn read(raw: &[u8]) -> Option<Self> {
                if $crate::payload::field::is_null(raw) { Some(None) } else { <$value>::read(raw).map(Some) }
            }
            fn is_absent(&self) -> bool {
                self.is_none()
            }
            fn encoded_len(&self) -> usize {
                self.as_ref().map_or(1, <$value>::encoded_len)
            }
        }
    )+};
}
optional_field!(String, u64, bool, Raw);

/// A list that may be null, where v1 tells null from empty.
impl<T: Field> Field for Option<Vec<T>> {
    const TYPE: FieldType = FieldType::List(&T::TYPE);
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(items) => items.write(out),
            None => write::null(out),
        }
    }
    fn read(raw: &[u8]) -> Option<Self> {
        if is_null(raw) { Some(None) } else { Vec::read(raw).map(Some) }
    }
    fn is_absent(&self) -> bool {
        self.as_ref().is_none_or(Vec::is_empty)
    }
    fn encoded_len(&self) -> usize {
        self.as_ref().map_or(1, Vec::encoded_len)
    }
}

/// Whether `item` can be read as this type.
pub(super) fn holds(field_type: FieldType, item: &[u8]) -> bool {
    match field_type {
        FieldType::Bool => bool::read(item).is_some(),
        FieldType::Uint(bits) => u64::read(item).is_some_and(|n| bits == 64 || n >> bits == 0),
        FieldType::Int => i64::read(item).is_some(),
        FieldType::Float => f64::read(item).is_some(),
        FieldType::Text => String::read(item).is_some(),
        FieldType::Bytes => Option::<Bytes>::read(item).is_some(),
        FieldType::Raw => true,
        FieldType::List(_) => is_null(item) || item.first().is_some_and(|first| first >> 5 == 4),
        FieldType::Struct(_) => is_null(item) || item.first().is_some_and(|first| first >> 5 == 5),
    }
}

/// [`holds`] for an item of valid UTF-8, without looking into its strings.
pub(crate) fn is_of_type(field_type: FieldType, item: &[u8]) -> bool {
    let is_major = |major| is_null(item) || item.first().is_some_and(|first| first >> 5 == major);
    match field_type {
        FieldType::Bytes => is_major(2),
        FieldType::Text => is_major(3),
        FieldType::Bool
        | FieldType::Uint(_)
        | FieldType::Int
        | FieldType::Float
        | FieldType::Raw
        | FieldType::List(_)
        | FieldType::Struct(_) => holds(field_type, item),
    }
}

/// How many bytes a text or byte string of this length takes.
pub(super) const fn string_len(len: usize) -> usize {
    write::head_len(len as u64) + len
}
