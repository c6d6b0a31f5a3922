//! Whose seals count.

use r1_event::finding::Part;
use r1_event::seal::{Revoked, SealKey};
use r1_event::validate::Options;
use r1_event::{SideRecord, UnixNanos, Verdict};

use crate::sample::{check, codes, key, log_of, payloads, sealed_log};

/// When the sample's last event happened, and the moment before.
const END: UnixNanos = UnixNanos(1_777_000_000_007_000_000);
const BEFORE: UnixNanos = UnixNanos(END.0 - 1);

fn sealed_with(change: impl FnOnce(&mut SealKey)) -> Verdict {
    let (records, seal) = sealed_log();
    verdict(&records, SideRecord::Seal(seal), change)
}

fn verdict(records: &[r1_event::Record], voucher: SideRecord, change: impl FnOnce(&mut SealKey)) -> Verdict {
    let mut key = SealKey::from(key().verifying_key());
    change(&mut key);
    check(records, Options { side_records: vec![voucher], keys: vec![key], ..Options::default() })
}

#[test]
fn log_06_a_seal_counts_only_if_its_key_does() {
    let refused = [
        ("seal_key_revoked", sealed_with(|key| key.revoked = Some(Revoked::Altogether))),
        ("seal_key_revoked", sealed_with(|key| key.revoked = Some(Revoked::After(BEFORE)))),
        ("seal_key_expired", sealed_with(|key| key.not_after = Some(BEFORE))),
        ("seal_key_use", sealed_with(|key| key.for_runs = false)),
    ];
    for (code, verdict) in refused {
        assert_eq!((codes(&verdict), &verdict.sealed_by), (vec![code], &None));
        assert!(verdict.findings[0].part == Part::Notice && !verdict.is_corrupt(), "the log itself is whole");
    }
    for verdict in
        [sealed_with(|key| key.revoked = Some(Revoked::After(END))), sealed_with(|key| key.not_after = Some(END))]
    {
        assert!(verdict.findings.is_empty() && verdict.sealed_by.is_some(), "{verdict:?}");
    }
}

#[test]
fn log_07_a_log_that_contradicts_a_revoked_key_is_still_rewritten() {
    let (_, seal) = sealed_log();
    let mut others = payloads();
    others.swap(4, 5);
    let revoked = |key: &mut SealKey| key.revoked = Some(Revoked::Altogether);
    let found = codes(&verdict(&log_of(others).0, SideRecord::Seal(seal), revoked));
    assert!(found.contains(&"seal_key_revoked") && found.contains(&"rewritten"), "{found:?}");
}

#[test]
fn a_checkpoint_of_a_revoked_key_is_named_as_such() {
    let (records, chain) = log_of(payloads().into_iter().take(5).collect());
    let checkpoint = SideRecord::Checkpoint(chain.statement().unwrap().sign(&key()));
    let found = verdict(&records, checkpoint, |key| key.revoked = Some(Revoked::Altogether));
    assert_eq!(codes(&found), ["checkpoint_key_revoked"]);
}
