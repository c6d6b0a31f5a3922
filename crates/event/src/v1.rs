//! Starling's format, byte for byte.
//!
//! The envelope is one canonical CBOR map whose hash covers the payload. R1 keeps it in two parts (see
//! [`crate::record::Record`]): the envelope without its `payload` key, and the payload; [`splice`]
//! puts them together again.

pub mod merkle;

use crate::cbor::{self, Reader, Rules, write};
use crate::payload::{MAX_PAYLOAD, UnfitPayload};

/// The fields of a v1 envelope but for the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The run.
    pub run_id: &'a str,
    /// Position, from 1 in a sound log.
    pub seq: u64,
    /// `None` is written as null, which hashes differently from an empty byte string.
    pub prev_hash: Option<&'a [u8]>,
    /// Unix nanoseconds.
    pub ts: i64,
    /// What.
    pub kind: u8,
}

const TS: &[u8] = b"\x62ts";
const SEQ: &[u8] = b"\x63seq";
const KIND: &[u8] = b"\x64kind";
const RUN_ID: &[u8] = b"\x66run_id";
const PAYLOAD: &[u8] = b"\x67payload";
const PREV_HASH: &[u8] = b"\x69prev_hash";

impl<'a> Header<'a> {
    /// The canonical bytes: a map of five keys.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self { run_id, seq, prev_hash, ts, kind } = self;
        let mut out = Vec::with_capacity(128);
        write::map(&mut out, 5);
        out.extend_from_slice(TS);
        write::int(&mut out, *ts);
        out.extend_from_slice(SEQ);
        write::uint(&mut out, *seq);
        out.extend_from_slice(KIND);
        write::uint(&mut out, (*kind).into());
        out.extend_from_slice(RUN_ID);
        write::text(&mut out, run_id);
        out.extend_from_slice(PREV_HASH);
        match prev_hash {
            Some(hash) => write::bytes(&mut out, hash),
            None => write::null(&mut out),
        }
        out
    }

    /// Reads what [`Self::encode`] wrote; anything else is `None`.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let literal = |reader: &mut Reader<'a>, expected| reader.literal(expected).then_some(());
        literal(&mut reader, &[0xa5])?;
        literal(&mut reader, TS)?;
        let ts = reader.canonical_int()?;
        literal(&mut reader, SEQ)?;
        let seq = reader.canonical_uint()?;
        literal(&mut reader, KIND)?;
        let kind = reader.canonical_uint()?.try_into().ok()?;
        literal(&mut reader, RUN_ID)?;
        let run_id = reader.canonical_text()?;
        literal(&mut reader, PREV_HASH)?;
        let prev_hash = if reader.literal(&[write::NULL]) { None } else { Some(reader.canonical_bytes()?) };
        reader.is_at_end().then_some(Self { run_id, seq, prev_hash, ts, kind })
    }
}

/// The whole canonical envelope from its two parts; a missing payload is null.
#[must_use]
pub fn splice(header: &[u8], payload: Option<&[u8]>) -> Vec<u8> {
    // `prev_hash` is the last key: everything before it stays in front of the payload.
    let at = payload_offset(header).unwrap_or(header.len());
    let payload = payload.unwrap_or(&[write::NULL]);
    let mut out = Vec::with_capacity(header.len() + PAYLOAD.len() + payload.len());
    out.push(0xa6);
    out.extend_from_slice(header.get(1..at).unwrap_or_default());
    out.extend_from_slice(PAYLOAD);
    out.extend_from_slice(payload);
    out.extend_from_slice(&header[at..]);
    out
}

/// Where the `prev_hash` key stands in the bytes of a [`Header`].
fn payload_offset(header: &[u8]) -> Option<usize> {
    let decoded = Header::decode(header)?;
    let value = match decoded.prev_hash {
        None => 1,
        Some(hash) => {
            let mut encoded = Vec::with_capacity(hash.len() + 9);
            write::bytes(&mut encoded, hash);
            encoded.len()
        }
    };
    Some(header.len() - value - PREV_HASH.len())
}

/// Checks that a payload may be imported: what Starling's writer takes, within limits its reader has.
pub(crate) fn check_payload(bytes: &[u8]) -> Result<(), UnfitPayload> {
    if bytes.len() > MAX_PAYLOAD {
        return Err(UnfitPayload::Oversized { bytes: bytes.len() });
    }
    Ok(cbor::check(bytes, Rules::WRITABLE)?)
}
