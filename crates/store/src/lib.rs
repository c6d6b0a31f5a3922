//! Where R1 keeps its logs.
//!
//! - [`Store`]: the promise, in words; every backend keeps all of it.
//! - [`Lease`]: the right to write to a run; [`Head`]: where its log stands.
//! - [`Document`]: small things beside the logs.
//! - [`Command`]: a message to whoever holds a run's lease.
//! - [`MemoryStore`], [`SqliteStore`]: two that keep it, within a process and in a file.
//! - [`Pages`]: the way through a log as it is; it always gets on.
//! - [`tail()`] and [`tail_feed`]: history, then live, without gap or duplicate.
//! - [`BlobStore`]: content too large for an event.
//!
//! Nothing is acknowledged, published or visible before it is durable.

pub mod blob;
mod clock;
pub mod command;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod document;
pub mod error;
pub mod feed;
pub mod lease;
pub mod memory;
mod page;
pub mod postgres;
mod rules;
pub mod run;
pub mod sqlite;
pub mod store;
mod tail;
pub mod watch;

pub use blob::{BlobContent, BlobInfo, BlobStore};
pub use command::Command;
pub use document::{Document, DocumentChange, DocumentQuery, Expect};
pub use error::{AppendError, BlobError, CommandError, LeaseError, OpenError, StoreError};
pub use feed::{FeedCursor, FeedItem, FeedPage, InvalidCursor};
pub use lease::{Acquired, FencingToken, Lease};
pub use memory::MemoryStore;
pub use page::{LogPage, Pages};
pub use postgres::{PostgresOptions, PostgresStore, PostgresUrl};
use r1_event::{Kind, Record, Seq, UnixNanos, Version, v1};
pub use run::{DamagedRun, Head, Listed, OpenRun, RunFilter, RunPage, RunPosition, RunSummary};
pub use sqlite::{SqliteOptions, SqliteStore};
pub use store::{PageLimit, Renewals, SharedStore, Store, StoreFacts};
pub use tail::{tail, tail_feed};

/// What a store needs to know of a record's header, whichever format it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq: Seq,
    pub(crate) kind: Kind,
    pub(crate) ts: UnixNanos,
}

/// Reads a record's place; `None` if its header is damaged.
pub(crate) fn place(record: &Record) -> Option<Place> {
    match record.version()? {
        Version::V2 => {
            let header = record.header().ok()?;
            Some(Place { seq: header.seq, kind: header.kind, ts: header.ts })
        }
        Version::V1 => {
            let header = v1::Header::decode(&record.header)?;
            let kind = Kind::from_number(header.kind.into());
            Some(Place { seq: Seq::new(header.seq)?, kind, ts: UnixNanos(header.ts) })
        }
    }
}
