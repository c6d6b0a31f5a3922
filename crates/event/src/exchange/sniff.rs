//! What kind of file is this? Its content tells, and where that is damaged its name.

use std::path::Path;

use super::Format;
use crate::cbor::Reader;

/// What the first bytes of a file say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing in it.
    Empty,
    /// A SQLite database: an R1 store or a Starling log, which only its tables can tell.
    Sqlite,
    /// A log in an exchange format. NDJSON may be Starling's; its lines tell.
    Log(Format),
    /// None of these, as far as can be seen: a log may also begin with damage, or with an event in a form
    /// that says too little.
    Unknown,
}

/// How many first bytes are enough to tell.
pub const SNIFF_LEN: usize = 64;

/// Tells a file's kind from its first bytes ([`SNIFF_LEN`] are enough).
#[must_use]
pub fn sniff(start: &[u8]) -> FileKind {
    if start.starts_with(b"SQLite format 3\0") {
        return FileKind::Sqlite;
    }
    match start {
        [] => FileKind::Empty,
        // [header, payload]; CBOR's self-description tag.
        [0x82, 0xa0..=0xbf, ..] | [0xd9, 0xd9, 0xf7, ..] => FileKind::Log(Format::Cborseq),
        _ if begins_a_map(start) => FileKind::Log(Format::Cborseq),
        _ => match start.trim_ascii_start() {
            [b'{', rest @ ..] if json_follows(rest, b'"') => FileKind::Log(Format::Ndjson),
            [b'[', rest @ ..] if json_follows(rest, b'{') || json_follows(rest, b']') => FileKind::Log(Format::Json),
            _ => FileKind::Unknown,
        },
    }
}

impl Format {
    /// The format that a file of this name should have.
    #[must_use]
    pub fn of_name(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "cborseq" => Some(Self::Cborseq),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// A v1 envelope in whatever form, or a record beside a log: a map whose first key is text or an integer.
fn begins_a_map(start: &[u8]) -> bool {
    let mut reader = Reader::new(start);
    let map = reader.head().is_ok_and(|head| head.major == 5 && !head.is_indefinite() && head.argument > 0);
    map && reader.head().is_ok_and(|key| matches!(key.major, 0 | 1 | 3) && !key.is_indefinite())
}

/// Whether the next thing after white space is `expected`, as far as can be seen.
fn json_follows(rest: &[u8], expected: u8) -> bool {
    rest.trim_ascii_start().first().is_none_or(|next| *next == expected)
}
