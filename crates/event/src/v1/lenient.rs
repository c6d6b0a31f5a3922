//! Reading CBOR maps the way Starling's library reads them into its structs.
//!
//! It takes much that nobody writes: keys in any order and case, integers in long forms, as bignums or
//! as simple values, byte strings as arrays of numbers, tags around anything, null for every value.
//! [`plain`] turns all of that into canonical bytes with the table's keys alone, so that everything
//! behind it has one form to deal with.

use std::collections::HashSet;
use std::fmt;

use super::table::{MAX_FIELDS, Shape, Table};
use crate::cbor::scan::{self, Malformed, Problem};
use crate::cbor::{Reader, Rules, write};

/// The tag that says "this is CBOR" and nothing else.
const SELF_DESCRIBED: u64 = 55_799;

/// Why Starling cannot read a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// There is nothing to read.
    Empty,
    /// Not well-formed, or beyond the reader's limits.
    Malformed(Malformed),
    /// Well-formed, but not this map.
    Unfit(Unfit),
}

/// What a well-formed item has wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// Something else than a map.
    NotAMap,
    /// A key that is neither text nor an integer, or text that is not UTF-8.
    Key,
    /// A key that stands there twice, in whatever case.
    Duplicate(String),
    /// A value that its key cannot hold.
    Value(&'static str),
}

impl Unreadable {
    /// What Starling says after "payload: ", up to the words of its library.
    pub(super) const fn starling_text(&self) -> &'static str {
        match self {
            Self::Empty => "EOF",
            Self::Malformed(Malformed { problem: Problem::Truncated, .. }) => "unexpected EOF",
            Self::Malformed(_) | Self::Unfit(_) => "cbor:",
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no payload"),
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Unfit(Unfit::NotAMap) => f.write_str("it is not a map"),
            Self::Unfit(Unfit::Key) => f.write_str("a key is neither text nor a small integer"),
            Self::Unfit(Unfit::Duplicate(key)) => write!(f, "the key {key} stands there twice"),
            Self::Unfit(Unfit::Value(key)) => write!(f, "`{key}` does not hold what it should"),
        }
    }
}

/// The plain form of `bytes`: a canonical map of those of the table's keys that are there.
pub(super) fn plain(table: &'static Table, bytes: &[u8], rules: Rules) -> Result<Vec<u8>, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    scan::check(bytes, rules).map_err(Unreadable::Malformed)?;
    let mut out = Vec::with_capacity(bytes.len());
    plain_map(table, &mut Reader::new(bytes), &mut out).map_err(Unreadable::Unfit)?;
    Ok(out)
}

/// One value, with all tags taken off.
enum Plain<'a> {
    Null,
    Bool(bool),
    /// An integer, or a simple value without a meaning, which counts as one.
    Uint(u64),
    Nint(u64),
    Float(f64),
    Bytes(&'a [u8]),
    Text(&'a [u8]),
    /// A bignum: its sign and magnitude.
    Big {
        negative: bool,
        magnitude: &'a [u8],
    },
    /// So many items follow.
    Array(u64),
    /// So many pairs follow.
    Map(u64),
}

/// Takes the next value off well-formed bytes; the content of a container stays with the reader.
fn next<'a>(reader: &mut Reader<'a>) -> Option<Plain<'a>> {
    loop {
        check_tags(reader.clone())?;
        let head = reader.head().ok()?;
        return Some(match head.major {
            0 => Plain::Uint(head.argument),
            1 => Plain::Nint(head.argument),
            2 => Plain::Bytes(reader.take(head.argument)?),
            3 => Plain::Text(reader.take(head.argument)?),
            4 => Plain::Array(head.argument),
            5 => Plain::Map(head.argument),
            6 if matches!(head.argument, 2 | 3) => {
                let content = reader.head().ok()?;
                Plain::Big { negative: head.argument == 3, magnitude: reader.take(content.argument)? }
            }
            6 => continue,
            _ => match head.info {
                20 => Plain::Bool(false),
                21 => Plain::Bool(true),
                22 | 23 => Plain::Null,
                25..=27 => Plain::Float(scan::float_value(head)),
                _ => Plain::Uint(head.argument),
            },
        });
    }
}

/// Whether every known tag in front of the next value may stand there.
fn check_tags(mut reader: Reader<'_>) -> Option<()> {
    let mut tag = None;
    loop {
        let head = reader.head().ok()?;
        if let Some(number) = tag {
            scan::check_tag_content(number, head).ok()?;
        }
        if head.major != 6 {
            return Some(());
        }
        tag = Some(head.argument);
    }
}

fn plain_map(table: &'static Table, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let pairs = match next(reader) {
        Some(Plain::Map(pairs)) => pairs,
        // Null leaves the struct as it was: all zero.
        Some(Plain::Null) => 0,
        _ => return Err(Unfit::NotAMap),
    };
    let mut values: [Option<Vec<u8>>; MAX_FIELDS] = [const { None }; MAX_FIELDS];
    let mut unknown = HashSet::new();
    for _ in 0..pairs {
        let key = Key::read(reader).ok_or(Unfit::Key)?;
        let Some(position) = key.find(table) else {
            skip(reader).ok_or(Unfit::Key)?;
            if !unknown.insert(key) {
                return Err(Unfit::Duplicate(key.to_string()));
            }
            continue;
        };
        let field = &table.fields[position];
        if values[position].is_some() {
            return Err(Unfit::Duplicate(format!("`{}`", field.name)));
        }
        let mut value = Vec::new();
        plain_value(&field.shape, reader, &mut value).ok_or(Unfit::Value(field.name))?;
        values[position] = Some(value);
    }
    write::map(out, values.iter().flatten().count());
    for (field, value) in table.fields.iter().zip(&values) {
        if let Some(value) = value {
            out.extend_from_slice(&field.key);
            out.extend_from_slice(value);
        }
    }
    Ok(())
}

fn plain_value(shape: &'static Shape, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    match shape {
        Shape::Raw => raw(reader, out)?,
        Shape::Bool => match next(reader)? {
            Plain::Bool(value) => write::bool(out, value),
            Plain::Null => write::bool(out, false),
            _ => return None,
        },
        Shape::Uint(bits) => write::uint(out, uint(next(reader)?, *bits)?),
        Shape::Int => write::int(out, int(next(reader)?)?),
        Shape::Float => write::float(out, float(next(reader)?)?),
        Shape::Text => match next(reader)? {
            Plain::Text(text) => write::text(out, std::str::from_utf8(text).ok()?),
            Plain::Null => write::text(out, ""),
            _ => return None,
        },
        Shape::Bytes => match next(reader)? {
            Plain::Bytes(bytes) | Plain::Big { magnitude: bytes, .. } => write::bytes(out, bytes),
            Plain::Array(len) => {
                let octet = |_| uint(next(reader)?, 8).and_then(|n| u8::try_from(n).ok());
                write::bytes(out, &(0..len).map(octet).collect::<Option<Vec<u8>>>()?);
            }
            Plain::Null => write::null(out),
            _ => return None,
        },
        Shape::List(table) => match next(reader)? {
            Plain::Array(len) => {
                write::array(out, usize::try_from(len).ok()?);
                for _ in 0..len {
                    plain_map(table, reader, out).ok()?;
                }
            }
            Plain::Null => write::null(out),
            _ => return None,
        },
        Shape::Struct(table) => {
            if matches!(reader.peek(), Some(write::NULL | write::UNDEFINED)) {
                skip(reader)?;
                write::null(out);
            } else {
                plain_map(table, reader, out).ok()?;
            }
        }
    }
    Some(())
}

/// An item that is kept as it is, but for the tag that says nothing.
fn raw(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let mut ahead = reader.clone();
    while ahead.head().ok().is_some_and(|head| head.major == 6 && head.argument == SELF_DESCRIBED) {
        *reader = ahead.clone();
    }
    check_tags(reader.clone())?;
    let item = reader.take(scan::item_end(reader.rest(), Rules::WELL_FORMED).ok()? as u64)?;
    out.extend_from_slice(item);
    Some(())
}

fn skip(reader: &mut Reader<'_>) -> Option<()> {
    let end = scan::item_end(reader.rest(), Rules::WELL_FORMED).ok()?;
    reader.take(end as u64).map(|_| ())
}

fn uint(value: Plain<'_>, bits: u32) -> Option<u64> {
    let n = match value {
        Plain::Uint(n) => n,
        Plain::Big { negative: false, magnitude } => magnitude_u64(magnitude)?,
        Plain::Null => 0,
        _ => return None,
    };
    (bits == 64 || n >> bits == 0).then_some(n)
}

fn int(value: Plain<'_>) -> Option<i64> {
    match value {
        Plain::Uint(n) => i64::try_from(n).ok(),
        Plain::Nint(n) => i64::try_from(n).ok().map(|n| !n),
        Plain::Big { negative, magnitude } => {
            let n = i64::try_from(magnitude_u64(magnitude)?).ok()?;
            Some(if negative { !n } else { n })
        }
        Plain::Null => Some(0),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "an integer in a float's place is read as Starling reads it")]
fn float(value: Plain<'_>) -> Option<f64> {
    match value {
        Plain::Float(value) => Some(value),
        Plain::Uint(n) => Some(n as f64),
        Plain::Big { negative: false, magnitude } => magnitude_u64(magnitude).map(|n| n as f64),
        Plain::Null => Some(0.0),
        other => int(other).map(|n| n as f64),
    }
}

fn magnitude_u64(bytes: &[u8]) -> Option<u64> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let significant = &bytes[zeros..];
    let mut wide = [0; 8];
    wide.get_mut(8usize.checked_sub(significant.len())?..)?.copy_from_slice(significant);
    Some(u64::from_be_bytes(wide))
}

/// A key as the library tells keys apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'a> {
    Text(&'a str),
    /// Wraps around above 2⁶³, as the library's does.
    Int(i64),
}

impl<'a> Key<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let head = reader.head().ok()?;
        match head.major {
            0 => Some(Self::Int(head.argument.cast_signed())),
            1 => i64::try_from(head.argument).ok().map(|n| Self::Int(!n)),
            3 => std::str::from_utf8(reader.take(head.argument)?).ok().map(Self::Text),
            _ => None,
        }
    }

    /// The field that the key stands for: the one spelled so, else the one spelled so in another case.
    fn find(self, table: &Table) -> Option<usize> {
        let Self::Text(text) = self else { return None };
        // Names are ASCII, and no other letter of the same length folds to an ASCII one.
        table.position(text).or_else(|| table.fields.iter().position(|field| field.name.eq_ignore_ascii_case(text)))
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Int(n) => write!(f, "{n}"),
        }
    }
}

/// The first key of a map that the table does not know by exactly this name, if there is one.
pub(super) fn unknown_key(table: &Table, bytes: &[u8]) -> Option<String> {
    let mut reader = Reader::new(bytes);
    let Some(Plain::Map(pairs)) = next(&mut reader) else { return None };
    for _ in 0..pairs {
        let key = Key::read(&mut reader)?;
        skip(&mut reader)?;
        match key {
            Key::Text(text) if table.position(text).is_some() => {}
            other => return Some(other.to_string()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{from_hex, to_hex};

    fn turn_started(hex: &str) -> Option<String> {
        let table = Table::of(3).unwrap();
        plain(table, &from_hex(hex).unwrap(), Rules::READABLE).ok().map(|bytes| to_hex(&bytes))
    }

    /// `{"input_tokens": item}`
    fn tokens(item: &str) -> Option<String> {
        turn_started(&format!("a16c696e7075745f746f6b656e73{item}"))
            .map(|hex| hex.strip_prefix("a16c696e7075745f746f6b656e73").unwrap().into())
    }

    /// `{"prompt_hash": item}`
    fn hash(item: &str) -> Option<String> {
        turn_started(&format!("a16b70726f6d70745f68617368{item}"))
            .map(|hex| hex.strip_prefix("a16b70726f6d70745f68617368").unwrap().into())
    }

    #[test]
    fn an_integer_may_come_in_many_forms_but_not_as_a_float() {
        for (item, read) in [
            ("1b0000000000000005", Some("05")),
            ("c24105", Some("05")),
            ("c249000000000000000005", Some("05")),
            ("c34105", Some("25")),
            ("c347ffffffffffffff", Some("3b00ffffffffffffff")),
            ("c3487fffffffffffffff", Some("3b7fffffffffffffff")),
            ("c34880ffffffffffffff", None),
            ("c249010000000000000000", None),
            ("d9d9f7c505", Some("05")),
            ("e5", Some("05")),
            ("f8ff", Some("18ff")),
            ("f6", Some("00")),
            ("f7", Some("00")),
            ("c6f6", Some("00")),
            ("f94500", None),
            ("f5", None),
            ("c105", Some("05")),
            ("c005", None),
            ("c205", None),
            ("1b8000000000000000", None),
            ("3b7fffffffffffffff", Some("3b7fffffffffffffff")),
            ("3b8000000000000000", None),
        ] {
            assert_eq!(tokens(item).as_deref(), read, "{item}");
        }
    }

    #[test]
    fn bytes_may_come_as_an_array_or_a_bignum_but_not_as_text() {
        for (item, read) in [
            ("420102", Some("420102")),
            ("820102", Some("420102")),
            ("83c241ffe0f6", Some("43ff0000")),
            ("81190100", None),
            ("8120", None),
            ("c2420102", Some("420102")),
            ("c3420102", Some("420102")),
            ("f6", Some("f6")),
            ("6161", None),
            ("a0", None),
        ] {
            assert_eq!(hash(item).as_deref(), read, "{item}");
        }
    }

    #[test]
    fn keys_match_in_any_case_and_stand_there_once() {
        let id = "675455524e5f4944"; // "TURN_ID"
        assert_eq!(turn_started(&format!("a1{id}6161")).unwrap(), "a1677475726e5f69646161");
        assert_eq!(turn_started(&format!("a2{id}6161677475726e5f69646162")), None);
        assert_eq!(turn_started("a201000102"), None, "an unknown key twice");
        assert_eq!(turn_started("a21bffffffffffffffff002001"), None, "both are -1 to the library");
        assert_eq!(turn_started("a1410000"), None, "a byte string as key");
        assert_eq!(turn_started("a161ff00"), None, "a key that is not UTF-8");
        assert_eq!(turn_started("a13b800000000000000000"), None, "a key below any int64");
        assert_eq!(
            turn_started("a161786 1ff".replace(' ', "").as_str()),
            Some("a0".into()),
            "unknown values are skipped"
        );
    }

    #[test]
    fn null_is_an_empty_map_and_nothing_else_is() {
        assert_eq!(turn_started("f6").as_deref(), Some("a0"));
        assert_eq!(turn_started("c5f7").as_deref(), Some("a0"));
        for hex in ["", "80", "01", "60", "f5", "e0", "c24101", "a000", "bfff", "a1"] {
            assert_eq!(turn_started(hex), None, "{hex}");
        }
    }
}
