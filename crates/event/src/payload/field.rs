//! How a payload's fields become CBOR and come back.

use bytes::Bytes;

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
pub struct Raw(Bytes);

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

/// Keys that a payload has and this R1 has no field for, with their items as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra(Vec<(Bytes, Bytes)>);

impl Extra {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The item under the text key `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Raw> {
        let encoded = encoded_key(key);
        self.0.iter().find(|(name, _)| name[..] == encoded[..]).map(|(_, item)| Raw(item.clone()))
    }

    /// Adds or replaces the text key `key`. A key that the payload has a field for must not be set here.
    pub fn set(&mut self, key: &str, item: Raw) {
        let encoded = encoded_key(key);
        self.0.retain(|(name, _)| name[..] != encoded[..]);
        self.0.push((encoded.into(), item.0));
    }
}

/// How many bytes a text or byte string of this length takes.
const fn string_len(len: usize) -> usize {
    write::head_len(len as u64) + len
}

fn encoded_key(key: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + 2);
    write::text(&mut out, key);
    out
}

/// [`Field`] without what depends on its type, so that all fields of a struct fit into one list.
pub(super) trait AnyField {
    fn put(&self, out: &mut Vec<u8>);
    fn is_left_out(&self) -> bool;
    fn len(&self) -> usize;
}

impl<T: Field> AnyField for T {
    fn put(&self, out: &mut Vec<u8>) {
        self.write(out);
    }
    fn is_left_out(&self) -> bool {
        self.is_absent()
    }
    fn len(&self) -> usize {
        self.encoded_len()
    }
}

/// In which order canonical CBOR wants these keys: the shorter first, then by their bytes.
pub(super) const fn canonical_order<const N: usize>(fields: &[FieldSpec]) -> [usize; N] {
    let mut order = [0; N];
    let mut sorted = 0;
    while sorted < N {
        let mut at = sorted;
        while at > 0 && comes_before(fields[sorted].name, fields[order[at - 1]].name) {
            order[at] = order[at - 1];
            at -= 1;
        }
        order[at] = sorted;
        sorted += 1;
    }
    order
}

const fn comes_before(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return a.len() < b.len();
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return a[at] < b[at];
        }
        at += 1;
    }
    false
}

/// Writes the map of a struct: `values` belong to `fields` one by one, `order` is their canonical order.
pub(super) fn write_map(
    out: &mut Vec<u8>,
    fields: &[FieldSpec],
    order: &[usize],
    values: &[&dyn AnyField],
    extra: &Extra,
) {
    let is_written = |at: usize| fields[at].presence == Presence::Always || !values[at].is_left_out();
    out.reserve_exact(map_len(fields, values, extra));
    write::map(out, (0..fields.len()).filter(|at| is_written(*at)).count() + extra.0.len());
    let mut extras: Vec<_> = extra.0.iter().collect();
    extras.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut extras = extras.into_iter().peekable();
    for at in order.iter().copied().filter(|at| is_written(*at)) {
        let name = fields[at].name;
        if extras.peek().is_some() {
            let key = encoded_key(name);
            while let Some((key, item)) = extras.next_if(|(extra, _)| extra[..] < key[..]) {
                out.extend_from_slice(key);
                out.extend_from_slice(item);
            }
        }
        write::text(out, name);
        values[at].put(out);
    }
    for (key, item) in extras {
        out.extend_from_slice(key);
        out.extend_from_slice(item);
    }
}

/// How many bytes [`write_map`] appends.
pub(super) fn map_len(fields: &[FieldSpec], values: &[&dyn AnyField], extra: &Extra) -> usize {
    let written = fields.iter().zip(values);
    let written = written.filter(|(field, value)| field.presence == Presence::Always || !value.is_left_out());
    let (mut pairs, mut len) = (0, 0);
    for (field, value) in written {
        pairs += 1;
        len += string_len(field.name.len()) + value.len();
    }
    let extra_len: usize = extra.0.iter().map(|(key, item)| key.len() + item.len()).sum();
    write::head_len(pairs + extra.0.len() as u64) + len + extra_len
}

/// Walks the pairs of a map; `visit` gets each key's text (if it is text), the raw key and the raw item.
pub(super) fn each_pair<'a>(
    raw: &'a [u8],
    mut visit: impl FnMut(Option<&'a str>, &'a [u8], &'a [u8]) -> Result<(), PayloadError>,
) -> Result<(), PayloadError> {
    let mut reader = Reader::new(raw);
    let head = reader.head().ok().filter(|head| head.major == 5).ok_or(PayloadError::NotAMap)?;
    let mut at = reader.position();
    for _ in 0..head.argument {
        let key = next_item(raw, &mut at).ok_or(PayloadError::NotAMap)?;
        let item = next_item(raw, &mut at).ok_or(PayloadError::NotAMap)?;
        let mut inside = Reader::new(key);
        let name = match inside.head() {
            Ok(head) if head.major == 3 => inside.take(head.argument).and_then(|text| std::str::from_utf8(text).ok()),
            _ => None,
        };
        visit(name, key, item)?;
    }
    Ok(())
}

fn next_item<'a>(raw: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let rest = raw.get(*at..)?;
    let end = cbor::scan::item_end(rest, Rules::WELL_FORMED).ok()?;
    *at += end;
    Some(&rest[..end])
}

/// Reads a whole payload.
pub(super) fn decode_whole<T: Field>(bytes: &[u8]) -> Result<T, PayloadError> {
    // The struct's own reader says no more than "no"; ask it again per key for the name.
    T::read(bytes).ok_or_else(|| first_bad_key::<T>(bytes))
}

fn first_bad_key<T: Field>(bytes: &[u8]) -> PayloadError {
    let FieldType::Struct(fields) = T::TYPE else { return PayloadError::NotAMap };
    let mut bad = PayloadError::NotAMap;
    let _ = each_pair(bytes, |name, _, item| {
        let spec = name.and_then(|name| fields.iter().find(|spec| spec.name == name));
        match spec {
            Some(spec) if !holds(spec.field_type, item) => {
                bad = PayloadError::WrongType { key: spec.name.into() };
                Err(bad.clone())
            }
            _ => Ok(()),
        }
    });
    bad
}

/// Whether `item` can be read as this type.
fn holds(field_type: FieldType, item: &[u8]) -> bool {
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

/// Declares a struct of payload fields with its table, its canonical writer and its reader.
///
/// Three groups say when a key is written: `always`, `unless_empty` (both as v1 has them) and `v2`.
macro_rules! fields {
    ($(
        $(#[$doc:meta])*
        $name:ident {
            always { $($(#[$adoc:meta])* $always:ident: $aty:ty,)* }
            unless_empty { $($(#[$odoc:meta])* $omit:ident: $oty:ty,)* }
            v2 { $($(#[$vdoc:meta])* $v2:ident: $vty:ty,)* }
        }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$adoc])* pub $always: $aty,)*
            $($(#[$odoc])* pub $omit: $oty,)*
            $($(#[$vdoc])* pub $v2: $vty,)*
            /// Keys without a field here, kept as they are.
            pub extra: $crate::payload::Extra,
        }

        impl $name {
            /// The keys, in the order of declaration.
            pub const FIELDS: &'static [$crate::payload::FieldSpec] = &[
                $($crate::payload::FieldSpec {
                    name: field_name!($always),
                    field_type: <$aty as $crate::payload::Field>::TYPE,
                    presence: $crate::payload::Presence::Always,
                },)*
                $($crate::payload::FieldSpec {
                    name: field_name!($omit),
                    field_type: <$oty as $crate::payload::Field>::TYPE,
                    presence: $crate::payload::Presence::UnlessEmpty,
                },)*
                $($crate::payload::FieldSpec {
                    name: field_name!($v2),
                    field_type: <$vty as $crate::payload::Field>::TYPE,
                    presence: $crate::payload::Presence::V2,
                },)*
            ];

            /// The values of [`Self::FIELDS`], in the same order.
            fn values(&self) -> [&dyn $crate::payload::field::AnyField; $name::FIELDS.len()] {
                [$(&self.$always,)* $(&self.$omit,)* $(&self.$v2,)*]
            }
        }

        impl $crate::payload::Field for $name {
            const TYPE: $crate::payload::FieldType = $crate::payload::FieldType::Struct(Self::FIELDS);

            fn write(&self, out: &mut Vec<u8>) {
                use $crate::payload::field::{canonical_order, write_map};
                const FIELDS: &[$crate::payload::FieldSpec] = $name::FIELDS;
                const ORDER: [usize; FIELDS.len()] = canonical_order(FIELDS);
                write_map(out, FIELDS, &ORDER, &self.values(), &self.extra);
            }

            fn encoded_len(&self) -> usize {
                $crate::payload::field::map_len(Self::FIELDS, &self.values(), &self.extra)
            }

            fn read(raw: &[u8]) -> Option<Self> {
                let mut read = Self::default();
                let wrong = || $crate::payload::PayloadError::NotAMap;
                $crate::payload::field::each_pair(raw, |name, key, item| {
                    match name {
                        $(Some(field_name!($always)) => read.$always = $crate::payload::Field::read(item).ok_or_else(wrong)?,)*
                        $(Some(field_name!($omit)) => read.$omit = $crate::payload::Field::read(item).ok_or_else(wrong)?,)*
                        $(Some(field_name!($v2)) => read.$v2 = $crate::payload::Field::read(item).ok_or_else(wrong)?,)*
                        _ => read.extra.keep(key, item),
                    }
                    Ok(())
                })
                .ok()?;
                Some(read)
            }

            fn is_absent(&self) -> bool {
                false
            }
        }
    )+};
}

/// The key of a field: its name, but for the two that Rust reserves.
macro_rules! field_name {
    (r#where) => {
        "where"
    };
    (r#final) => {
        "final"
    };
    (r#type) => {
        "type"
    };
    ($name:ident) => {
        stringify!($name)
    };
}

impl Extra {
    /// Keeps a pair as it was read.
    pub(super) fn keep(&mut self, key: &[u8], item: &[u8]) {
        self.0.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(item)));
    }
}
