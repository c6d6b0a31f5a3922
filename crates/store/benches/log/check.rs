//! Validation and the tree, against plain hashing of the same bytes.

use std::convert::Infallible;
use std::time::Duration;

use r1_event::Record;
use r1_event::finding::Integrity;
use r1_event::merkle::{Blake3, Frontier};
use r1_event::validate::{Options, Validator};

use crate::fixture;
use crate::table::{Table, Target, best_of, rate, scaled, speed, time};

pub(crate) fn measure(table: &mut Table) {
    let events = scaled(200_000, 2_000);
    validate(table, "v2", &fixture::log(fixture::run_id(1), events, 1024));
    validate(table, "v1", &fixture::v1_log(events, 1024));
    merkle(table, scaled(2_000_000, 10_000));
}

fn validate(table: &mut Table, version: &str, records: &[Record]) {
    let flat: Vec<Vec<u8>> = records
        .iter()
        .map(|record| [&record.header[..], record.payload.as_deref().unwrap_or_default()].concat())
        .collect();
    let (one, plain) = best_of(5, || check(records, 1), || time(|| hash_each(&flat)));
    // What the second core is worth here, which may be busy with the work of others.
    let (two, plain_on_two) = best_of(5, || check(records, 2), || time(|| hash_each_on_two(&flat)));
    table.row(
        &format!("validate {version}, 1 KiB payloads, one core"),
        &rate(records.len(), one),
        &format!("{} plain BLAKE3 per event", rate(records.len(), plain)),
        speed(one, plain),
        Target::AtLeast(0.7),
    );
    table.row(
        &format!("validate {version}, 1 KiB payloads, two cores"),
        &rate(records.len(), two),
        &format!("{} plain BLAKE3, on two cores {}", rate(records.len(), plain), rate(records.len(), plain_on_two)),
        speed(two, plain),
        // 1.7 times what one core must do, which is 0.7 of plain hashing.
        Target::AtLeast(1.7 * 0.7),
    );
}

fn hash_each(inputs: &[Vec<u8>]) {
    inputs.iter().for_each(|bytes| {
        std::hint::black_box(blake3::hash(bytes));
    });
}

fn hash_each_on_two(inputs: &[Vec<u8>]) {
    let (left, right) = inputs.split_at(inputs.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| hash_each(left));
        hash_each(right);
    });
}

fn check(records: &[Record], threads: usize) -> Duration {
    let pages = fixture::pages(records);
    let mut verdict = None;
    let took = time(|| {
        let validator = Validator::new(Options::default());
        verdict = validator.run(pages.into_iter().map(Ok::<_, Infallible>), threads).ok();
    });
    assert!(verdict.is_some_and(|verdict| verdict.integrity == Integrity::Ok), "the log is sound");
    took
}

fn merkle(table: &mut Table, leaves: usize) {
    let leaf = r1_event::Digest::blake3(b"leaf");
    let (took, peer) = best_of(
        3,
        || {
            time(|| {
                let mut tree = Frontier::<Blake3>::default();
                (0..leaves).for_each(|_| tree.push(leaf));
                tree.root()
            })
        },
        || {
            let node = [1; 65];
            time(|| {
                for _ in 0..leaves {
                    std::hint::black_box(blake3::hash(std::hint::black_box(&node)));
                }
            })
        },
    );
    #[expect(clippy::cast_precision_loss, reason = "a few million")]
    let millions = leaves as f64 / took.as_secs_f64() / 1e6;
    table.row(
        "Merkle tree, leaves",
        &rate(leaves, took),
        &format!("3 M/s ({} bare node hashes)", rate(leaves, peer)),
        millions / 3.0,
        Target::AtLeast(1.0),
    );
}
