//! What must hold for every input, however hostile: one function per fuzz target.
//!
//! Each takes any bytes, and panics if a promise is broken. The targets in `fuzz_targets/` feed them to
//! libFuzzer; the event crate's tests feed them random and damaged inputs on a stable compiler.

use std::hint::black_box;

use bytes::Bytes;
use r1_event::cbor::scan::Problem;
use r1_event::cbor::{Rules, Value, check};
use r1_event::exchange::{
    Decoder, Encoder, ExchangeError, Format, Item, diagnostic, readable_payload, readable_value, sniff,
};
use r1_event::merkle::proof::{ProofBuilder, verify_consistency, verify_inclusion};
use r1_event::merkle::{Blake3, Frontier, TreeHash};
use r1_event::v1::Envelope;
use r1_event::validate::{Options, Validator};
use r1_event::{Batch, Chain, Digest, Header, Kind, Payload, Record, RunId, SideRecord, Version, v1};

/// A target: its name, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target there is.
pub const TARGETS: &[Target] = &[
    ("cbor", cbor),
    ("header", header),
    ("payload", payload),
    ("side_record", side_record),
    ("snapshot", snapshot),
    ("proof", proof),
    ("log", log),
    ("exchange", exchange),
    ("starling", starling),
];

/// The CBOR reader: what it takes for canonical is what the writer writes, and nothing else is.
pub fn cbor(data: &[u8]) {
    let canonical = check(data, Rules::CANONICAL);
    let readable = check(data, Rules::READABLE);
    let well_formed = check(data, Rules::WELL_FORMED);
    assert!(canonical.is_err() || readable.is_ok(), "canonical bytes that are not readable");
    assert!(readable.is_err() || well_formed.is_ok(), "readable bytes that are not well-formed");
    assert!(check(data, Rules::WRITABLE).is_err() || well_formed.is_ok(), "writable bytes that are not well-formed");
    if let Err(malformed) = canonical {
        assert!(malformed.offset <= data.len(), "the problem lies outside of the input");
    }
    let Ok(value) = Value::decode(data, Rules::READABLE) else {
        assert!(canonical.is_err(), "canonical bytes without a value");
        return;
    };
    let written = value.encode();
    match check(&written, Rules::CANONICAL) {
        Ok(()) => assert_eq!(canonical.is_ok(), written == data, "one value, one byte string"),
        // A map with the same key twice is readable, but there is no canonical form of it.
        Err(malformed) => assert_eq!(malformed.problem, Problem::KeyOrder),
    }
}

/// Header readers of both formats: what they read, they write again.
pub fn header(data: &[u8]) {
    if let Ok(header) = Header::decode(data) {
        assert_eq!(header.encode(), data);
        assert_eq!(check(data, Rules::CANONICAL), Ok(()));
    }
    if let Some(header) = v1::Header::decode(data) {
        assert_eq!(header.encode(), data);
        assert_eq!(check(&v1::splice(data, None), Rules::CANONICAL), Ok(()));
    }
}

/// The payload reader of each kind (the first byte): reading and writing settles at once.
pub fn payload(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    let kind = Kind::from_number(u64::from(*kind));
    let Ok(payload) = Payload::decode(kind, &bytes.to_vec().into()) else { return };
    assert_eq!(payload.kind(), kind);
    if matches!(kind, Kind::Other(_)) {
        assert_eq!(payload.encode(), bytes, "an unknown kind's payload is kept as it is");
    } else if check(bytes, Rules::CANONICAL).is_ok() {
        // Absent keys may be written with their defaults, so the bytes can differ once, but not twice.
        let written = payload.encode();
        assert_eq!(check(&written, Rules::CANONICAL), Ok(()), "not canonical: {payload:?}");
        let again = Payload::decode(kind, &written).expect("what was written can be read");
        assert_eq!(again.encode(), written);
    }
}

/// The reader of side records: understood or not, each is kept byte for byte.
pub fn side_record(data: &[u8]) {
    if let Ok(record) = SideRecord::decode(data) {
        assert_eq!(record.encode(), data);
    }
}

/// Snapshots of a chain: one that is taken can be taken again, and gives a chain that can be used.
pub fn snapshot(data: &[u8]) {
    if let Ok(chain) = Chain::from_snapshot(run_id(), data) {
        let restored = Chain::from_snapshot(run_id(), &chain.snapshot()).expect("our own snapshot");
        assert_eq!(restored, chain);
        assert_eq!(restored.statement(), chain.statement());
    }
}

/// The proof checker: over a real tree it accepts the one true proof of the one true claim.
///
/// Input: size of the tree, index, older size, then the hashes of the alleged proof.
pub fn proof(data: &[u8]) {
    let [size, index, older, hashes @ ..] = data else { return };
    let (size, index, older) = (u64::from(*size % 64) + 1, u64::from(*index), u64::from(*older));
    let alleged: Vec<Digest> = hashes.chunks_exact(32).filter_map(Digest::from_slice).collect();

    let leaves: Vec<Digest> = (0..size).map(|n| Blake3::leaf(&n.to_be_bytes())).collect();
    let root = root_of(&leaves);
    let claimed = leaves[(index % size) as usize];
    if verify_inclusion::<Blake3>(claimed, index, size, &alleged, &root) {
        assert_eq!(Some(alleged.clone()), prove(ProofBuilder::inclusion(index, size).ok(), &leaves));
    }
    let older_root = root_of(&leaves[..(older % (size + 1)) as usize]);
    if verify_consistency::<Blake3>(older, &older_root, size, &root, &alleged) {
        assert_eq!(Some(alleged), prove(ProofBuilder::consistency(older, size).ok(), &leaves));
    }
}

/// Writer and validator on a log of arbitrary records: they agree, and neither gives up on bad input.
///
/// Input: a CBOR sequence of events as in an export of either format, and of side records.
pub fn log(data: &[u8]) {
    let (records, side_records) = split_log(data);
    let mut validator = Validator::new(Options { side_records, ..Options::default() });
    records.iter().for_each(|record| validator.push(record));
    let verdict = validator.finish();
    assert!(verdict.findings.is_sorted_by_key(|finding| finding.seq.unwrap_or(u64::MAX)), "{:?}", verdict.findings);

    for version in [Version::V1, Version::V2] {
        let mut batch = Batch::new(&Chain::empty(run_id(), version));
        let adopted = records.iter().take_while(|record| batch.adopt((*record).clone()).is_ok()).count();
        assert_eq!(batch.records().len(), adopted);
        assert_eq!(batch.after().size(), adopted as u64);
    }
}

/// The reader of log files: how a file is cut into pieces does not show, and what was read goes out in
/// every format and comes back.
///
/// Input: size of the pieces, then the file.
pub fn exchange(data: &[u8]) {
    let Some((piece, file)) = data.split_first() else { return };
    black_box(sniff(file));
    for format in FORMATS {
        let whole = read(format, std::iter::once(file));
        let in_pieces = read(format, file.chunks(usize::from(*piece).max(1)));
        assert_eq!(whole.end, in_pieces.end, "another end when read in pieces of {piece}");
        for other in FORMATS {
            // As bytes, because NaN differs from itself.
            let written = write(other, &whole.items);
            assert_eq!(written, write(other, &in_pieces.items));
            // A damaged header is kept in the format it came in; only a sound one fits into all.
            if other == format || whole.items.iter().all(is_sound) {
                let again = read(other, std::iter::once(&written[..]));
                assert_eq!(again.end, Ok(()), "{format} as {other} cannot be read");
                assert_eq!(write(other, &again.items), written, "{format} as {other} is not lossless");
            }
        }
        whole.items.iter().for_each(show);
    }
}

fn is_sound(item: &Item) -> bool {
    match item {
        Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record) => {
            record.header().is_ok() || v1::Header::decode(&record.header).is_some()
        }
        Item::Side(_) => true,
    }
}

/// Everything that makes text of what was read.
fn show(item: &Item) {
    match item {
        Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record) => {
            let kind = record.header().map_or(Kind::Typed, |header| header.kind);
            black_box(readable_payload(kind, record.payload.as_deref().unwrap_or_default()));
        }
        Item::Side(record) => {
            if let Ok(value) = Value::decode(&record.encode(), Rules::READABLE) {
                black_box((readable_value(&value), diagnostic(&value)));
            }
        }
    }
}

/// The lenient reader of Starling's events: it knows which bytes are Starling's own, and settles at once.
/// Its validator takes whatever was read.
pub fn starling(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    for rules in [Rules::READABLE, Rules::WRITABLE] {
        if let Ok(Envelope { record, canonical }) = Envelope::decode(&bytes, rules) {
            let written = v1::splice(&record.header, record.payload.as_deref());
            assert_eq!(canonical, written == data, "canonical or not");
            let again = Envelope::decode(&written.into(), Rules::WRITABLE).expect("what was written can be read");
            assert_eq!(again, Envelope { record, canonical: true });
        }
        let (mut validator, mut findings) = (v1::Validator::default(), Vec::new());
        for envelope in Envelope::sequence(bytes.clone(), rules).map_while(Result::ok) {
            validator.check(&envelope.record, &mut findings).expect("what was read as v1 is v1");
        }
        black_box(validator.finish(&mut findings));
    }
}

const FORMATS: [Format; 3] = [Format::Cborseq, Format::Ndjson, Format::Json];

/// What a file held, and how it ended.
struct Contents {
    items: Vec<Item>,
    end: Result<(), ExchangeError>,
}

/// The items of a file as far as they can be read.
fn read<'a>(format: Format, pieces: impl Iterator<Item = &'a [u8]>) -> Contents {
    let (mut decoder, mut items) = (Decoder::new(format), Vec::new());
    for piece in pieces.map(Some).chain([None]) {
        match piece {
            Some(bytes) => decoder.push(bytes),
            None => decoder.end(),
        }
        loop {
            match decoder.next_item() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(err) => return Contents { items, end: Err(err) },
            }
        }
    }
    Contents { items, end: Ok(()) }
}

/// The same items in another format.
pub fn convert(file: &[u8], from: Format, to: Format) -> Vec<u8> {
    write(to, &read(from, std::iter::once(file)).items)
}

/// The file that holds these items.
fn write(format: Format, items: &[Item]) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::new(format), Vec::new());
    items.iter().for_each(|item| encoder.item(item, &mut out));
    encoder.finish(&mut out);
    out
}

/// Takes items off the front as long as there are any.
fn split_log(data: &[u8]) -> (Vec<Record>, Vec<SideRecord>) {
    let (mut records, mut side_records, mut rest) = (Vec::new(), Vec::new(), data);
    while let Ok(end) = r1_event::cbor::scan::item_end(rest, Rules::READABLE) {
        let (item, behind) = rest.split_at(end);
        rest = behind;
        if item.first() == Some(&0x82) {
            records.extend(split_event(&item[1..]));
            continue;
        }
        // Starling's reader takes any map for an event, so a record is looked for first.
        match SideRecord::decode(item) {
            Ok(record) if !record.name().is_empty() => side_records.push(record),
            _ => {
                let envelope = Envelope::decode(&Bytes::copy_from_slice(item), Rules::READABLE);
                records.extend(envelope.map(|envelope| envelope.record));
            }
        }
    }
    (records, side_records)
}

fn split_event(pair: &[u8]) -> Option<Record> {
    let end = r1_event::cbor::scan::item_end(pair, Rules::READABLE).ok()?;
    let payload = match Value::decode(&pair[end..], Rules::READABLE).ok()? {
        Value::Bytes(bytes) => Some(bytes.into()),
        _ => None,
    };
    Some(Record { header: pair[..end].to_vec().into(), payload })
}

fn run_id() -> RunId {
    "run_01HZX5B2Q8M7C3D4E5F6G7H8J9".parse().expect("a run id")
}

fn root_of(leaves: &[Digest]) -> Digest {
    let mut tree = Frontier::<Blake3>::default();
    leaves.iter().for_each(|leaf| tree.push(*leaf));
    tree.root()
}

fn prove(builder: Option<ProofBuilder<Blake3>>, leaves: &[Digest]) -> Option<Vec<Digest>> {
    let mut builder = builder?;
    leaves.iter().for_each(|leaf| builder.push(*leaf));
    builder.finish()
}
