//! The payload keys of v1 in the order in which Starling writes them.

use std::sync::LazyLock;

use crate::cbor::write;
use crate::kind::Kind;
use crate::payload::{self, FieldSpec, FieldType, Presence};

/// The most keys that any v1 map has.
pub(super) const MAX_FIELDS: usize = 16;

/// What one map holds, in canonical order of its keys.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) fields: Vec<Field>,
}

/// One key of a [`Table`].
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The key as it is written, with its head.
    pub(super) key: Vec<u8>,
    pub(super) shape: Shape,
    /// Whether the key is left out when its value is zero or empty.
    pub(super) optional: bool,
}

/// What stands under a key.
#[derive(Debug)]
pub(super) enum Shape {
    Bool,
    Uint(u32),
    Int,
    Float,
    Text,
    Bytes,
    Raw,
    List(Table),
    Struct(Table),
}

impl Table {
    /// The table of a kind's payload; `None` for numbers that Starling gives no payload.
    pub(super) fn of(kind: u8) -> Option<&'static Self> {
        static TABLES: LazyLock<Vec<Option<Table>>> =
            LazyLock::new(|| (0..=15).map(|number| Table::build(payload::fields(Kind::from_number(number)))).collect());
        TABLES.get(usize::from(kind)).and_then(Option::as_ref)
    }

    /// The table of the envelope itself.
    pub(super) fn envelope() -> &'static Self {
        static TABLE: LazyLock<Table> = LazyLock::new(|| {
            let always = |name, shape| Field { name, key: encoded(name), shape, optional: false };
            Table {
                fields: vec![
                    always("ts", Shape::Int),
                    always("seq", Shape::Uint(64)),
                    always("kind", Shape::Uint(8)),
                    always("run_id", Shape::Text),
                    always("payload", Shape::Raw),
                    always("prev_hash", Shape::Bytes),
                ],
            }
        });
        &TABLE
    }

    fn build(specs: &[FieldSpec]) -> Option<Self> {
        let mut fields: Vec<_> = specs
            .iter()
            .filter(|spec| spec.presence != Presence::V2)
            .map(|spec| Field {
                name: spec.name,
                key: encoded(spec.name),
                shape: Shape::of(spec.field_type),
                optional: spec.presence == Presence::UnlessEmpty,
            })
            .collect();
        debug_assert!(fields.len() <= MAX_FIELDS, "MAX_FIELDS has to grow");
        fields.sort_by(|a, b| a.key.cmp(&b.key));
        (!fields.is_empty()).then_some(Self { fields })
    }

    /// The position of the key `name`.
    #[inline]
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

impl Shape {
    fn of(field_type: FieldType) -> Self {
        let table = |specs| Table::build(specs).unwrap_or(Table { fields: Vec::new() });
        match field_type {
            FieldType::Bool => Self::Bool,
            FieldType::Uint(bits) => Self::Uint(bits),
            FieldType::Int => Self::Int,
            FieldType::Float => Self::Float,
            FieldType::Text => Self::Text,
            FieldType::Bytes => Self::Bytes,
            FieldType::Raw => Self::Raw,
            FieldType::Struct(specs) => Self::Struct(table(specs)),
            FieldType::List(FieldType::Struct(specs)) => Self::List(table(specs)),
            // No v1 list holds anything but maps.
            FieldType::List(_) => Self::Raw,
        }
    }
}

fn encoded(name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 2);
    write::text(&mut key, name);
    key
}
