//! Starling's format, byte for byte.
//!
//! The envelope is one canonical CBOR map whose hash covers the payload. R1 keeps it in two parts (see
//! [`crate::record::Record`]): the envelope without its `payload` key, and the payload; [`splice`]
//! puts them together again.
//!
//! - [`Envelope`] reads events as leniently as Starling does.
//! - [`examine`] and [`Validator`] check a log: Starling's verdict, and what Starling does not see.
//! - [`hashes`] are those that payloads name.

pub mod hashes;
pub mod merkle;

mod envelope;
mod examine;
mod fields;
mod form;
mod header;
mod kind;
mod lenient;
mod pairing;
mod plan;
mod strict;
mod table;
mod totals;
mod validate;

pub use envelope::{Envelope, MalformedEnvelope};
pub use examine::{Examined, NotV1, examine};
pub use header::{Header, splice};
pub use kind::KindName;
pub use validate::{Outcome, Validator};

use crate::cbor::{self, Rules};
use crate::payload::{MAX_PAYLOAD, UnfitPayload};

/// Checks that a payload may be imported: what Starling's writer takes, within limits its reader has.
pub(crate) fn check_payload(bytes: &[u8]) -> Result<(), UnfitPayload> {
    if bytes.len() > MAX_PAYLOAD {
        return Err(UnfitPayload::Oversized { bytes: bytes.len() });
    }
    Ok(cbor::check(bytes, Rules::WRITABLE)?)
}
