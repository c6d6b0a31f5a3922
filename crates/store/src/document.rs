//! Small things beside the logs: what was computed from them, answers already given, tokens.
//!
//! Documents are no second truth. Whatever tells what happened is in a log; a collection that was computed
//! from logs can be dropped and made again.

mod effect;

use bytes::Bytes;
pub(crate) use effect::Effect;
use r1_event::UnixNanos;

/// How many documents that are to be forgotten one change removes at most.
pub(crate) const MOST_FORGOTTEN: usize = 100;

/// One document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its name in the collection. Like facets no place for text that may have to be erased one day.
    pub key: String,
    /// Its place in listings: the highest first, those of the same rank by descending key.
    pub rank: u64,
    /// What it can be found by: pairs of name and value. Kept in order, each pair once.
    pub facets: Vec<(String, String)>,
    /// What it says; the store does not look at it.
    pub body: Bytes,
    /// When it may be forgotten, by the store's clock; from then on nobody sees it.
    pub expires_at: Option<UnixNanos>,
    /// How often it was written, from 1. What a writer gives here is ignored.
    pub revision: u64,
}

impl Document {
    /// How many bytes the name of a collection, a key, or a facet's name and value together may have.
    pub const MAX_KEY: usize = 512;
    /// How many facets there may be.
    pub const MAX_FACETS: usize = 64;
    /// How many bytes a body may have.
    pub const MAX_BODY: usize = 4 << 20;

    /// A document that is found by its key alone.
    pub fn new(key: impl Into<String>, body: impl Into<Bytes>) -> Self {
        let (key, body) = (key.into(), body.into());
        Self { key, rank: 0, facets: Vec::new(), body, expires_at: None, revision: 0 }
    }

    /// Whether it is not to be forgotten yet.
    pub(crate) fn is_kept_at(&self, now: UnixNanos) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

/// One step of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentChange {
    /// Writes a document whole.
    Put {
        /// Where.
        collection: String,
        /// What.
        document: Document,
        /// As what it must be there, or the whole change is refused.
        expect: Expect,
    },
    /// Removes a document; one that is not there is no error.
    Remove {
        /// Where.
        collection: String,
        /// Which.
        key: String,
    },
    /// Removes every document of a collection.
    Clear {
        /// Which.
        collection: String,
    },
}

/// How a document must be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// In any way.
    Anything,
    /// Not at all (or forgotten by now).
    Absent,
    /// With this revision.
    Revision(u64),
}

impl Expect {
    /// Whether a document with this revision, or none, is as expected.
    pub(crate) fn admits(self, found: Option<u64>) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => found.is_none(),
            Self::Revision(revision) => found == Some(revision),
        }
    }
}

/// Which documents to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentQuery {
    /// All of these must be among its facets.
    pub facets: Vec<(String, String)>,
    /// Go on behind this rank and key.
    pub after: Option<(u64, String)>,
    /// At most so many; 0 stands for 100.
    pub limit: usize,
}

impl DocumentQuery {
    /// How many to return.
    pub(crate) const fn most(&self) -> usize {
        if self.limit == 0 { 100 } else { self.limit }
    }
}
