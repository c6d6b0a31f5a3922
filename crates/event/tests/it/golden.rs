//! Golden vectors of the v2 format: bytes and hashes that may never change.
//!
//! `tools/verify_log.py` recomputes the same files without a line of this crate. After a deliberate
//! change of what R1 *writes*, `R1_UPDATE_GOLDEN=1 cargo test -p r1-event golden` makes them anew; a
//! difference in what is already there means that yesterday's logs no longer verify.

mod runs;

use std::path::PathBuf;

use ed25519_dalek::SigningKey;
use r1_event::cbor::{Rules, Value, write};
use r1_event::exchange::{Decoder, Encoder, Format, Item};
use r1_event::id::{from_hex, to_hex};
use r1_event::merkle::proof::ProofBuilder;
use r1_event::merkle::{Blake3, Frontier, Sha256};
use r1_event::side_record::{Erase, EventRef, Prune, RunContext, Trees};
use r1_event::{Batch, Chain, Digest, Kind, Payload, Record, Seal, Seq, SideRecord, UnixNanos};
use serde_json::{Value as Json, json};

/// Test 1 of RFC 8032 §7.1.
const SECRET_KEY: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

#[test]
fn log_04_golden_vectors_of_every_kind_are_what_this_crate_writes() {
    let batches: Vec<Batch> = std::iter::once(runs::every_kind()).chain(runs::other_endings()).collect();
    let runs: Vec<Json> = batches.iter().map(describe_run).collect();
    let text = serde_json::to_string_pretty(&json!({ "secret_key": SECRET_KEY, "runs": runs })).unwrap();
    compare("golden.json", format!("{text}\n").as_bytes());
}

#[test]
fn log_04_golden_exports_are_what_this_crate_writes() {
    let whole = runs::every_kind();
    let checkpoint = SideRecord::Checkpoint(sign_first(&whole, 5));
    compare("golden.cborseq", &export(whole.records(), &[checkpoint, SideRecord::Seal(sign(&whole))]));

    let redacted = runs::redacted();
    let mut records = redacted.records().to_vec();
    records[1].payload = None;
    let erased = SideRecord::Erase(erasure(&redacted));
    compare("erased.cborseq", &export(&records, &[erased, SideRecord::Seal(sign(&redacted))]));

    let kept = &whole.records()[11..];
    let pruned = SideRecord::Prune(Box::new(prune(&whole, 11)));
    compare("pruned.cborseq", &export(kept, &[pruned, SideRecord::Seal(sign(&whole))]));
}

#[test]
fn log_04_every_kind_and_an_unknown_one_have_a_golden_vector() {
    let ends = runs::other_endings();
    let batches = std::iter::once(runs::every_kind()).chain(ends);
    let covered: Vec<Kind> = batches
        .flat_map(|batch| batch.records().iter().map(|r| r.header().unwrap().kind).collect::<Vec<_>>())
        .collect();
    let missing: Vec<_> = Kind::NAMED.iter().filter(|kind| !covered.contains(kind)).collect();
    assert!(missing.is_empty(), "no golden vector for {missing:?}");
    assert!(covered.iter().any(|kind| matches!(kind, Kind::Other(_))), "no golden vector for an unknown kind");
}

#[test]
fn log_05_every_golden_payload_decodes_and_encodes_to_the_same_bytes() {
    for record in runs::every_kind().records() {
        let (kind, bytes) = (record.header().unwrap().kind, record.payload.as_ref().unwrap());
        assert_eq!(Payload::decode(kind, bytes).unwrap().encode(), bytes, "{kind}");
    }
}

#[test]
fn log_18_golden_exports_come_back_byte_for_byte_through_every_format() {
    for name in ["golden.cborseq", "erased.cborseq", "pruned.cborseq"] {
        let sound = std::fs::read(fixture(name)).unwrap();
        let items = read_items(Format::Cborseq, &sound);
        for format in [Format::Cborseq, Format::Ndjson, Format::Json] {
            let back = read_items(format, &write_items(format, &items));
            assert!(write_items(Format::Cborseq, &back) == sound, "{name} through {format}");
        }
    }
}

fn read_items(format: Format, file: &[u8]) -> Vec<Item> {
    let mut decoder = Decoder::new(format);
    decoder.push(file);
    decoder.end();
    std::iter::from_fn(|| decoder.next_item().unwrap()).collect()
}

fn write_items(format: Format, items: &[Item]) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::new(format), Vec::new());
    items.iter().for_each(|item| encoder.item(item, &mut out));
    encoder.finish(&mut out);
    out
}

fn describe_run(batch: &Batch) -> Json {
    let mut tree = Frontier::<Blake3>::default();
    let mut tree_sha256 = Frontier::<Sha256>::default();
    let events: Vec<Json> = batch
        .records()
        .iter()
        .map(|record| {
            tree.push(record.leaf());
            tree_sha256.push(record.leaf_sha256());
            let header = record.header().unwrap();
            let payload = record.payload.as_ref().unwrap();
            json!({
                "seq": header.seq.get(),
                "kind": header.kind.number(),
                "name": header.kind.to_string(),
                "payload": diagnostic(&Value::decode(payload, Rules::CANONICAL).unwrap()),
                "payload_cbor": to_hex(payload),
                "header_cbor": to_hex(&record.header),
                "event_hash": record.hash().to_string(),
                "leaf_hash": record.leaf().to_string(),
                "root": tree.root().to_string(),
                "root_sha256": tree_sha256.root().to_string(),
            })
        })
        .collect();
    let seal = sign(batch);
    json!({
        "run_id": batch.after().run().as_str(),
        "events": events,
        "seal": {
            "message": to_hex(&seal.statement.message()),
            "key_id": seal.key_id.to_string(),
            "signature": to_hex(&seal.signature),
            "record_cbor": to_hex(&SideRecord::Seal(seal).encode()),
        },
        "inclusion": inclusion_proofs(batch),
        "consistency": consistency_proofs(batch),
    })
}

fn inclusion_proofs(batch: &Batch) -> Vec<Json> {
    let size = batch.after().size();
    (0..size)
        .map(|index| {
            let proof = prove(ProofBuilder::inclusion(index, size).unwrap(), batch);
            json!({ "seq": index + 1, "size": size, "proof": proof })
        })
        .collect()
}

fn consistency_proofs(batch: &Batch) -> Vec<Json> {
    let size = batch.after().size();
    (1..=size)
        .map(|older| {
            let proof = prove(ProofBuilder::consistency(older, size).unwrap(), batch);
            json!({ "older": older, "newer": size, "proof": proof })
        })
        .collect()
}

fn prove(mut builder: ProofBuilder<Blake3>, batch: &Batch) -> Vec<String> {
    batch.records().iter().for_each(|record| builder.push(record.leaf()));
    builder.finish().unwrap().iter().map(Digest::to_string).collect()
}

/// CBOR as JSON that loses nothing: what JSON cannot say is an object with one key that begins with `$`.
fn diagnostic(value: &Value) -> Json {
    match value {
        Value::Uint(n) => json!(n),
        Value::Nint(n) => match value.as_int() {
            Some(n) => json!(n),
            None => json!({ "$int": (-1 - i128::from(*n)).to_string() }),
        },
        Value::Bytes(bytes) => json!({ "$bytes": to_hex(bytes) }),
        Value::Text(text) => json!(text),
        Value::Array(items) => items.iter().map(diagnostic).collect(),
        Value::Map(pairs) if pairs.iter().all(|(key, _)| key.as_text().is_some()) => {
            pairs.iter().map(|(key, value)| (key.as_text().unwrap().to_owned(), diagnostic(value))).collect()
        }
        Value::Map(pairs) => {
            let pairs: Vec<Json> =
                pairs.iter().map(|(key, value)| json!([diagnostic(key), diagnostic(value)])).collect();
            json!({ "$map": pairs })
        }
        Value::Tag(number, item) => json!({ "$tag": [number, diagnostic(item)] }),
        Value::Bool(value) => json!(value),
        Value::Null => Json::Null,
        Value::Undefined => json!({ "$simple": 23 }),
        Value::Simple(n) => json!({ "$simple": n }),
        Value::Float(value) => json!({ "$float": format!("{value:?}") }),
    }
}

fn export(records: &[Record], side_records: &[SideRecord]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        write::array(&mut out, 2);
        out.extend_from_slice(&record.header);
        match &record.payload {
            Some(payload) => write::bytes(&mut out, payload),
            None => write::null(&mut out),
        }
    }
    side_records.iter().for_each(|record| out.extend(record.encode()));
    out
}

fn sign(batch: &Batch) -> Seal {
    sign_first(batch, batch.after().size())
}

fn sign_first(batch: &Batch, size: u64) -> Seal {
    let mut chain = Chain::new(batch.before().run().clone());
    batch.records().iter().take(usize::try_from(size).unwrap()).for_each(|record| chain.follow(record).unwrap());
    let secret: [u8; 32] = from_hex(SECRET_KEY).unwrap().try_into().unwrap();
    chain.statement().unwrap().sign(&SigningKey::from_bytes(&secret))
}

fn erasure(batch: &Batch) -> Erase {
    let redaction = &batch.records()[2];
    Erase {
        run_id: batch.after().run().clone(),
        seq: Seq::new(2).unwrap(),
        type_name: "user.message".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: None,
        redaction: EventRef {
            run_id: batch.after().run().clone(),
            seq: Seq::new(3).unwrap(),
            ts: redaction.header().unwrap().ts,
            hash: redaction.hash(),
        },
    }
}

fn prune(batch: &Batch, through: usize) -> Prune {
    let gone = &batch.records()[..through];
    Prune {
        run_id: batch.after().run().clone(),
        last_hash: gone[through - 1].hash(),
        trees: Trees::over(gone).unwrap(),
        pruned_at: UnixNanos(1_800_000_000_000_000_000),
        reason: "older than 30 days".into(),
        context: RunContext { run_kind: Some("agent_loop".into()), ..RunContext::default() },
        open_turn: None,
        open_calls: Vec::new(),
        graph: None,
    }
}

fn compare(name: &str, written: &[u8]) {
    let path = fixture(name);
    if std::env::var_os("R1_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, written).unwrap();
    }
    let golden = std::fs::read(&path).unwrap();
    assert!(golden == written, "{name} differs from what is written today: are stored logs still valid?");
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v2").join(name)
}
