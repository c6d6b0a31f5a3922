//! R1's log events.
//!
//! - [`Chain`] and [`Batch`]: where a log stands, and events that continue it.
//! - [`Record`]: an event as it is kept; [`Header`] and [`Payload`] are its two halves.
//! - [`merkle`]: the tree over a log and its proofs; [`seal`]: signatures over it.
//! - [`exchange`]: logs as files.
//! - [`v1`]: Starling's format, byte for byte.
//!
//! Pure: no I/O, no clock, no async. What it does not know (kinds, types, keys) it keeps as it is.

pub mod cbor;
pub mod chain;
pub mod exchange;
pub mod finding;
mod hash_many;
pub mod header;
pub mod id;
pub mod key;
pub mod kind;
pub mod merkle;
pub mod payload;
pub mod projection;
pub mod record;
pub mod seal;
pub mod side_record;
pub mod v1;
pub mod validate;

pub use chain::{Batch, Chain, ChainError, Note, Origin, Position};
pub use finding::{Finding, Verdict};
pub use header::Header;
pub use id::{Digest, RunId, Seq, UnixNanos};
pub use key::KeyId;
pub use kind::Kind;
pub use payload::Payload;
pub use record::{Record, Version};
pub use seal::{Seal, Statement};
pub use side_record::SideRecord;
