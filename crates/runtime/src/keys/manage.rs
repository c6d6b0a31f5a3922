//! Making, finding, exporting, importing and revoking keys.

use std::fs;
use std::path::{Path, PathBuf};

use r1_event::UnixNanos;
use r1_receipt::export::NoteKey;
use r1_receipt::key::{
    AttestKey, Entry, KeyError, KnownKey, PrivateKey, PublicKey, Revocation, RevocationReason, Scope, SecretKey, Usage,
};
use zeroize::Zeroizing;

use super::{Keyring, KeysError, LogKey, key_path, read_pem, write_new};
use crate::home::{Home, create_private_dir};
use crate::world;

/// What is said of a key.
#[derive(Clone, Debug)]
pub struct About {
    /// For whom it speaks.
    pub scope: Scope,
    /// Who holds it; of a key that signs for a log, the log's name.
    pub subject: String,
    /// Unix seconds from which it counts; from now on unless given.
    pub not_before: Option<i64>,
    /// Unix seconds until which it counts.
    pub not_after: Option<i64>,
    /// Whether it signs for a log instead of runs.
    pub for_log: bool,
}

impl About {
    /// A key that counts from now on.
    #[must_use]
    pub fn new(scope: Scope, subject: impl Into<String>) -> Self {
        Self { scope, subject: subject.into(), not_before: None, not_after: None, for_log: false }
    }

    fn entry(&self, public: PublicKey, now: UnixNanos) -> Entry {
        let since = self.not_before.unwrap_or_else(|| now.0.div_euclid(1_000_000_000));
        let mut entry = Entry::new(public, self.scope, self.subject.clone(), since);
        entry.not_after = self.not_after;
        if self.for_log && entry.public().ed25519().is_some() {
            entry.usage = Usage::Log;
        }
        entry
    }
}

/// A key that was made or brought.
#[derive(Debug)]
pub struct Made {
    /// What the keyring says of it.
    pub entry: Entry,
    /// Where its private half is.
    pub path: PathBuf,
}

/// Makes a key for a use, and its entry. The subject of a log key without one follows from the key.
pub fn new(home: &Home, usage: Usage, mut about: About, now: UnixNanos) -> Result<Made, KeysError> {
    about.for_log = usage == Usage::Log;
    let private = match usage {
        Usage::Receipt | Usage::Log => PrivateKey::Ed25519(SecretKey::from_seed(world::new_seed()?)),
        Usage::Attest => PrivateKey::P256(attest_key()?),
    };
    if let (PrivateKey::Ed25519(key), true) = (&private, about.for_log && about.subject.is_empty()) {
        about.subject = NoteKey::default_name(key);
    }
    keep(home, &private, &about, now)
}

/// Makes a key that attests for this installation.
pub(crate) fn new_attest_key(home: &Home, now: UnixNanos) -> Result<(AttestKey, PathBuf), KeysError> {
    let key = attest_key()?;
    let subject = format!("agent:{}", world::new_instance_id()?);
    let made = keep(home, &PrivateKey::P256(key.clone()), &About::new(Scope::Agent, subject), now)?;
    Ok((key, made.path))
}

/// Makes a key for the log of this installation.
pub(crate) fn new_log_key(home: &Home, now: UnixNanos) -> Result<(LogKey, PathBuf), KeysError> {
    let secret = SecretKey::from_seed(world::new_seed()?);
    let name = NoteKey::default_name(&secret);
    let about = About { for_log: true, ..About::new(Scope::Agent, name.clone()) };
    let made = keep(home, &PrivateKey::Ed25519(secret.clone()), &about, now)?;
    Ok((LogKey { secret, name, since: made.entry.not_before }, made.path))
}

fn attest_key() -> Result<AttestKey, KeysError> {
    loop {
        // One seed in 2^32 is no key.
        if let Some(key) = AttestKey::from_seed(&world::new_seed()?) {
            return Ok(key);
        }
    }
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
    let private = PrivateKey::from_pem(&read_pem(&path)?);
    private.and_then(|private| private.to_pem()).map_err(|source| KeysError::Refused { path, source })
}

/// Takes a key from a file: a keyring entry as it is, a bare public key or a private one with what `about` says
/// of it.
pub fn import(home: &Home, path: &Path, about: &About, now: UnixNanos) -> Result<Entry, KeysError> {
    let content = fs::read(path).map_err(|source| KeysError::Io { path: path.to_owned(), source })?;
    if let Some(private) = std::str::from_utf8(&content).ok().and_then(|pem| PrivateKey::from_pem(pem).ok()) {
        return keep(home, &private, about, now).map(|made| made.entry);
    }
    let refused = |source| KeysError::Refused { path: path.to_owned(), source };
    let entry = match Entry::from_json(&content) {
        Ok(entry) => entry,
        Err(_) => match KnownKey::from_file(&content).map_err(refused)?.strong() {
            Some(public) => about.entry(public.into(), now),
            None => return Err(refused(KeyError::BadPublicKey { reason: "anyone could sign for it" })),
        },
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

/// Keeps a private key, with what is said of it.
pub(super) fn keep(home: &Home, private: &PrivateKey, about: &About, now: UnixNanos) -> Result<Made, KeysError> {
    home.create()?;
    create_private_dir(&home.keys())?;
    create_private_dir(&home.keyring())?;
    let entry = about.entry(private.public(), now);
    let path = key_path(home, &entry);
    let pem = private.to_pem().map_err(|source| KeysError::Refused { path: path.clone(), source })?;
    // The secret first: an entry without its key would be chosen and then not found.
    write_new(&path, pem.as_bytes(), 0o600)?;
    write_new(&entry_path(home, &entry), entry.to_json().as_bytes(), 0o644)?;
    Ok(Made { entry, path })
}

fn entry_path(home: &Home, entry: &Entry) -> PathBuf {
    home.keyring().join(format!("{}.json", entry.kid().thumbprint()))
}
