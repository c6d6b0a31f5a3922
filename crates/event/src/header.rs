//! The v2 header: all that an event hash covers.

use crate::cbor::{Reader, write};
use crate::id::{Digest, Seq, UnixNanos};
use crate::kind::Kind;

/// The fields of a v2 header. Its canonical bytes are what the chain and the tree commit to; the
/// payload is bound by `payload_hash`, so it can be erased without breaking a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The run, as text.
    pub run_id: &'a str,
    /// Position in the run.
    pub seq: Seq,
    /// Hash of the event before; `None` for the first.
    pub prev_hash: Option<Digest>,
    /// When, in unix nanoseconds.
    pub ts: UnixNanos,
    /// What.
    pub kind: Kind,
    /// BLAKE3 of the payload bytes.
    pub payload_hash: Digest,
    /// Length of the payload bytes.
    pub payload_size: u64,
}

/// Keys with their CBOR heads, in canonical order.
mod key {
    pub(super) const MAP: &[u8; 1] = &[0xa7];
    pub(super) const TS: &[u8; 3] = b"\x62ts";
    pub(super) const SEQ: &[u8; 4] = b"\x63seq";
    pub(super) const KIND: &[u8; 5] = b"\x64kind";
    pub(super) const RUN_ID: &[u8; 7] = b"\x66run_id";
    pub(super) const PREV_HASH: &[u8; 10] = b"\x69prev_hash";
    pub(super) const PAYLOAD_HASH: &[u8; 13] = b"\x6cpayload_hash";
    pub(super) const PAYLOAD_SIZE: &[u8; 13] = b"\x6cpayload_size";
}

impl<'a> Header<'a> {
    /// The canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Exactly as many bytes as needed: shared buffers with room to spare cost a second allocation.
        let mut out = Vec::with_capacity(self.encoded_len());
        self.write(&mut out);
        out
    }

    fn encoded_len(&self) -> usize {
        let keys = 1 + 3 + 4 + 5 + 7 + 10 + 13 + 13;
        let ts = if self.ts.0 < 0 { !self.ts.0 } else { self.ts.0 };
        let numbers = [ts.cast_unsigned(), self.seq.get(), self.kind.number(), self.payload_size];
        let numbers: usize = numbers.into_iter().map(write::head_len).sum();
        let run_id = write::head_len(self.run_id.len() as u64) + self.run_id.len();
        let prev_hash = if self.prev_hash.is_some() { 34 } else { 1 };
        keys + numbers + run_id + prev_hash + 34
    }

    /// Appends the canonical bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Self { run_id, seq, prev_hash, ts, kind, payload_hash, payload_size } = self;
        out.extend_from_slice(key::MAP);
        out.extend_from_slice(key::TS);
        write::int(out, ts.0);
        out.extend_from_slice(key::SEQ);
        write::uint(out, seq.get());
        out.extend_from_slice(key::KIND);
        write::uint(out, kind.number());
        out.extend_from_slice(key::RUN_ID);
        write::text(out, run_id);
        out.extend_from_slice(key::PREV_HASH);
        match prev_hash {
            Some(hash) => write::digest(out, hash),
            None => write::bytes(out, &[]),
        }
        out.extend_from_slice(key::PAYLOAD_HASH);
        write::digest(out, payload_hash);
        out.extend_from_slice(key::PAYLOAD_SIZE);
        write::uint(out, *payload_size);
    }

    /// Reads a header; anything but its canonical bytes is refused, so bytes and fields say the same.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, MalformedHeader> {
        Self::decode_of("", bytes)
    }

    /// [`Self::decode`], faster for a header of the run `expected`.
    pub(crate) fn decode_of(expected: &'a str, bytes: &'a [u8]) -> Result<Self, MalformedHeader> {
        let mut reader = Reader::new(bytes);
        let header = Self::read(expected, &mut reader).ok_or(MalformedHeader { offset: reader.position() })?;
        if reader.is_at_end() { Ok(header) } else { Err(MalformedHeader { offset: reader.position() }) }
    }

    fn read(expected: &'a str, reader: &mut Reader<'a>) -> Option<Self> {
        reader.constant(key::MAP)?;
        reader.constant(key::TS)?;
        let ts = UnixNanos(reader.canonical_int()?);
        reader.constant(key::SEQ)?;
        let seq = Seq::new(reader.canonical_uint()?)?;
        reader.constant(key::KIND)?;
        let kind = Kind::from_number(reader.canonical_uint()?);
        reader.constant(key::RUN_ID)?;
        let run_id = reader.canonical_text_like(expected)?;
        reader.constant(key::PREV_HASH)?;
        let prev_hash = match reader.canonical_bytes()? {
            [] => None,
            hash => Some(Digest::from_slice(hash)?),
        };
        reader.constant(key::PAYLOAD_HASH)?;
        let payload_hash = Digest::from_slice(reader.canonical_bytes()?)?;
        reader.constant(key::PAYLOAD_SIZE)?;
        let payload_size = reader.canonical_uint()?;
        Some(Self { run_id, seq, prev_hash, ts, kind, payload_hash, payload_size })
    }
}

/// Bytes that are not the canonical form of a v2 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a canonical v2 header: unexpected content before byte {offset}")]
pub struct MalformedHeader {
    /// How far reading came.
    pub offset: usize,
}
