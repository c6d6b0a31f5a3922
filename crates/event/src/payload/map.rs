//! The map that a payload is: fields in canonical order, and whatever else it holds.

use bytes::Bytes;

use super::field::{Field, FieldSpec, FieldType, PayloadError, Presence, Raw, holds, string_len};
use crate::cbor::{self, Reader, Rules, write};

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

    /// The text keys and their items.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Raw)> {
        self.0.iter().filter_map(|(name, item)| {
            let mut reader = Reader::new(name);
            let head = reader.head().ok().filter(|head| head.major == 3)?;
            let text = reader.take(head.argument)?;
            std::str::from_utf8(text).ok().map(|text| (text, Raw(item.clone())))
        })
    }

    /// Adds or replaces the text key `key`. A key that the payload has a field for must not be set here.
    pub fn set(&mut self, key: &str, item: Raw) {
        let encoded = encoded_key(key);
        self.0.retain(|(name, _)| name[..] != encoded[..]);
        self.0.push((encoded.into(), item.0));
    }

    /// Keeps a pair as it was read.
    pub(super) fn keep(&mut self, key: &[u8], item: &[u8]) {
        self.0.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(item)));
    }
}

fn encoded_key(key: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + 2);
    write::text(&mut out, key);
    out
}

/// [`Field`] without what depends on its type, so that all fields of a struct fit into one list.
pub(super) trait AnyField {
    fn put(&self, out: &mut Vec<u8>);
}

impl<T: Field> AnyField for T {
    fn put(&self, out: &mut Vec<u8>) {
        self.write(out);
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
    measured: &Measured,
) {
    out.reserve_exact(measured.len());
    write::map(out, measured.pairs);
    let mut extras: Vec<_> = extra.0.iter().collect();
    extras.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut extras = extras.into_iter().peekable();
    for at in order.iter().copied().filter(|at| measured.written & (1 << at) != 0) {
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

/// What [`write_map`] is about to append.
pub(super) struct Measured {
    /// A bit for each field that has been measured, from the lowest: whether it is written.
    written: u64,
    fields: u32,
    pairs: usize,
    pairs_len: usize,
}

impl Measured {
    /// Begins with the keys that have no field.
    pub(super) fn new(extra: &Extra) -> Self {
        let pairs_len = extra.0.iter().map(|(key, item)| key.len() + item.len()).sum();
        Self { written: 0, fields: 0, pairs: extra.0.len(), pairs_len }
    }

    /// Adds the next field.
    #[inline]
    pub(super) fn add<T: Field>(&mut self, name: &str, presence: Presence, value: &T) {
        if presence == Presence::Always || !value.is_absent() {
            self.written |= 1 << self.fields;
            self.pairs += 1;
            self.pairs_len += string_len(name.len()) + value.encoded_len();
        }
        self.fields += 1;
    }

    /// How many bytes the map has.
    pub(super) const fn len(&self) -> usize {
        write::head_len(self.pairs as u64) + self.pairs_len
    }
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

pub(super) fn next_item<'a>(raw: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
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
            fn values(&self) -> [&dyn $crate::payload::map::AnyField; $name::FIELDS.len()] {
                [$(&self.$always,)* $(&self.$omit,)* $(&self.$v2,)*]
            }

            fn measure(&self) -> $crate::payload::map::Measured {
                use $crate::payload::Presence;
                let mut measured = $crate::payload::map::Measured::new(&self.extra);
                $(measured.add(field_name!($always), Presence::Always, &self.$always);)*
                $(measured.add(field_name!($omit), Presence::UnlessEmpty, &self.$omit);)*
                $(measured.add(field_name!($v2), Presence::V2, &self.$v2);)*
                measured
            }
        }

        impl $crate::payload::Field for $name {
            const TYPE: $crate::payload::FieldType = $crate::payload::FieldType::Struct(Self::FIELDS);

            fn write(&self, out: &mut Vec<u8>) {
                use $crate::payload::map::{canonical_order, write_map};
                const FIELDS: &[$crate::payload::FieldSpec] = $name::FIELDS;
                const ORDER: [usize; FIELDS.len()] = canonical_order(FIELDS);
                const { assert!(FIELDS.len() <= 64, "which fields are written is told by bits") };
                write_map(out, FIELDS, &ORDER, &self.values(), &self.extra, &self.measure());
            }

            fn encoded_len(&self) -> usize {
                self.measure().len()
            }

            fn read(raw: &[u8]) -> Option<Self> {
                let mut read = Self::default();
                let wrong = || $crate::payload::PayloadError::NotAMap;
                $crate::payload::map::each_pair(raw, |name, key, item| {
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
