//! Making, finding, exporting, importing and revoking keys.

use std::fs;
use std::path::{Path, PathBuf};

use r1_event::UnixNanos;
use r1_receipt::key::{Entry, KnownKey, Revocation, RevocationReason, Scope, SecretKey};
use zeroize::Zeroizing;

use super::{Keyring, KeysError, key_path, read_secret, write_new};
use crate::home::{Home, create_private_dir};
use crate::world;

/// A key to make.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// For whom it speaks.
    pub scope: Scope,
    /// Who holds it.
    pub subject: String,
    /// Unix seconds from which it counts; from now on unless given.
    pub not_before: Option<i64>,
    /// Unix seconds until which it counts.
    pub not_after: Option<i64>,
}

/// A key that was made or brought.
#[derive(Debug)]
pub struct Made {
    /// Its private half.
    pub secret: SecretKey,
    /// What the keyring says of it.
    pub entry: Entry,
    /// Where its private half is.
    pub path: PathBuf,
}

/// Makes a key and its entry.
pub fn new(home: &Home, new: NewKey, now: UnixNanos) -> Result<Made, KeysError> {
    let secret = SecretKey::from_seed(world::new_seed()?);
    let since = new.not_before.unwrap_or_else(|| now.0.div_euclid(1_000_000_000));
    let mut entry = Entry::new(&secret.public(), new.scope, new.subject, since);
    entry.not_after = new.not_after;
    let path = keep_secret(home, &secret, &entry)?;
    Ok(Made { secret, entry, path })
}

/// The one key whose id begins with what was typed.
pub fn find(home: &Home, wanted: &str) -> Result<Entry, KeysError> {
    let keyring = Keyring::read(home)?;
    let mut matching = keyring.matching(wanted);
    match (matching.next(), matching.count()) {
        (Some(entry), 0) => Ok(entry.clone()),
        (Some(_), others) => Err(KeysError::Ambiguous { wanted: wanted.into(), matches: others + 1 }),
        (None, _) => Err(KeysError::Unknown { wanted: wanted.into() }),
    }
}

/// Whether the private half of a key is here.
#[must_use]
pub fn has_secret(home: &Home, entry: &Entry) -> bool {
    key_path(home, entry).is_file()
}

/// The private half of a key as PKCS#8 PEM.
pub fn export_secret(home: &Home, entry: &Entry) -> Result<Zeroizing<String>, KeysError> {
    let path = key_path(home, entry);
    if !path.is_file() {
        return Err(KeysError::NotHere { kid: entry.kid().to_string() });
    }
    read_secret(&path)?.to_pem().map_err(|source| KeysError::Refused { path, source })
}

/// Takes a key from a file: a keyring entry as it is, a bare public key or a private one with what `about` says
/// of it.
pub fn import(home: &Home, path: &Path, about: NewKey, now: UnixNanos) -> Result<Entry, KeysError> {
    let content = fs::read(path).map_err(|source| KeysError::Io { path: path.to_owned(), source })?;
    let since = about.not_before.unwrap_or_else(|| now.0.div_euclid(1_000_000_000));
    let described = |public: &_| {
        let mut entry = Entry::new(public, about.scope, about.subject.clone(), since);
        entry.not_after = about.not_after;
        entry
    };
    if let Some(secret) = std::str::from_utf8(&content).ok().and_then(|pem| SecretKey::from_pem(pem).ok()) {
        let entry = described(&secret.public());
        keep_secret(home, &secret, &entry)?;
        return Ok(entry);
    }
    let refused = |source| KeysError::Refused { path: path.to_owned(), source };
    let known = KnownKey::from_file(&content).map_err(refused)?;
    let entry = match (known.entry(), known.strong()) {
        (Some(entry), _) => entry.clone(),
        (None, Some(public)) => described(&public),
        (None, None) => {
            return Err(refused(r1_receipt::key::KeyError::BadPublicKey { reason: "anyone could sign for it" }));
        }
    };
    create_private_dir(&home.keyring())?;
    write_new(&entry_path(home, &entry), entry.to_json().as_bytes(), 0o644)?;
    Ok(entry)
}

/// Says of a key that it no longer counts. What was said before about that is replaced.
pub fn revoke(home: &Home, entry: &Entry, reason: RevocationReason, at: i64) -> Result<Entry, KeysError> {
    let mut revoked = entry.clone();
    revoked.revocation = Some(Revocation { at, reason });
    let path = entry_path(home, entry);
    let draft = path.with_extension("json.new");
    let failed = |source| KeysError::Io { path: path.clone(), source };
    // Whole or not at all: half an entry would be refused, and the key would count nowhere.
    let _ = fs::remove_file(&draft);
    write_new(&draft, revoked.to_json().as_bytes(), 0o644)?;
    fs::rename(&draft, &path).map_err(failed)?;
    Ok(revoked)
}

fn keep_secret(home: &Home, secret: &SecretKey, entry: &Entry) -> Result<PathBuf, KeysError> {
    home.create()?;
    create_private_dir(&home.keys())?;
    create_private_dir(&home.keyring())?;
    let path = key_path(home, entry);
    let pem = secret.to_pem().map_err(|source| KeysError::Refused { path: path.clone(), source })?;
    // The secret first: an entry without its key would be chosen and then not found.
    write_new(&path, pem.as_bytes(), 0o600)?;
    write_new(&entry_path(home, entry), entry.to_json().as_bytes(), 0o644)?;
    Ok(path)
}

fn entry_path(home: &Home, entry: &Entry) -> PathBuf {
    home.keyring().join(format!("{}.json", entry.kid().thumbprint()))
}
