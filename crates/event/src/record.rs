//! An event as it is kept: header bytes and payload bytes.

use bytes::Bytes;

use crate::hash_many::hash_many;
use crate::header::{Header, MalformedHeader};
use crate::id::Digest;
use crate::merkle::{Blake3, Sha256, TreeHash};
use crate::v1;

/// Which rules a log follows. The first event decides for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Starling's format.
    V1,
    /// R1's own.
    V2,
}

impl Version {
    /// The number in `schema_version`.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// One stored event.
///
/// In a v2 log `header` is the canonical header and `payload` is `None` once erased. In a v1 log,
/// whose hash covers the payload too, `header` is the envelope without its `payload` key, and
/// `payload` is `None` only where a writer gave none (written as null).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Canonical header bytes.
    pub header: Bytes,
    /// Payload bytes.
    pub payload: Option<Bytes>,
}

impl Record {
    /// Which rules the header follows, by its shape; `None` if it is neither's.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match self.header.first() {
            Some(0xa7) => Some(Version::V2),
            Some(0xa5) => Some(Version::V1),
            _ => None,
        }
    }

    /// The fields of a v2 header.
    pub fn header(&self) -> Result<Header<'_>, MalformedHeader> {
        Header::decode(&self.header)
    }

    /// The event hash: of the header alone in v2, of the whole envelope in v1.
    #[must_use]
    pub fn hash(&self) -> Digest {
        match self.version() {
            Some(Version::V1) => Digest::blake3(&v1::splice(&self.header, self.payload.as_deref())),
            Some(Version::V2) | None => Digest::blake3(&self.header),
        }
    }

    /// The hash of each event, several at a time: faster than one by one.
    #[must_use]
    pub fn hashes(records: &[Self]) -> Vec<Digest> {
        if records.iter().any(|record| record.version() == Some(Version::V1)) {
            return records.iter().map(Self::hash).collect();
        }
        let headers: Vec<&[u8]> = records.iter().map(|record| &record.header[..]).collect();
        hash_many(&headers)
    }

    /// The leaf this event is in the log's tree (v1: by its hash; v2: by its header).
    #[must_use]
    pub fn leaf(&self) -> Digest {
        self.leaf_in::<Blake3>()
    }

    /// The leaf this event is in the tree that receipts name beside the log's own.
    #[must_use]
    pub fn leaf_sha256(&self) -> Digest {
        self.leaf_in::<Sha256>()
    }

    /// The leaf of each event, several at a time: faster than one by one.
    #[must_use]
    pub fn leaves<H: TreeHash>(records: &[&Self]) -> Vec<Digest> {
        if records.iter().any(|record| record.version() == Some(Version::V1)) {
            return records.iter().map(|record| record.leaf_in::<H>()).collect();
        }
        let headers: Vec<&[u8]> = records.iter().map(|record| &record.header[..]).collect();
        H::leaves(&headers)
    }

    fn leaf_in<H: TreeHash>(&self) -> Digest {
        match self.version() {
            Some(Version::V1) => H::leaf(self.hash().as_bytes()),
            Some(Version::V2) | None => H::leaf(&self.header),
        }
    }

    /// Whether the payload is the one that the header names: not if it is gone, and not if the header is damaged. Of a
    /// v1 event the chain alone tells.
    #[must_use]
    pub fn has_its_payload(&self) -> bool {
        let (Ok(header), Some(payload)) = (self.header(), &self.payload) else { return false };
        header.payload_size == payload.len() as u64 && header.payload_hash == Digest::blake3(payload)
    }

    /// How many bytes the record keeps in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        self.header.len() + self.payload.as_ref().map_or(0, Bytes::len)
    }
}
