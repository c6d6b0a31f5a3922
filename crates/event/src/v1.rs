//! Starling's format, byte for byte.
//!
//! The envelope is one canonical CBOR map whose hash covers the payload. R1 keeps it in two parts (see
//! [`crate::record::Record`]): the envelope without its `payload` key, and the payload; [`splice`]
//! puts them together again.
//!
//! - [`Envelope`] reads events as leniently as Starling does.
//! - [`examine`] and [`Validator`] check a log: Starling's verdict, and what Starling does not see.
//! - [`read_payload`] reads what an event says, as leniently again.
//! - [`json_to_cbor`] and [`payload_to_json`] turn JSON into payload items and back; [`ndjson`] does it
//!   for the lines of `starling export`.
//! - [`hashes`] and [`request`] give the hashes that payloads name.

pub mod hashes;
pub mod merkle;
pub mod ndjson;
pub mod request;

mod cause;
mod envelope;
mod examine;
mod fields;
mod form;
mod header;
mod json_text;
mod kind;
mod lenient;
mod pairing;
mod payload_json;
mod plan;
mod read;
mod strict;
mod table;
mod totals;
mod validate;

pub use envelope::{Envelope, MalformedEnvelope};
pub(crate) use examine::examine_all;
pub use examine::{Examined, NotV1, examine};
pub use header::{Header, splice};
pub use json_text::{JsonTextError, args_from_json, json_to_cbor, result_from_json};
pub use kind::{KindName, Quoted};
pub use payload_json::{PayloadJsonError, payload_to_json};
pub use read::{UnreadablePayload, read_payload};
pub use validate::{Outcome, Validator};

use bytes::Bytes;

use crate::cbor::{self, Rules};
use crate::kind::Kind;
use crate::payload::{MAX_PAYLOAD, UnfitPayload};

/// Checks that a payload may be imported: what Starling's writer takes, within limits its reader has.
pub(crate) fn check_payload(bytes: &[u8]) -> Result<(), UnfitPayload> {
    if bytes.len() > MAX_PAYLOAD {
        return Err(UnfitPayload::Oversized { bytes: bytes.len() });
    }
    Ok(cbor::check(bytes, Rules::WRITABLE)?)
}

/// Checks that a payload is one that Starling writes for `kind` and can read again, and gives the
/// kind's number in the envelope.
pub(crate) fn check_new_payload(kind: Kind, bytes: &Bytes) -> Result<u8, UnfitPayload> {
    if bytes.len() > MAX_PAYLOAD {
        return Err(UnfitPayload::Oversized { bytes: bytes.len() });
    }
    // The envelope is a level of its own.
    cbor::check(bytes, Rules { known_tags: true, max_depth: Rules::MAX_DEPTH - 1, ..Rules::CANONICAL })?;
    let number = u8::try_from(kind.number()).ok();
    let written = number.and_then(table::Table::of).and_then(|table| fields::Fields::read(table, bytes));
    number.filter(|_| written.is_some()).ok_or(UnfitPayload::NotV1 { kind })
}
