use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ed25519_dalek::SigningKey;
use proptest::prelude::*;

use super::*;
use crate::chain::{Batch, Chain};
use crate::id::{RunId, UnixNanos};
use crate::payload::{Payload, RunCompleted, RunStarted, Typed, UserMessageAppended};
use crate::{cbor, v1};

const FORMATS: [Format; 3] = [Format::Cborseq, Format::Ndjson, Format::Json];

fn run_id() -> RunId {
    "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap()
}

fn v2_items(texts: &[String]) -> Vec<Item> {
    let mut batch = Batch::new(&Chain::new(run_id()));
    batch.push(UnixNanos(1), Payload::RunStarted(Box::default())).unwrap();
    for text in texts {
        let body = UserMessageAppended { content: text.clone(), ..Default::default() };
        batch.push(UnixNanos(2), Payload::UserMessageAppended(body)).unwrap();
    }
    batch.push(UnixNanos(3), Payload::RunCompleted(RunCompleted::default())).unwrap();
    let seal = batch.after().statement().unwrap().sign(&SigningKey::from_bytes(&[7; 32]));
    let events = batch.records().iter().cloned().map(Item::Event);
    let unknown = cbor::Value::object([("n", cbor::Value::Uint(4)), ("record", cbor::Value::text("notary"))]);
    let beside = [SideRecord::Seal(seal.clone()), SideRecord::Checkpoint(seal), SideRecord::Other(unknown)];
    events.chain(beside.into_iter().map(Item::Side)).collect()
}

fn v1_items() -> Vec<Item> {
    let header = v1::Header { run_id: "01K0", seq: 1, prev_hash: None, ts: -5, kind: 1 };
    let payload = Some(Bytes::from_static(b"\xa1\x61b\x18\x01"));
    let first = Record { header: header.encode().into(), payload };
    let header = v1::Header { seq: 2, prev_hash: Some(&[9; 32]), kind: 2, ..header };
    let second = Record { header: header.encode().into(), payload: None };
    vec![Item::Event(first), Item::Event(second)]
}

fn encode(format: Format, items: &[Item]) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::new(format), Vec::new());
    items.iter().for_each(|item| encoder.item(item, &mut out));
    encoder.finish(&mut out);
    out
}

fn decode(format: Format, bytes: &[u8], piece: usize) -> Result<Vec<Item>, ExchangeError> {
    let (mut decoder, mut items) = (Decoder::new(format), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        decoder.push(piece);
        while let Some(item) = decoder.next_item()? {
            items.push(item);
        }
    }
    decoder.end();
    while let Some(item) = decoder.next_item()? {
        items.push(item);
    }
    Ok(items)
}

proptest! {
    #[test]
    fn log_18_every_format_gives_back_the_same_items_in_pieces_of_any_size(
        texts in prop::collection::vec(any::<String>(), 0..4),
        piece in 1_usize..200,
    ) {
        for items in [v2_items(&texts), v1_items(), Vec::new()] {
            for format in FORMATS {
                let file = encode(format, &items);
                prop_assert_eq!(decode(format, &file, piece).unwrap(), items.clone(), "{}", format);
            }
        }
    }

    #[test]
    fn log_19_no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1_usize..50) {
        for format in FORMATS {
            let _ = decode(format, &bytes, piece);
        }
    }
}

#[test]
fn an_erased_payload_stays_erased() {
    let Item::Event(record) = v2_items(&[]).remove(0) else { panic!("an event") };
    let items = vec![Item::Event(Record { payload: None, ..record })];
    for format in FORMATS {
        assert_eq!(decode(format, &encode(format, &items), 7).unwrap(), items);
    }
}

#[test]
fn a_file_that_ends_inside_an_item_says_where_that_item_begins() {
    for format in FORMATS {
        let file = encode(format, &v2_items(&[]));
        let first = encode(format, &v2_items(&[])[..1]).len() as u64;
        let err = decode(format, &file[..file.len() - 9], 64).unwrap_err();
        assert_eq!(err.problem, ExchangeProblem::CutOff, "{format}");
        assert!(err.offset > first, "{format}: {err}");
    }
}

#[test]
fn what_is_no_item_is_named_with_its_place() {
    let message = |format, bytes: &[u8]| decode(format, bytes, 9).unwrap_err().to_string();
    assert_eq!(
        message(Format::Cborseq, b"\x01"),
        "at byte 0: expected an event or a record beside the log, found an integer"
    );
    assert_eq!(
        message(Format::Cborseq, b"\x82\xa0\x01"),
        "at byte 0: expected a payload, a byte string or null, found an integer"
    );
    assert_eq!(message(Format::Cborseq, b"\x9f"), "at byte 0: an item of indefinite length is not allowed at byte 0");
    assert!(message(Format::Ndjson, b"{\"a\":1}").contains("found an object that has none of their keys"));
    assert!(
        message(Format::Ndjson, b"{\"seq\":1}").contains("expected an event of R1 or of a Starling export: `kind`")
    );
    assert_eq!(message(Format::Ndjson, b"\nx"), "at byte 1: expected `{`, found `x`");
    assert_eq!(message(Format::Json, b"[ ] {"), "at byte 4: expected nothing after the closing `]`, found `{`");
    assert!(message(Format::Ndjson, b"{\"header\":\"!\",\"payload\":null}").contains("`header` is not base64"));
}

#[test]
fn an_item_larger_than_any_event_is_refused_without_being_gathered() {
    let mut decoder = Decoder::new(Format::Cborseq);
    decoder.push(b"\x82\xa0\x5b\x00\x00\x00\xff\xff\xff\xff\xff");
    let piece = vec![0; 1 << 20];
    let refused = (0..=Format::MAX_ITEM >> 20).find_map(|_| {
        decoder.push(&piece);
        decoder.next_item().err()
    });
    assert!(matches!(refused.unwrap().problem, ExchangeProblem::TooLarge { .. }));
}

#[test]
fn log_18_an_event_that_is_too_large_for_a_store_comes_back_from_every_format() {
    let header = v1::Header { run_id: "01K0", seq: 1, prev_hash: None, ts: 5, kind: 2 };
    let mut payload = b"\xa1\x67content".to_vec();
    cbor::write::text(&mut payload, &"x".repeat(20 << 20));
    let items = [Item::Event(Record { header: header.encode().into(), payload: Some(payload.into()) })];
    for format in FORMATS {
        let bytes = encode(format, &items);
        assert!(decode(format, &bytes, 1 << 20).unwrap() == items, "{format}");
    }
}

#[test]
fn log_18_what_an_event_says_is_left_out_where_it_would_be_too_much() {
    let items = v2_items(&[]);
    let text = serde_json::Value::from("x".repeat(Format::MAX_ITEM));
    let data = serde_json::Map::from_iter([("content".to_owned(), text)]);
    for shown in [None, Some(Shown { type_name: "user.message", data: &data })] {
        let (mut encoder, mut out) = (Encoder::new(Format::Ndjson), Vec::new());
        encoder.item_shown(&items[0], shown, &mut out);
        assert_eq!(decode(Format::Ndjson, &out, out.len()).unwrap(), items[..1]);
    }
}

#[test]
fn the_kind_of_a_file_is_told_by_its_first_bytes() {
    let start = |format| sniff(&encode(format, &v2_items(&[])));
    for format in FORMATS {
        assert_eq!(start(format), FileKind::Log(format));
    }
    assert_eq!(sniff(&encode(Format::Cborseq, &v1_items())), FileKind::Log(Format::Cborseq));
    assert_eq!(sniff(b"SQLite format 3\0..."), FileKind::Sqlite);
    assert_eq!(sniff(b""), FileKind::Empty);
    for foreign in [&b"\x7fELF"[..], b"PK\x03\x04", b"hello", b"\x89PNG", b"%PDF-1.7", b"\x00", "\u{e4}h".as_bytes()] {
        assert_eq!(sniff(foreign), FileKind::Unknown, "{foreign:?}");
    }
}

#[test]
fn log_02_a_log_may_begin_with_any_spelling_of_an_event() {
    for start in
        [&b"\xa7\x01\x02\x62ts"[..], b"\xb8\x06\x62ts", b"\xa6\x78\x02ts", b"\xa7\x20\x02", b"\xb9\x00\x06\x62ts"]
    {
        assert_eq!(sniff(start), FileKind::Log(Format::Cborseq), "{start:x?}");
    }
    // These say nothing, so only the name can tell; they are events nevertheless.
    let nothing = v1::Header { run_id: "", seq: 0, prev_hash: None, ts: 0, kind: 0 };
    let nothing = [Item::Respelled(Record { header: nothing.encode().into(), payload: None })];
    for event in [&b"\xf6"[..], b"\xf7", b"\xa0", b"\xc6\xf6", b"\xd8\x40\xa0", b"\xa1\x01\x02"] {
        assert_eq!(decode(Format::Cborseq, event, 9).unwrap(), nothing, "{event:x?}");
    }
}

#[test]
fn the_name_of_a_file_says_how_it_should_be_read() {
    for (name, format) in [
        ("a/run.cborseq", Some(Format::Cborseq)),
        ("run.NDJSON", Some(Format::Ndjson)),
        ("run.jsonl", Some(Format::Ndjson)),
        ("run.json", Some(Format::Json)),
        ("run.txt", None),
        ("json", None),
    ] {
        assert_eq!(Format::of_name(name.as_ref()), format, "{name}");
    }
}

#[test]
fn log_02_an_event_stays_one_if_it_has_a_key_that_records_beside_a_log_have() {
    let Item::Event(record) = v1_items().remove(0) else { panic!("an event") };
    let written = v1::splice(&record.header, record.payload.as_deref());
    for extra in [&b"\x66record\x01"[..], b"\x66record\x64seal"] {
        let event = [&b"\xa7"[..], &written[1..], extra].concat();
        assert_eq!(decode(Format::Cborseq, &event, 9).unwrap(), [Item::Respelled(record.clone())]);
    }
    let beside = decode(Format::Cborseq, b"\xa2\x63seq\x01\x66record\x64seal", 9).unwrap();
    assert!(matches!(beside[..], [Item::Side(SideRecord::Other(_))]), "{beside:?}");
}

#[test]
fn log_02_no_depth_keeps_an_event_from_being_judged() {
    let header = v1::Header { run_id: "01K0", seq: 1, prev_hash: None, ts: 5, kind: 2 };
    for depth in [65_535, 65_536] {
        let payload = [vec![0x81; depth - 1], vec![0x80]].concat();
        let record = Record { header: header.encode().into(), payload: Some(payload.into()) };
        let written = v1::splice(&record.header, record.payload.as_deref());
        let items = decode(Format::Cborseq, &written, 1 << 20).unwrap();
        assert_eq!(items, [Item::Event(record.clone())]);
        assert_eq!(v1::examine(&record).unwrap().hash().is_some(), depth == 65_535, "Starling writes no more levels");
    }
    let err = decode(Format::Cborseq, &[0x81; 2 << 20], 1 << 20).unwrap_err();
    assert_eq!((err.offset, err.to_string().contains("deeper than allowed")), (1 << 20, true), "{err}");
}

#[test]
fn data_for_people_spells_hashes_in_hex_and_content_in_base64() {
    let body = RunStarted { params_hash: Some(Bytes::from_static(&[0xab])), goal: "x".into(), ..Default::default() };
    let payload = Payload::RunStarted(Box::new(body));
    assert_eq!(readable_payload(payload.kind(), &payload.encode())["params_hash"], "ab");
    let data = cbor::Value::object([("b", cbor::Value::Bytes(vec![1])), ("f", cbor::Value::Float(f64::INFINITY))]);
    let typed = Payload::Typed(Typed { r#type: "a.b".into(), data: (&data).into(), ..Default::default() });
    assert_eq!(readable_payload(typed.kind(), &typed.encode()), serde_json::json!({"b": "AQ==", "f": "Infinity"}));
}

#[test]
fn log_02_a_v1_envelope_that_starling_would_not_write_so_is_told_from_one_that_it_wrote() {
    let Item::Event(record) = v1_items().remove(0) else { panic!("an event") };
    let written = v1::splice(&record.header, record.payload.as_deref());
    assert_eq!(decode(Format::Cborseq, &written, 9).unwrap(), [Item::Event(record.clone())]);
    let spell = |from: &[u8], to: &[u8]| {
        let at = written.windows(from.len()).position(|part| part == from).unwrap();
        [&written[..at], to, &written[at + from.len()..]].concat()
    };
    let extra_key = [&b"\xa7"[..], &written[1..], b"\x65extra\x01"].concat();
    let self_described = [&b"\xd9\xd9\xf7"[..], &written].concat();
    for respelled in [
        extra_key,
        self_described,
        spell(b"\x63seq\x01", b"\x63seq\x18\x01"),
        spell(b"\x63seq", b"\x63SEQ"),
        spell(b"prev_hash", b"prav_hash"),
    ] {
        let items = vec![Item::Respelled(record.clone())];
        assert_eq!(decode(Format::Cborseq, &respelled, 9).unwrap(), items);
        let line = serde_json::json!({"event": STANDARD.encode(&respelled)}).to_string();
        assert_eq!(decode(Format::Ndjson, line.as_bytes(), 9).unwrap(), items, "the bytes decide in JSON too");
        assert_eq!(encode(Format::Cborseq, &items), written);
    }
}
