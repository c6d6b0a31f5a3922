//! The envelope of a v1 event without its payload, and how the two come together.

use crate::cbor::{Reader, write};
use crate::hash_many::{MOST_BYTES, hash_many};
use crate::id::Digest;

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

pub(super) const TS: &[u8; 3] = b"\x62ts";
pub(super) const SEQ: &[u8; 4] = b"\x63seq";
pub(super) const KIND: &[u8; 5] = b"\x64kind";
pub(super) const RUN_ID: &[u8; 7] = b"\x66run_id";
pub(super) const PAYLOAD: &[u8; 8] = b"\x67payload";
pub(super) const PREV_HASH: &[u8; 10] = b"\x69prev_hash";
/// Heads of the map with and without `payload`.
pub(super) const SIX_KEYS: &[u8; 1] = &[0xa6];
const FIVE_KEYS: &[u8; 1] = &[0xa5];

impl<'a> Header<'a> {
    /// The canonical bytes: a map of five keys.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self { run_id, seq, prev_hash, ts, kind } = self;
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(FIVE_KEYS);
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
        Self::decode_with_gap(bytes).map(|(header, _)| header)
    }

    /// Also tells where in `bytes` the payload belongs: `prev_hash` is the last key.
    pub(super) fn decode_with_gap(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let mut reader = Reader::new(bytes);
        reader.constant(FIVE_KEYS)?;
        let front = Front::read(&mut reader)?;
        let gap = reader.position();
        let prev_hash = read_prev_hash(&mut reader)?;
        reader.is_at_end().then(|| (front.with(prev_hash), gap))
    }
}

/// The keys before the payload.
pub(super) struct Front<'a> {
    ts: i64,
    seq: u64,
    kind: u8,
    run_id: &'a str,
}

impl<'a> Front<'a> {
    /// Reads the keys before the payload in their canonical form.
    pub(super) fn read(reader: &mut Reader<'a>) -> Option<Self> {
        reader.constant(TS)?;
        let ts = reader.canonical_int()?;
        reader.constant(SEQ)?;
        let seq = reader.canonical_uint()?;
        reader.constant(KIND)?;
        let kind = reader.canonical_uint()?.try_into().ok()?;
        reader.constant(RUN_ID)?;
        let run_id = reader.canonical_text()?;
        Some(Self { ts, seq, kind, run_id })
    }

    pub(super) const fn with(self, prev_hash: Option<&'a [u8]>) -> Header<'a> {
        let Self { ts, seq, kind, run_id } = self;
        Header { run_id, seq, prev_hash, ts, kind }
    }
}

/// Reads the last key in its canonical form.
#[inline]
pub(super) fn read_prev_hash<'a>(reader: &mut Reader<'a>) -> Option<Option<&'a [u8]>> {
    reader.constant(PREV_HASH)?;
    if reader.constant(&[write::NULL]).is_some() { Some(None) } else { reader.canonical_bytes().map(Some) }
}

/// The whole canonical envelope from its two parts; a missing payload is null.
#[must_use]
pub fn splice(header: &[u8], payload: Option<&[u8]>) -> Vec<u8> {
    let gap = Header::decode_with_gap(header).map_or(header.len(), |(_, gap)| gap);
    let mut out = Vec::with_capacity(header.len() + PAYLOAD.len() + payload.map_or(1, <[u8]>::len));
    for part in (Unhashed { header, gap, payload }).parts() {
        out.extend_from_slice(part);
    }
    out
}

/// An event whose hash is asked for.
#[derive(Clone, Copy)]
pub(super) struct Unhashed<'a> {
    pub(super) header: &'a [u8],
    /// Where in the header the payload belongs.
    pub(super) gap: usize,
    pub(super) payload: Option<&'a [u8]>,
}

/// The event hash of each, several at once.
pub(super) fn hash_all(events: &[Unhashed<'_>]) -> Vec<Digest> {
    // Most events are small, and copying them together costs less than hashing in steps.
    let mut envelopes = Vec::new();
    let ends: Vec<usize> = events
        .iter()
        .map(|event| {
            if !event.is_long() {
                event.parts().iter().for_each(|part| envelopes.extend_from_slice(part));
            }
            envelopes.len()
        })
        .collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let inputs: Vec<&[u8]> = starts.zip(&ends).map(|(start, end)| &envelopes[start..*end]).collect();
    let mut hashes = hash_many(&inputs);
    for (hash, event) in hashes.iter_mut().zip(events).filter(|(_, event)| event.is_long()) {
        *hash = hash_in_steps(event.parts());
    }
    hashes
}

fn hash_in_steps(parts: [&[u8]; 5]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    Digest::new(*hasher.finalize().as_bytes())
}

impl<'a> Unhashed<'a> {
    /// Too long to be copied for the sake of hashing it beside others.
    fn is_long(&self) -> bool {
        self.header.len() + self.payload.map_or(0, <[u8]>::len) > MOST_BYTES
    }

    /// What the envelope is put together from.
    fn parts(&self) -> [&'a [u8]; 5] {
        // An empty payload is written like a missing one.
        let payload = self.payload.filter(|bytes| !bytes.is_empty()).unwrap_or(&[write::NULL]);
        let (front, back) = self.header.split_at(self.gap);
        [SIX_KEYS, front.get(1..).unwrap_or_default(), PAYLOAD, payload, back]
    }
}
