//! What kind of file is this? Told by its content, never by its name.

use super::Format;

/// What the first bytes of a file say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing in it.
    Empty,
    /// A SQLite database: an R1 store or a Starling log, which only its tables can tell.
    Sqlite,
    /// A log in an exchange format. NDJSON may be Starling's; its lines tell.
    Log(Format),
    /// None of these.
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
        // [header, payload]; a v1 envelope, or a record beside a log; CBOR's self-description tag.
        [0x82, 0xa0..=0xbf, ..] | [0xa1..=0xb7, 0x60..=0x77, ..] | [0xd9, 0xd9, 0xf7, ..] => {
            FileKind::Log(Format::Cborseq)
        }
        _ => match start.trim_ascii_start() {
            [b'{', rest @ ..] if json_follows(rest, b'"') => FileKind::Log(Format::Ndjson),
            [b'[', rest @ ..] if json_follows(rest, b'{') || json_follows(rest, b']') => FileKind::Log(Format::Json),
            _ => FileKind::Unknown,
        },
    }
}

/// Whether the next thing after white space is `expected`, as far as can be seen.
fn json_follows(rest: &[u8], expected: u8) -> bool {
    rest.trim_ascii_start().first().is_none_or(|next| *next == expected)
}
