//! The key: whether it is known, whether it signed, and whether it counts here.

use r1_event::KeyId;

use super::{Failure, Options, Report};
use crate::file::{Receipt, read_signature};
use crate::key::{Entry, KnownKey, Revocation, RevocationReason, Usage};
use crate::verdict::Reason;

pub(super) fn check(receipt: &Receipt<'_>, options: &Options<'_>, report: &mut Report) -> Result<(), Failure> {
    let key = find(receipt, options.keys)?;
    report.key.describe(key);
    check_signature(receipt, key)?;
    check_allowed(key.entry(), options, report)
}

fn find<'a>(receipt: &Receipt<'_>, keys: &'a [KnownKey]) -> Result<&'a KnownKey, Failure> {
    let named = &receipt.signing_key_id;
    let kid: KeyId = named.parse().map_err(|_| Failure::of(Reason::BadKeyId).with("kid:…", named.clone()))?;
    let unknown = || Failure::of(Reason::KeyUnknown).with("a key of the keyring", named.clone());
    let key = keys.iter().find(|key| *key.kid() == kid).ok_or_else(unknown)?;
    if key.strong().is_none() { Err(Failure::of(Reason::WeakKey)) } else { Ok(key) }
}

fn check_signature(receipt: &Receipt<'_>, key: &KnownKey) -> Result<(), Failure> {
    let signature = read_signature(&receipt.signature).ok_or_else(|| Failure::of(Reason::BadSignatureEncoding))?;
    if key.verifies(receipt.digest().as_bytes(), &signature) {
        Ok(())
    } else {
        Err(Failure::of(Reason::SignatureMismatch))
    }
}

fn check_allowed(entry: Option<&Entry>, options: &Options<'_>, report: &mut Report) -> Result<(), Failure> {
    let Some(entry) = entry else {
        // A bare key speaks for nobody in particular.
        let demanded = options.scope.is_some() || options.subject.is_some();
        return if demanded { Err(Failure::of(Reason::KeyScope)) } else { Ok(()) };
    };
    if entry.usage != Usage::Receipt {
        return Err(Failure::of(Reason::KeyUse));
    }
    let fits = options.scope.is_none_or(|scope| scope == entry.scope)
        && options.subject.is_none_or(|subject| subject == entry.subject);
    if !fits {
        return Err(Failure::of(Reason::KeyScope).with(demand(options), report.key.owner()));
    }
    let Some(at) = report.run.as_ref().map(|run| run.at.div_euclid(1_000_000_000)) else {
        report.warnings.push("no run is named, so the key's dates were not checked".into());
        return if entry.revocation.is_some() { Err(Failure::of(Reason::KeyRevoked)) } else { Ok(()) };
    };
    if at < entry.not_before {
        return Err(Failure::of(Reason::KeyNotYetValid));
    }
    if entry.not_after.is_some_and(|end| at > end) {
        return Err(Failure::of(Reason::KeyExpired));
    }
    match entry.revocation {
        Some(Revocation { reason: RevocationReason::Compromised, .. }) => Err(Failure::of(Reason::KeyRevoked)),
        Some(Revocation { reason: RevocationReason::Retired, at: revoked }) if at > revoked => {
            Err(Failure::of(Reason::KeyRevoked))
        }
        Some(_) | None => Ok(()),
    }
}

fn demand(options: &Options<'_>) -> String {
    let scope = options.scope.map(|scope| scope.word());
    [scope, options.subject].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
