//! Making, finding, exporting, importing and revoking keys.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use r1_event::UnixNanos;
use r1_receipt::export::NoteKey;
use r1_receipt::key::{
    AttestKey, Entry, KeyError, KnownKey, PrivateKey, PublicKey, Revocation, Scope, SecretKey, Usage, moment,
};
use zeroize::Zeroizing;

use super::{Keyring, KeysError, LogKey, key_path, read_pem, ring, write_new};
use crate::home::{Home, create_private_dir};
use crate::world;

/// What is said of a key.
#[derive(Clone, Debug)]
pub struct About {
    /// For whom it speaks.
    pub scope: Scope,
    /// Who holds it; of a key that signs for a log, the log's name.
    pub subject: String,
    /// From when it counts: unless given, a new key from now on and one that is brought always.
    pub not_before: Option<Timestamp>,
    /// Until when it counts.
    pub not_after: Option<Timestamp>,
    /// Whether it signs for a log instead of runs.
    pub for_log: bool,
}

impl About {
    /// A key without dates of its own.
    #[must_use]
    pub fn new(scope: Scope, subject: impl Into<String>) -> Self {
        Self { scope, subject: subject.into(), not_before: None, not_after: None, for_log: false }
    }

    fn entry(&self, public: PublicKey, since: Timestamp) -> Entry {
        let mut entry = Entry::new(public, self.scope, self.subject.clone(), self.not_before.unwrap_or(since));
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
    let now = moment(now);
    if let Some(end) = about.not_after.filter(|end| *end < about.not_before.unwrap_or(now).max(now)) {
        return Err(KeysError::Ended { end });
    }
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
    let made = keep(home, &PrivateKey::P256(key.clone()), &About::new(Scope::Agent, subject), moment(now))?;
    Ok((key, made.path))
}

/// Makes a key for the log of this installation.
pub(crate) fn new_log_key(home: &Home, now: UnixNanos) -> Result<(LogKey, PathBuf), KeysError> {
    let secret = SecretKey::from_seed(world::new_seed()?);
    let name = NoteKey::default_name(&secret);
    let about = About { for_log: true, ..About::new(Scope::Agent, name.clone()) };
    let made = keep(home, &PrivateKey::Ed25519(secret.clone()), &about, moment(now))?;
    Ok((LogKey { secret, name, since: made.entry.not_before.as_second() }, made.path))
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
/// of it. Of a key that is in the keyring already, a revocation is taken over, and the private half.
pub fn import(home: &Home, path: &Path, about: &About) -> Result<Entry, KeysError> {
    let content = ring::read_bounded(path)?;
    if let Some(private) = std::str::from_utf8(&content).ok().and_then(|pem| PrivateKey::from_pem(pem).ok()) {
        return keep_brought(home, &private, about);
    }
    let refused = |source| KeysError::Refused { path: path.to_owned(), source };
    let entry = match Entry::from_json(&content) {
        Ok(entry) => entry,
        Err(_) => match KnownKey::from_file(&content).map_err(refused)?.strong() {
            Some(public) => about.entry(public.into(), Timestamp::UNIX_EPOCH),
            None => return Err(refused(KeyError::BadPublicKey { reason: "anyone could sign for it" })),
        },
    };
    create_private_dir(&home.keyring())?;
    let Some(known) = known_entry(home, &entry)? else {
        write_new(&entry_path(home, &entry), entry.to_json().as_bytes(), 0o644)?;
        return Ok(entry);
    };
    match (entry.revocation, known.revocation) {
        (Some(brought), Some(standing)) if brought.weakens(standing) => Ok(known),
        (Some(brought), _) => set_revocation(home, &known, brought),
        (None, _) if entry == known => Ok(known),
        (None, _) => Err(KeysError::Known { kid: known.kid().clone() }),
    }
}

/// Says of a key that it no longer counts. What was said before can be made stricter, never weaker.
pub fn revoke(home: &Home, entry: &Entry, revocation: Revocation) -> Result<Entry, KeysError> {
    match entry.revocation {
        Some(standing) if revocation.weakens(standing) => {
            Err(KeysError::Revoked { kid: entry.kid().clone(), standing })
        }
        Some(_) | None => set_revocation(home, entry, revocation),
    }
}

fn set_revocation(home: &Home, entry: &Entry, revocation: Revocation) -> Result<Entry, KeysError> {
    let mut revoked = entry.clone();
    revoked.revocation = Some(revocation);
    let path = entry_path(home, entry);
    let draft = path.with_extension("json.new");
    let failed = |source| KeysError::Io { path: path.clone(), source };
    // Whole or not at all: half an entry would be refused, and the key would count nowhere.
    let _ = fs::remove_file(&draft);
    write_new(&draft, revoked.to_json().as_bytes(), 0o644)?;
    fs::rename(&draft, &path).map_err(failed)?;
    Ok(revoked)
}

/// What the keyring says of a key, if it knows it.
fn known_entry(home: &Home, entry: &Entry) -> Result<Option<Entry>, KeysError> {
    let path = entry_path(home, entry);
    if path.exists() { ring::read_entry(&path).map(Some) } else { Ok(None) }
}

/// Keeps a private key that somebody brings; what the keyring says of it already stays.
fn keep_brought(home: &Home, private: &PrivateKey, about: &About) -> Result<Entry, KeysError> {
    let Some(known) = known_entry(home, &about.entry(private.public(), Timestamp::UNIX_EPOCH))? else {
        return keep(home, private, about, Timestamp::UNIX_EPOCH).map(|made| made.entry);
    };
    if !has_secret(home, &known) {
        keep_secret(home, private, &known)?;
    }
    Ok(known)
}

/// Keeps a private key, with what is said of it; it counts from `since` on unless `about` says otherwise.
pub(super) fn keep(home: &Home, private: &PrivateKey, about: &About, since: Timestamp) -> Result<Made, KeysError> {
    home.create()?;
    create_private_dir(&home.keyring())?;
    let entry = about.entry(private.public(), since);
    // The secret first: an entry without its key would be chosen and then not found.
    let path = keep_secret(home, private, &entry)?;
    write_new(&entry_path(home, &entry), entry.to_json().as_bytes(), 0o644)?;
    Ok(Made { entry, path })
}

fn keep_secret(home: &Home, private: &PrivateKey, entry: &Entry) -> Result<PathBuf, KeysError> {
    create_private_dir(&home.keys())?;
    let path = key_path(home, entry);
    let pem = private.to_pem().map_err(|source| KeysError::Refused { path: path.clone(), source })?;
    write_new(&path, pem.as_bytes(), 0o600)?;
    Ok(path)
}

fn entry_path(home: &Home, entry: &Entry) -> PathBuf {
    home.keyring().join(format!("{}.json", entry.kid().thumbprint()))
}
