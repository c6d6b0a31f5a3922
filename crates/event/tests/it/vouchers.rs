//! Seals, checkpoints and prune records against the log that they speak of.

use r1_event::cbor::{Rules, Value};
use r1_event::finding::{Integrity, State};
use r1_event::merkle::{Blake3, TreeHash as _};
use r1_event::side_record::{Prune, RunContext, Trees};
use r1_event::{Batch, Chain, Digest, Record, Seq, SideRecord, Statement, UnixNanos};

use crate::sample::{RUN, check, codes, finished, key, log_of, options, payloads, sealed_log, started};

fn prune(records: &[Record], through: usize) -> Prune {
    let gone = &records[..through];
    Prune {
        run_id: RUN.parse().unwrap(),
        last_hash: gone.last().unwrap().hash(),
        trees: Trees::over(gone).unwrap(),
        pruned_at: UnixNanos(0),
        reason: "retention".into(),
        context: RunContext::default(),
        open_turn: None,
        open_calls: Vec::new(),
        graph: None,
    }
}

fn pruned(records: &[Record], through: usize) -> SideRecord {
    SideRecord::Prune(Box::new(prune(records, through)))
}

fn checkpoint(size: u64, root: Digest, head: Digest) -> SideRecord {
    let run_id = RUN.parse().unwrap();
    SideRecord::Checkpoint(Statement { run_id, size, root, head }.sign(&key()))
}

fn honest_checkpoint(records: &[Record], size: usize) -> SideRecord {
    let mut chain = Chain::new(RUN.parse().unwrap());
    records[..size].iter().for_each(|record| chain.follow(record).unwrap());
    SideRecord::Checkpoint(chain.statement().unwrap().sign(&key()))
}

#[test]
fn log_07_a_checkpoint_at_the_cut_is_compared_with_what_the_prune_record_kept() {
    let (records, _) = log_of(payloads());
    let left = |beside: Vec<SideRecord>| check(&records[2..], options(beside));
    let fits = left(vec![honest_checkpoint(&records, 2), pruned(&records, 2)]);
    assert_eq!((codes(&fits), fits.integrity), (Vec::new(), Integrity::Ok));

    let (root, head) = (prune(&records, 2).trees.blake3().root(), records[1].hash());
    let other = Digest::blake3(b"another");
    for contradicts in [checkpoint(2, other, head), checkpoint(2, root, other)] {
        let verdict = left(vec![pruned(&records, 2), contradicts]);
        assert_eq!((codes(&verdict), verdict.integrity), (vec!["rewritten"], Integrity::Broken));
    }
    let within = left(vec![pruned(&records, 2), honest_checkpoint(&records, 1)]);
    assert_eq!((codes(&within), within.integrity), (vec!["voucher_pruned"], Integrity::Ok));
}

#[test]
fn log_07_what_is_signed_over_no_events_is_compared_with_no_events() {
    let (records, _) = log_of(payloads());
    let (root, head) = (Blake3::empty(), Digest::new([0; 32]));
    let nothing = checkpoint(0, root, head);
    let SideRecord::Checkpoint(seal) = nothing.clone() else { panic!("{nothing:?}") };
    for (log, pruning) in [(&records[..], None), (&records[2..], Some(pruned(&records, 2)))] {
        let verdict = |voucher: SideRecord| check(log, options(pruning.iter().cloned().chain([voucher]).collect()));
        assert_eq!(codes(&verdict(nothing.clone())), Vec::<&str>::new());
        assert_eq!(codes(&verdict(SideRecord::Seal(seal.clone()))), ["seal_incomplete"]);
        assert_eq!(codes(&verdict(checkpoint(0, Digest::blake3(b"another"), head))), ["rewritten"]);
        assert_eq!(codes(&verdict(checkpoint(0, root, Digest::blake3(b"another")))), ["rewritten"]);
    }
}

#[test]
fn log_07_a_whole_shorter_run_in_place_of_a_sealed_one_is_no_prefix_of_it() {
    let (whole, seal) = sealed_log();
    let (other, _) = log_of(vec![started(), finished()]);
    let verdict = check(&other, options(vec![SideRecord::Seal(seal.clone())]));
    assert_eq!((codes(&verdict), verdict.state, verdict.is_corrupt()), (vec!["rewritten"], State::Complete, true));
    let cut = check(&whole[..7], options(vec![SideRecord::Seal(seal)]));
    assert_eq!((codes(&cut), cut.state), (vec!["truncated"], State::Truncated));
}

#[test]
fn log_15_of_several_prunings_the_one_that_took_the_most_counts_in_any_order() {
    let (records, chain) = log_of(payloads());
    let seal = SideRecord::Seal(chain.statement().unwrap().sign(&key()));
    let (first, second) = (pruned(&records, 1), pruned(&records, 2));
    for beside in [[first.clone(), second.clone()], [second, first]] {
        assert_eq!(Prune::furthest(&beside).unwrap().through(), Seq::new(2).unwrap());
        let batch = Batch::behind(&beside).unwrap();
        assert_eq!((batch.before().size(), batch.origin().unwrap().beside()), (2, &beside[..]));
        let at_first = honest_checkpoint(&records, 1);
        let beside = beside.into_iter().chain([seal.clone(), at_first]).collect();
        let verdict = check(&records[2..], options(beside));
        assert_eq!((codes(&verdict), verdict.pruned_through), (Vec::new(), Seq::new(2)));
    }
}

#[test]
fn log_15_a_prune_record_that_does_not_fit_together_is_damaged() {
    let (records, _) = log_of(payloads());
    let whole = Value::decode(&pruned(&records, 3).encode(), Rules::CANONICAL).unwrap();
    let changed = |key: &str, to: Value| {
        let Value::Map(mut map) = whole.clone() else { panic!("{whole:?}") };
        let entry = map.iter_mut().find(|(name, _)| name.as_text() == Some(key)).unwrap();
        entry.1 = to;
        SideRecord::decode(&Value::Map(map).encode()).unwrap()
    };
    let peak = Value::Bytes(vec![7; 32]);
    for damaged in [
        changed("peaks", Value::Array(vec![peak.clone()])),
        changed("peaks_sha256", Value::Array(vec![peak.clone()])),
        changed("peaks_sha256", Value::Array(vec![peak.clone(), peak.clone(), peak])),
        changed("through", Value::Uint(0)),
        changed("schema_version", Value::Uint(1)),
        changed("schema_version", Value::Uint(3)),
    ] {
        assert!(matches!(damaged, SideRecord::Other(_)), "{damaged:?}");
        let verdict = check(&records[3..], options(vec![damaged]));
        assert!(codes(&verdict).contains(&"record_damaged") && verdict.is_corrupt());
    }
}
