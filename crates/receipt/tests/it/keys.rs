//! Which keys count.

use r1_receipt::key::{Entry, KnownKey, Revocation, RevocationReason, Scope, Usage};
use r1_receipt::{Options, verify};

use crate::forge::Forge;
use crate::sample::{full, key};

/// The sample's run ends in this second.
const END: i64 = 1_777_000_000;

fn verdict(bytes: &[u8], change: impl FnOnce(&mut Entry), options: Options<'_>) -> String {
    let mut entry = Entry::new(key().public(), Scope::Team, "team:parser", END);
    change(&mut entry);
    let keys = [KnownKey::of_entry(entry).unwrap()];
    verify(bytes, &Options { keys: &keys, ..options }).verdict().to_string()
}

fn with(change: impl FnOnce(&mut Entry)) -> String {
    verdict(&full().receipt().bytes, change, Options::default())
}

const fn revoked(at: i64, reason: RevocationReason) -> Option<Revocation> {
    Some(Revocation { at, reason })
}

#[test]
fn stoke_20_a_key_counts_within_its_dates() {
    assert_eq!(with(|_| {}), "VALID");
    assert_eq!(with(|entry| entry.not_before = END + 1), "UNTRUSTED key_not_yet_valid");
    assert_eq!(with(|entry| entry.not_after = Some(END)), "VALID");
    assert_eq!(with(|entry| entry.not_after = Some(END - 1)), "UNTRUSTED key_expired");
}

#[test]
fn stoke_20_a_retired_key_counts_for_what_it_signed_before_a_compromised_one_for_nothing() {
    use RevocationReason::{Compromised, Retired};
    assert_eq!(with(|entry| entry.revocation = revoked(END, Retired)), "VALID");
    assert_eq!(with(|entry| entry.revocation = revoked(END - 1, Retired)), "UNTRUSTED key_revoked");
    assert_eq!(with(|entry| entry.revocation = revoked(END + 1_000, Compromised)), "UNTRUSTED key_revoked");
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
    let late = |entry: &mut Entry| entry.not_before = END + 1_000;
    assert_eq!(verdict(&unbound, late, Options::default()), "INCOMPLETE run_unbound");
    let retired = |entry: &mut Entry| entry.revocation = revoked(END + 1_000, RevocationReason::Retired);
    assert_eq!(verdict(&unbound, retired, Options::default()), "UNTRUSTED key_revoked");
    let keys = [KnownKey::of_entry(Entry::new(key().public(), Scope::Team, "team:parser", END)).unwrap()];
    let report = verify(&unbound, &Options { keys: &keys, ..Options::default() });
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
