//! A payload read along its table.
//!
//! [`Fields::read`] takes exactly what Starling writes, in one pass and without allocating: that is how
//! nearly every payload looks. What it refuses goes to [`super::lenient`], which makes a plain form of
//! it that [`Fields::read_plain`] takes.

use bytes::Bytes;

use super::table::{MAX_FIELDS, Shape, Table};
use crate::cbor::scan::{self, is_shortest_float};
use crate::cbor::{Reader, Rules, write};

/// Where each value of a payload stands.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    table: &'static Table,
    bytes: Bytes,
    /// By position in the table; an empty range where the key is missing.
    spans: [(u32, u32); MAX_FIELDS],
}

impl Fields {
    /// Reads a payload that is, byte for byte, what Starling writes and can read again.
    pub(super) fn read(table: &'static Table, bytes: &Bytes) -> Option<Self> {
        Self::walk(table, bytes, Strictness::AsWritten)
    }

    /// Reads the plain form that [`super::lenient::plain`] makes.
    pub(super) fn read_plain(table: &'static Table, bytes: &Bytes) -> Option<Self> {
        Self::walk(table, bytes, Strictness::Plain)
    }

    fn walk(table: &'static Table, bytes: &Bytes, strictness: Strictness) -> Option<Self> {
        u32::try_from(bytes.len()).ok()?;
        let mut spans = [(0, 0); MAX_FIELDS];
        let mut walker = Walker { reader: Reader::new(bytes), bytes, strictness };
        walker.map(table, 1, Some(&mut spans))?;
        walker.reader.is_at_end().then(|| Self { table, bytes: bytes.clone(), spans })
    }

    pub(super) const fn table(&self) -> &'static Table {
        self.table
    }

    /// The item under `name`, if the key is there.
    pub(super) fn item(&self, name: &str) -> Option<&[u8]> {
        self.item_at(self.table.position(name)?)
    }

    /// The item of the table's field at `position`, if the key is there.
    pub(super) fn item_at(&self, position: usize) -> Option<&[u8]> {
        let (from, to) = *self.spans.get(position)?;
        (from < to).then(|| &self.bytes[from as usize..to as usize])
    }

    /// The content of the text under `name`; empty where there is none.
    pub(super) fn text(&self, name: &str) -> &[u8] {
        self.item(name).and_then(string).unwrap_or_default()
    }

    /// Like [`Self::text`], to be kept without copying.
    pub(super) fn text_bytes(&self, name: &str) -> Bytes {
        self.bytes.slice_ref(self.text(name))
    }

    /// The item under `name` as it is, to be kept without copying.
    pub(super) fn raw_bytes(&self, name: &str) -> Bytes {
        self.item(name).map(|item| self.bytes.slice_ref(item)).unwrap_or_default()
    }

    /// The byte string under `name`, unless it is null.
    pub(super) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.item(name).filter(|item| *item != [write::NULL]).and_then(string)
    }

    pub(super) fn uint(&self, name: &str) -> u64 {
        self.item(name).and_then(|item| Reader::new(item).canonical_uint()).unwrap_or_default()
    }

    pub(super) fn int(&self, name: &str) -> i64 {
        self.item(name).and_then(|item| Reader::new(item).canonical_int()).unwrap_or_default()
    }

    pub(super) fn float(&self, name: &str) -> f64 {
        self.item(name).and_then(|item| Reader::new(item).head().ok()).map_or(0.0, scan::float_value)
    }

    pub(super) fn bool(&self, name: &str) -> bool {
        self.item(name) == Some(&[0xf5])
    }

    /// The maps in the list under `name`.
    pub(super) fn list(&self, name: &str) -> Vec<Self> {
        let Some(position) = self.table.position(name) else { return Vec::new() };
        let (Some(item), Shape::List(table)) = (self.item_at(position), &self.table.fields[position].shape) else {
            return Vec::new();
        };
        list_items(item)
            .map(|item| self.bytes.slice_ref(item))
            .filter_map(|item| Self::read_plain(table, &item))
            .collect()
    }

    /// The map under the table's field at `position`.
    pub(super) fn nested(&self, position: usize) -> Option<Self> {
        let (Some(item), Shape::Struct(table)) = (self.item_at(position), &self.table.fields[position].shape) else {
            return None;
        };
        Self::read_plain(table, &self.bytes.slice_ref(item))
    }
}

/// The items of an array whose bytes are well-formed; none for anything else.
fn list_items(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut reader = Reader::new(array);
    let count = reader.head().ok().filter(|head| head.major == 4).map_or(0, |head| head.argument);
    let mut rest = &array[reader.position().min(array.len())..];
    (0..count).map_while(move |_| {
        let end = scan::item_end(rest, Rules::WELL_FORMED).ok()?;
        let (item, after) = rest.split_at(end);
        rest = after;
        Some(item)
    })
}

fn string(item: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(item);
    let head = reader.head().ok().filter(|head| matches!(head.major, 2 | 3))?;
    reader.take(head.argument)
}

/// How close to Starling's own writing the bytes must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// Every key that is always written, no empty one that is not, raw items canonical and readable.
    AsWritten,
    /// Known keys in order; raw items as they are.
    Plain,
}

struct Walker<'a> {
    reader: Reader<'a>,
    bytes: &'a [u8],
    strictness: Strictness,
}

impl Walker<'_> {
    /// Takes a map at nesting level `depth` and notes where its values stand.
    fn map(&mut self, table: &Table, depth: usize, mut spans: Option<&mut [(u32, u32); MAX_FIELDS]>) -> Option<()> {
        let head = self.reader.head().ok().filter(|head| head.major == 5 && head.shortest)?;
        let as_written = self.strictness == Strictness::AsWritten;
        let mut next = 0;
        for _ in 0..head.argument {
            // Keys and table are in the same order: whatever is passed over is not there.
            let position = loop {
                let field = table.fields.get(next)?;
                next += 1;
                if self.reader.literal(&field.key) {
                    break next - 1;
                }
                if as_written && !field.optional {
                    return None;
                }
            };
            let field = &table.fields[position];
            let from = self.reader.position();
            let empty = self.value(&field.shape, depth)?;
            if as_written && field.optional && empty {
                return None;
            }
            if let Some(spans) = spans.as_deref_mut() {
                spans[position] = (u32::try_from(from).ok()?, u32::try_from(self.reader.position()).ok()?);
            }
        }
        (!as_written || table.fields[next..].iter().all(|field| field.optional)).then_some(())
    }

    /// Takes one value and tells whether an optional key would be left out for it.
    fn value(&mut self, shape: &Shape, depth: usize) -> Option<bool> {
        match shape {
            Shape::Bool => match self.reader.head().ok()? {
                head if head.major == 7 && matches!(head.info, 20 | 21) => Some(head.info == 20),
                _ => None,
            },
            Shape::Uint(bits) => {
                let n = self.reader.canonical_uint()?;
                (*bits == 64 || n >> bits == 0).then_some(n == 0)
            }
            Shape::Int => self.reader.canonical_int().map(|n| n == 0),
            Shape::Float => {
                let head = self.reader.head().ok().filter(|head| head.major == 7 && matches!(head.info, 25..=27))?;
                is_shortest_float(head).then(|| scan::float_value(head) == 0.0)
            }
            Shape::Text => self.reader.canonical_text().map(str::is_empty),
            Shape::Bytes => self.null_or(|walker| walker.reader.canonical_bytes().map(<[u8]>::is_empty)),
            Shape::Raw => self.raw(depth).map(|()| false),
            Shape::List(table) => self.null_or(|walker| {
                let head = walker.reader.head().ok().filter(|head| head.major == 4 && head.shortest)?;
                if head.argument > Rules::MAX_LEN {
                    return None;
                }
                for _ in 0..head.argument {
                    walker.map(table, depth + 2, None)?;
                }
                Some(head.argument == 0)
            }),
            Shape::Struct(table) => self.null_or(|walker| walker.map(table, depth + 1, None).map(|()| false)),
        }
    }

    /// Null counts as empty.
    fn null_or(&mut self, read: impl FnOnce(&mut Self) -> Option<bool>) -> Option<bool> {
        if self.reader.literal(&[write::NULL]) { Some(true) } else { read(self) }
    }

    /// Takes any item.
    fn raw(&mut self, depth: usize) -> Option<()> {
        let rules = match self.strictness {
            // A reader looks into a tag in front and may even drop it.
            Strictness::AsWritten if self.reader.peek()? >> 5 == 6 => return None,
            Strictness::AsWritten => {
                Rules { known_tags: true, max_depth: Rules::MAX_DEPTH.checked_sub(depth)?, ..Rules::CANONICAL }
            }
            Strictness::Plain => Rules::WELL_FORMED,
        };
        let end = scan::item_end(&self.bytes[self.reader.position()..], rules).ok()?;
        self.reader.take(end as u64).map(|_| ())
    }
}
