//! The key: whether it is known, whether it signed, and whether it counts here.

use jiff::Timestamp;
use r1_event::{KeyId, UnixNanos};

use super::{Failure, Options, Report};
use crate::file::{Receipt, read_signature};
use crate::key::{Entry, KnownKey, RevocationReason, Usage, moment};
use crate::verdict::Reason;

pub(super) fn check(receipt: &Receipt<'_>, options: &Options<'_>, report: &mut Report) -> Result<(), Failure> {
    let (key, entries) = find(receipt, options.keys)?;
    if let Some(entry) = entries.first() {
        report.key.describe(entry);
    }
    check_signature(receipt, key)?;
    if entries.is_empty() {
        // A bare key speaks for nobody in particular.
        let demanded = options.scope.is_some() || options.subject.is_some();
        return if demanded { Err(Failure::of(Reason::KeyScope)) } else { Ok(()) };
    }
    check_allowed(&entries, options, report)
}

/// The key that is named, and everything that is said of it.
fn find<'a>(receipt: &Receipt<'_>, keys: &'a [KnownKey]) -> Result<(&'a KnownKey, Vec<&'a Entry>), Failure> {
    let named = &receipt.signing_key_id;
    let kid: KeyId = named.parse().map_err(|_| Failure::of(Reason::BadKeyId).with("kid:…", named.clone()))?;
    let known = || keys.iter().filter(|key| *key.kid() == kid);
    let unknown = || Failure::of(Reason::KeyUnknown).with("a key of the keyring", named.clone());
    let key = known().next().ok_or_else(unknown)?;
    if key.strong().is_none() {
        return Err(Failure::of(Reason::WeakKey));
    }
    Ok((key, known().filter_map(KnownKey::entry).collect()))
}

fn check_signature(receipt: &Receipt<'_>, key: &KnownKey) -> Result<(), Failure> {
    let signature = read_signature(&receipt.signature).ok_or_else(|| Failure::of(Reason::BadSignatureEncoding))?;
    if key.verifies(receipt.digest().as_bytes(), &signature) {
        Ok(())
    } else {
        Err(Failure::of(Reason::SignatureMismatch))
    }
}

/// Of several entries for one key the strictest is believed.
fn check_allowed(entries: &[&Entry], options: &Options<'_>, report: &mut Report) -> Result<(), Failure> {
    let end = report.run.as_ref().map(|run| moment(UnixNanos(run.at)));
    let refusals = entries.iter().filter_map(|entry| refusal(entry, options, end).map(|reason| (reason, *entry)));
    let worst = refusals.min_by_key(|(reason, _)| *reason);
    if worst.is_none_or(|(reason, _)| reason > Reason::KeyScope) {
        report.warnings.push(match end {
            Some(end) => format!(
                "the key's dates were compared with {end}, the end of the run as its own log gives it: nobody else \
                 vouches for that time"
            ),
            None => "no run is named, so the key's dates were not checked".into(),
        });
    }
    let Some((reason, entry)) = worst else { return Ok(()) };
    report.key.describe(entry);
    let failure = Failure::of(reason);
    Err(if reason == Reason::KeyScope { failure.with(demand(options), report.key.owner()) } else { failure })
}

/// Why a key does not count for a run that ended at `end`, if it does not.
fn refusal(entry: &Entry, options: &Options<'_>, end: Option<Timestamp>) -> Option<Reason> {
    if entry.usage != Usage::Receipt {
        return Some(Reason::KeyUse);
    }
    let fits = options.scope.is_none_or(|scope| scope == entry.scope)
        && options.subject.is_none_or(|subject| subject == entry.subject);
    if !fits {
        return Some(Reason::KeyScope);
    }
    let Some(end) = end else { return entry.revocation.map(|_| Reason::KeyRevoked) };
    if end < entry.not_before {
        return Some(Reason::KeyNotYetValid);
    }
    if entry.not_after.is_some_and(|last| end > last) {
        return Some(Reason::KeyExpired);
    }
    let revoked = entry.revocation.is_some_and(|revocation| match revocation.reason {
        RevocationReason::Compromised => true,
        RevocationReason::Retired => end > revocation.at,
    });
    revoked.then_some(Reason::KeyRevoked)
}

fn demand(options: &Options<'_>) -> String {
    let scope = options.scope.map(|scope| scope.word());
    [scope, options.subject].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
