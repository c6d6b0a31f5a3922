//! Items as CBOR.

use bytes::Bytes;

use super::{ExchangeProblem, Item};
use crate::cbor::scan::{item_end, visit_map};
use crate::cbor::{Malformed, Reader, Rules, write};
use crate::record::Record;
use crate::side_record::SideRecord;
use crate::v1;

/// One item of nearly any depth: far deeper than Starling writes, and no deeper than memory should be spent on.
const ITEM: Rules = Rules { max_depth: 1 << 20, ..Rules::WELL_FORMED };

/// How every v1 event begins that Starling wrote: six keys, the first of them `ts`.
const V1_START: &[u8] = b"\xa6\x62ts";

/// Appends one item.
pub(super) fn write(item: &Item, out: &mut Vec<u8>) {
    match item {
        Item::Side(record) => out.extend_from_slice(&record.encode()),
        Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record)
            if v1::Header::decode(&record.header).is_some() =>
        {
            out.extend_from_slice(&v1::splice(&record.header, record.payload.as_deref()));
        }
        // A damaged header is not for an exporter to judge: it goes out as it is.
        Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record) => {
            write::array(out, 2);
            out.extend_from_slice(&record.header);
            match &record.payload {
                Some(payload) => write::bytes(out, payload),
                None => write::null(out),
            }
        }
    }
}

/// Where the first item of `bytes` ends; hardly anything is demanded but that it is well-formed.
pub(super) fn end(bytes: &[u8]) -> Result<usize, Malformed> {
    item_end(bytes, ITEM)
}

/// Reads exactly one item.
pub(super) fn read(bytes: &[u8]) -> Result<Item, ExchangeProblem> {
    match bytes {
        [0x80..=0x9f, ..] => read_v2(bytes).map(Item::Event),
        [0xa0..=0xbf, ..] if !bytes.starts_with(V1_START) && stands_beside_a_log(bytes) => {
            SideRecord::decode(bytes).map(Item::Side).map_err(ExchangeProblem::Cbor)
        }
        // A map, also behind tags, and nothing at all, which Starling takes for a map without keys.
        [0xa0..=0xdf | write::NULL | write::UNDEFINED, ..] => read_v1(bytes),
        _ => Err(unexpected("an event or a record beside the log", bytes)),
    }
}

fn read_v2(bytes: &[u8]) -> Result<Record, ExchangeProblem> {
    let wrong = || unexpected("an array of header and payload", bytes);
    let mut reader = Reader::new(bytes);
    if !reader.literal(&[0x82]) {
        return Err(wrong());
    }
    let rest = &bytes[1..];
    if rest.first().is_none_or(|first| first >> 5 != 5) {
        return Err(unexpected("a header, which is a map", rest));
    }
    let (header, rest) = rest.split_at(end(rest).map_err(ExchangeProblem::Cbor)?);
    let mut payload = Reader::new(rest);
    let payload = if payload.literal(&[write::NULL]) {
        None
    } else {
        let content = payload.canonical_bytes().ok_or_else(|| unexpected("a payload, a byte string or null", rest))?;
        Some(Bytes::copy_from_slice(content))
    };
    Ok(Record { header: Bytes::copy_from_slice(header), payload })
}

/// Reads a v1 event as leniently as Starling does. Whether Starling could write it is for a check to say.
fn read_v1(bytes: &[u8]) -> Result<Item, ExchangeProblem> {
    let envelope = v1::Envelope::decode(&Bytes::copy_from_slice(bytes), ITEM);
    let v1::Envelope { record, canonical } = envelope.map_err(ExchangeProblem::Envelope)?;
    Ok(if canonical { Item::Event(record) } else { Item::Respelled(record) })
}

/// Whether the map in `bytes` is no event: it has the key `record`, and none that every event of a sound log
/// has. Starling takes any map for an event, and passes over keys that it does not know.
fn stands_beside_a_log(bytes: &[u8]) -> bool {
    let (mut is_record, mut is_event) = (false, false);
    let walked = visit_map(bytes, ITEM, |key, _| {
        is_record |= key == b"record";
        is_event |= [&b"payload"[..], b"prev_hash"].iter().any(|name| key.eq_ignore_ascii_case(name));
    });
    walked.is_ok() && is_record && !is_event
}

/// Says in CBOR's own words what stands where something else was expected.
fn unexpected(expected: &'static str, found: &[u8]) -> ExchangeProblem {
    let name = match found.first().map(|first| first >> 5) {
        Some(0 | 1) => "an integer",
        Some(2) => "a byte string",
        Some(3) => "a text",
        Some(4) => "an array",
        Some(5) => "a map",
        Some(6) => "a tagged item",
        Some(_) => "a simple value",
        None => "nothing",
    };
    ExchangeProblem::Unexpected { expected, found: name.into() }
}
