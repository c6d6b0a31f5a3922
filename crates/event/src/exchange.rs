//! Logs as files, without losing a byte.
//!
//! A file is a sequence of [`Item`]s: the events of a run, then what is kept beside its log. An
//! [`Encoder`] writes them one at a time, a [`Decoder`] takes the file's bytes as they come and gives
//! the items back; neither holds more than one item. Three formats carry the same content:
//!
//! - `cborseq`: an RFC 8742 sequence; v2 events as `[header, payload]`, v1 events as their envelope,
//!   side records as maps with the text key `record`;
//! - `ndjson`: the same items as one JSON object per line, bytes in base64, and beside them, if the writer
//!   knows it, what the event says in plain JSON, for people; reading looks at the bytes only;
//! - `json`: one array of those objects.

mod cborseq;
mod decode;
mod json;
mod objects;
mod readable;
mod sniff;

use std::fmt;
use std::str::FromStr;

pub use decode::Decoder;
pub use readable::{diagnostic, readable_payload, readable_value};
pub use sniff::{FileKind, SNIFF_LEN, sniff};

use crate::cbor::Malformed;
use crate::payload::MAX_PAYLOAD;
use crate::record::Record;
use crate::side_record::SideRecord;
use crate::v1::MalformedEnvelope;
use crate::v1::ndjson::ReadLineError;

/// One item of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// An event.
    Event(Record),
    /// A v1 event whose envelope Starling reads, but would not write so: the record holds what it would
    /// write, which is also what the event's hash is over.
    Respelled(Record),
    /// An event of a Starling export, which holds no payload bytes: they were rebuilt from JSON.
    Rebuilt(Record),
    /// A fact beside the log.
    Side(SideRecord),
}

/// How a file holds a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A CBOR sequence.
    Cborseq,
    /// One JSON object per line.
    Ndjson,
    /// One JSON array.
    Json,
}

impl Format {
    /// The largest item a reader gathers.
    ///
    /// Far more than a v2 payload may have: Starling sets no limit, and a log that can be read can be judged. It is
    /// also enough for base64 of such a payload and its text once more, where every character may be escaped.
    pub const MAX_ITEM: usize = 8 * MAX_PAYLOAD;
}

/// What an event says in the words of the event protocol: for people, and not read back.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Its type.
    pub type_name: &'a str,
    /// What it says.
    pub data: &'a serde_json::Map<String, serde_json::Value>,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cborseq => "cborseq",
            Self::Ndjson => "ndjson",
            Self::Json => "json",
        })
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        match text {
            "cborseq" => Ok(Self::Cborseq),
            "ndjson" => Ok(Self::Ndjson),
            "json" => Ok(Self::Json),
            _ => Err(UnknownFormat),
        }
    }
}

/// A text that names no format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the formats are cborseq, ndjson and json")]
pub struct UnknownFormat;

/// Writes items in one format.
#[derive(Clone, Debug)]
pub struct Encoder {
    format: Format,
    items: u64,
}

impl Encoder {
    /// Nothing written yet.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, items: 0 }
    }

    /// Whether the format has room for what events say in plain words.
    #[must_use]
    pub const fn is_for_people(&self) -> bool {
        match self.format {
            Format::Cborseq => false,
            Format::Ndjson | Format::Json => true,
        }
    }

    /// Appends one item.
    pub fn item(&mut self, item: &Item, out: &mut Vec<u8>) {
        self.item_shown(item, None, out);
    }

    /// Appends one item and, where the format has room for it, what the event says.
    pub fn item_shown(&mut self, item: &Item, shown: Option<Shown<'_>>, out: &mut Vec<u8>) {
        match self.format {
            Format::Cborseq => cborseq::write(item, out),
            Format::Ndjson => {
                json::write(item, shown, out);
                out.push(b'\n');
            }
            Format::Json => {
                out.extend_from_slice(if self.items == 0 { b"[\n" } else { b",\n" });
                json::write(item, shown, out);
            }
        }
        self.items += 1;
    }

    /// Appends what closes the file.
    pub fn finish(self, out: &mut Vec<u8>) {
        match (self.format, self.items) {
            (Format::Json, 0) => out.extend_from_slice(b"[]\n"),
            (Format::Json, _) => out.extend_from_slice(b"\n]\n"),
            (Format::Cborseq | Format::Ndjson, _) => {}
        }
    }
}

/// Why a file could not be read further, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {problem}")]
pub struct ExchangeError {
    /// Where the item in question begins, or the byte that is wrong if that can be told.
    pub offset: u64,
    /// What is wrong.
    pub problem: ExchangeProblem,
}

/// What can be wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeProblem {
    /// It ends too early.
    #[error("the file ends inside an item")]
    CutOff,
    /// Something else than an item stands there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What should stand there.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// An item is larger than any that may be in a log.
    #[error("an item of more than {limit} bytes is larger than any event may be")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// A map that is no v1 event.
    #[error("expected a v1 event: {0}")]
    Envelope(MalformedEnvelope),
    /// A line that is none of ours and none that Starling exports.
    #[error("expected an event of R1 or of a Starling export: {0}")]
    Line(ReadLineError),
    /// An object without a single key of any of them.
    #[error("expected an event of R1 or of a Starling export, found an object that has none of their keys")]
    Foreign,
    /// The bytes are no CBOR.
    #[error("{0}")]
    Cbor(Malformed),
    /// The text is no JSON, or a field holds something else than it should.
    #[error("{0}")]
    Json(String),
}

#[cfg(test)]
mod tests;
