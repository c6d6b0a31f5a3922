//! Which keys count.

use jiff::Timestamp;
use r1_event::UnixNanos;
use r1_receipt::key::{Entry, KnownKey, Revocation, RevocationReason, Scope, Usage, moment};
use r1_receipt::{Options, Report, verify};

use crate::forge::Forge;
use crate::sample::{check, full, key};

/// So many nanoseconds after the end of the sample's run.
fn end(later: i64) -> Timestamp {
    let report = check(&full().receipt().bytes);
    moment(UnixNanos(report.run.unwrap().at + later))
}

fn report(bytes: &[u8], change: impl FnOnce(&mut Entry), options: Options<'_>) -> Report {
    let mut entry = Entry::new(key().public(), Scope::Team, "team:parser", end(0));
    change(&mut entry);
    let keys = [KnownKey::of_entry(entry).unwrap()];
    verify(bytes, &Options { keys: &keys, ..options })
}

fn verdict(bytes: &[u8], change: impl FnOnce(&mut Entry), options: Options<'_>) -> String {
    report(bytes, change, options).verdict().to_string()
}

fn with(change: impl FnOnce(&mut Entry)) -> String {
    verdict(&full().receipt().bytes, change, Options::default())
}

const fn revoked(at: Timestamp, reason: RevocationReason) -> Option<Revocation> {
    Some(Revocation { at, reason })
}

#[test]
fn stoke_20_a_key_counts_within_its_dates_to_the_nanosecond() {
    assert_eq!(with(|_| {}), "VALID");
    assert_eq!(with(|entry| entry.not_before = end(1)), "UNTRUSTED key_not_yet_valid");
    assert_eq!(with(|entry| entry.not_after = Some(end(0))), "VALID");
    assert_eq!(with(|entry| entry.not_after = Some(end(-1))), "UNTRUSTED key_expired");
}

#[test]
fn stoke_20_that_dates_are_compared_with_what_the_log_says_of_itself_is_told() {
    let bytes = full().receipt().bytes;
    let told = |change: fn(&mut Entry)| report(&bytes, change, Options::default()).warnings;
    let note = format!("compared with {}, the end of the run as its own log gives it", end(0));
    for change in [|_: &mut Entry| {}, |entry: &mut Entry| entry.not_after = Some(end(-1))] {
        assert!(told(change).iter().any(|warning| warning.contains(&note)), "{:?}", told(change));
    }
    assert!(told(|entry| entry.usage = Usage::Log).is_empty(), "no date was looked at");
    assert!(check(&bytes).warnings.is_empty(), "a bare key has none");
}

#[test]
fn stoke_20_of_two_entries_for_one_key_the_stricter_counts_in_either_order() {
    let bytes = full().receipt().bytes;
    let valid = Entry::new(key().public(), Scope::Team, "team:parser", end(0));
    let mut compromised = valid.clone();
    compromised.revocation = revoked(end(1_000), RevocationReason::Compromised);
    for entries in [[&valid, &compromised], [&compromised, &valid]] {
        let keys = entries.map(|entry| KnownKey::of_entry(entry.clone()).unwrap());
        let report = verify(&bytes, &Options { keys: &keys, ..Options::default() });
        assert_eq!(report.verdict().to_string(), "UNTRUSTED key_revoked");
        assert!(report.key.revoked.unwrap().starts_with("compromised "));
    }
    let keys = [KnownKey::bare(*key().public().as_bytes()), KnownKey::of_entry(valid).unwrap()];
    let options = Options { keys: &keys, scope: Some(Scope::Team), ..Options::default() };
    assert_eq!(verify(&bytes, &options).verdict().to_string(), "VALID", "a bare key says nothing against it");
}

#[test]
fn stoke_20_a_retired_key_counts_for_what_it_signed_before_a_compromised_one_for_nothing() {
    use RevocationReason::{Compromised, Retired};
    assert_eq!(with(|entry| entry.revocation = revoked(end(0), Retired)), "VALID");
    assert_eq!(with(|entry| entry.revocation = revoked(end(-1), Retired)), "UNTRUSTED key_revoked");
    assert_eq!(with(|entry| entry.revocation = revoked(end(1_000), Compromised)), "UNTRUSTED key_revoked");
}

#[test]
fn stoke_20_a_key_counts_for_its_use_its_scope_and_its_holder() {
    let bytes = full().receipt().bytes;
    assert_eq!(with(|entry| entry.usage = Usage::Attest), "UNTRUSTED key_use");
    let scoped = |scope, subject| verdict(&bytes, |_| {}, Options { scope, subject, ..Options::default() });
    assert_eq!(scoped(Some(Scope::Team), Some("team:parser")), "VALID");
    assert_eq!(scoped(Some(Scope::Tenant), None), "UNTRUSTED key_scope");
    assert_eq!(scoped(None, Some("team:other")), "UNTRUSTED key_scope");
    let bare = [KnownKey::bare(*key().public().as_bytes())];
    let options = Options { keys: &bare, scope: Some(Scope::Team), ..Options::default() };
    assert_eq!(verify(&bytes, &options).verdict().to_string(), "UNTRUSTED key_scope", "a bare key has no scope");
}

#[test]
fn stoke_20_without_a_run_no_date_is_checked_and_any_revocation_counts() {
    let mut forge = Forge::open(&full().receipt().bytes);
    forge.events.pop();
    let unbound = forge.sign();
    let late = |entry: &mut Entry| entry.not_before = end(1_000);
    assert_eq!(verdict(&unbound, late, Options::default()), "INCOMPLETE run_unbound");
    let retired = |entry: &mut Entry| entry.revocation = revoked(end(1_000), RevocationReason::Retired);
    assert_eq!(verdict(&unbound, retired, Options::default()), "UNTRUSTED key_revoked");
    let report = report(&unbound, |_| {}, Options::default());
    assert!(report.warnings[0].contains("dates were not checked"));
}

#[test]
fn stoke_20_an_unknown_key_and_a_weak_one_are_told_apart() {
    let bytes = full().receipt().bytes;
    assert_eq!(verify(&bytes, &Options::default()).verdict().to_string(), "UNTRUSTED key_unknown");
    let mut small = [0; 32];
    small[0] = 1;
    let weak = [KnownKey::bare(small)];
    let mut forge = Forge::open(&bytes);
    forge.signing_key_id = weak[0].kid().to_string();
    let report = verify(&forge.sign(), &Options { keys: &weak, ..Options::default() });
    assert_eq!(report.verdict().to_string(), "INVALID weak_key");
}
