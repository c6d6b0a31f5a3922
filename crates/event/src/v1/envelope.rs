//! Whole v1 events as they travel: one CBOR map with the payload inside.

use bytes::Bytes;

use super::fields::Fields;
use super::header::{self, Front, Header};
use super::lenient::{self, Unreadable};
use super::table::Table;
use crate::cbor::{Reader, Rules, scan, write};
use crate::record::Record;

/// A v1 event read from its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The event. Its header is canonical whatever the input was; its payload is kept as it is, and is
    /// `None` where the envelope has none or null.
    pub record: Record,
    /// Whether the input was, byte for byte, what Starling writes for this event.
    pub canonical: bool,
}

impl Envelope {
    /// Reads one envelope, as leniently as Starling does.
    ///
    /// [`Rules::READABLE`] are the limits of Starling's reader. A log may hold events beyond them, which
    /// Starling writes but cannot read: [`Rules::WRITABLE`] takes those too.
    pub fn decode(bytes: &Bytes, rules: Rules) -> Result<Self, MalformedEnvelope> {
        match Self::decode_canonical(bytes, rules) {
            Some(envelope) => Ok(envelope),
            None => Self::decode_leniently(bytes, rules).map_err(MalformedEnvelope),
        }
    }

    /// Reads the events of a CBOR sequence (RFC 8742) one by one; it ends after the first that is malformed.
    pub fn sequence(bytes: Bytes, rules: Rules) -> impl Iterator<Item = Result<Self, MalformedEnvelope>> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let item = match scan::item_end(&rest, Rules { known_tags: false, ..rules }) {
                Ok(end) => rest.split_to(end),
                Err(malformed) => {
                    rest.clear();
                    return Some(Err(MalformedEnvelope(Unreadable::Malformed(malformed))));
                }
            };
            let envelope = Self::decode(&item, rules);
            if envelope.is_err() {
                rest.clear();
            }
            Some(envelope)
        })
    }

    fn decode_canonical(bytes: &Bytes, rules: Rules) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        reader.constant(header::SIX_KEYS)?;
        let front = Front::read(&mut reader)?;
        reader.constant(header::PAYLOAD)?;
        // A tag in front of the payload may be dropped or refused: see the lenient way.
        if reader.peek()? >> 5 == 6 {
            return None;
        }
        let start = reader.position();
        let inside = Rules { known_tags: false, max_depth: rules.max_depth.checked_sub(1)?, ..rules };
        let end = start + scan::item_end(reader.rest(), inside).ok()?;
        reader.take((end - start) as u64)?;
        let header = front.with(header::read_prev_hash(&mut reader)?);
        if !reader.is_at_end() {
            return None;
        }
        let payload = bytes.slice(start..end);
        Some(Self { record: Record { header: header.encode().into(), payload: unless_null(payload) }, canonical: true })
    }

    fn decode_leniently(bytes: &Bytes, rules: Rules) -> Result<Self, Unreadable> {
        let table = Table::envelope();
        let plain: Bytes = lenient::plain(table, bytes, Rules { known_tags: false, ..rules })?.into();
        // The plain form of a map always reads as that map.
        let fields = Fields::read_plain(table, &plain).ok_or(Unreadable::Unfit(lenient::Unfit::NotAMap))?;
        let header = Header {
            run_id: std::str::from_utf8(fields.text("run_id")).unwrap_or_default(),
            seq: fields.uint("seq"),
            prev_hash: fields.bytes("prev_hash"),
            ts: fields.int("ts"),
            kind: u8::try_from(fields.uint("kind")).unwrap_or_default(),
        };
        let header: Bytes = header.encode().into();
        let payload = fields.item("payload").map(Bytes::copy_from_slice);
        let canonical = header::splice(&header, payload.as_deref()) == bytes[..];
        Ok(Self { record: Record { header, payload: payload.and_then(unless_null) }, canonical })
    }
}

fn unless_null(payload: Bytes) -> Option<Bytes> {
    (payload[..] != [write::NULL]).then_some(payload)
}

/// Bytes that are no v1 event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Starling event: {0}")]
pub struct MalformedEnvelope(Unreadable);
