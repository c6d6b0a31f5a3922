//! What a v1 event says, as a [`Payload`].

use bytes::Bytes;

use super::lenient;
use super::table::Table;
use crate::cbor::Rules;
use crate::kind::Kind;
use crate::payload::Payload;

/// Reads the payload of a v1 event as leniently as Starling does, and beyond the limits of its reader: a
/// log may hold events that Starling wrote and cannot read.
///
/// Keys that Starling does not know are left out, as it leaves them out. A kind that it has no payload
/// for is [`Payload::Other`].
pub fn read_payload(kind: u8, payload: Option<&Bytes>) -> Result<Payload, UnreadablePayload> {
    let bytes = payload.cloned().unwrap_or_default();
    let Some(table) = Table::of(kind) else { return Ok(Payload::Other(kind.into(), bytes)) };
    let unreadable = |why: &dyn std::fmt::Display| UnreadablePayload { why: why.to_string() };
    let plain = lenient::plain(table, &bytes, Rules::WELL_FORMED).map_err(|why| unreadable(&why))?;
    Payload::decode_well_formed(Kind::from_number(kind.into()), &plain.into()).map_err(|why| unreadable(&why))
}

/// A payload that Starling cannot read either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload cannot be read: {why}")]
pub struct UnreadablePayload {
    why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_read_in_whatever_form_and_depth_starling_wrote_it() {
        let deep = [vec![0x81; 60], vec![0x80]].concat();
        // Keys out of order, and one that nobody knows.
        let bytes = [&b"\xa4\x67call_id\x61c\x61x\x01\x67attempt\x18\x02\x66result"[..], &deep].concat();
        let Payload::ToolCallCompleted(read) = read_payload(7, Some(&bytes.into())).unwrap() else {
            panic!("another kind");
        };
        assert_eq!((read.call_id.as_str(), read.attempt, &read.result.bytes()[..]), ("c", 2, &deep[..]));
    }

    #[test]
    fn what_starling_does_not_know_stays_as_it_is_and_what_it_cannot_read_is_refused() {
        let opaque = Bytes::from_static(b"\x01");
        assert_eq!(read_payload(16, Some(&opaque)).unwrap(), Payload::Other(16, opaque.clone()));
        assert!(read_payload(2, Some(&opaque)).is_err());
        assert!(read_payload(2, None).is_err());
    }
}
