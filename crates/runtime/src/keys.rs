//! Key files: reading them, choosing one to sign with, making the first.
//!
//! Private keys are `keys/<thumbprint>.key`, public ones with what is said of them
//! `keyring/<thumbprint>.json`. [`manage`] has what `r1 key` does with them.

pub mod manage;
mod ring;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ed25519_dalek::VerifyingKey;
use jiff::Timestamp;
use r1_event::seal::SealKey;
use r1_event::{KeyId, UnixNanos};
use r1_receipt::export::{InvalidName, NoteKey};
use r1_receipt::key::{AttestKey, Entry, KeyError, PrivateKey, Revocation, Scope, SecretKey, Usage, moment};
use zeroize::Zeroizing;

pub use self::ring::{KnownKeys, known_keys};
use crate::home::{Home, HomeError};
use crate::world::{self, NoRandomness};

/// The public keys that a user knows.
#[derive(Debug, Default)]
pub struct Keyring {
    /// Keys that count, in order of their file names.
    pub entries: Vec<Entry>,
    /// Keys of which nothing is said, from files that somebody named.
    pub bare: Vec<VerifyingKey>,
    /// Files that were refused, and why.
    pub refused: Vec<KeysError>,
}

impl Keyring {
    /// Reads every entry of the keyring in the home.
    pub fn read(home: &Home) -> Result<Self, KeysError> {
        Self::read_directory(&home.keyring())
    }

    /// Reads every entry of a keyring directory; one that is not there has none.
    pub fn read_directory(directory: &Path) -> Result<Self, KeysError> {
        let mut keyring = Self::default();
        for path in files(directory, "json")? {
            match ring::read_entry(&path) {
                Ok(entry) => keyring.entries.push(entry),
                Err(err) => keyring.refused.push(err),
            }
        }
        Ok(keyring)
    }

    /// The keys of [`KnownKeys::of_files`], none of which may be weak.
    pub fn of_files(paths: &[PathBuf]) -> Result<Self, KeysError> {
        let mut keyring = Self::default();
        for path in paths {
            let known = ring::read_brought(path)?;
            let weak = || KeysError::Refused { path: path.clone(), source: KeyError::NotAPublicKey };
            match known.entry() {
                Some(entry) => keyring.entries.push(entry.clone()),
                None => keyring.bare.push(known.strong().ok_or_else(weak)?),
            }
        }
        Ok(keyring)
    }

    /// The entries whose id begins with what was typed, with or without `kid:`.
    pub fn matching(&self, typed: &str) -> impl Iterator<Item = &Entry> {
        let start = typed.strip_prefix("kid:").unwrap_or(typed);
        self.entries.iter().filter(move |entry| entry.kid().thumbprint().starts_with(start))
    }

    /// The keys that seals and checkpoints are checked with, and whether they count.
    #[must_use]
    pub fn seal_keys(&self) -> Vec<SealKey> {
        self.entries.iter().filter_map(Entry::seal_key).chain(self.bare.iter().map(|key| (*key).into())).collect()
    }

    /// The key of this id that seals and checkpoints are checked with.
    #[must_use]
    pub fn seal_key(&self, kid: &KeyId) -> Option<SealKey> {
        self.seal_keys().into_iter().find(|key| KeyId::of(&key.public) == *kid)
    }
}

/// The key that is to sign: the one that was asked for, or the newest agent key, or a new one, which counts from
/// `since` on.
pub fn signing_key(home: &Home, wanted: Option<&str>, now: UnixNanos, since: UnixNanos) -> Result<AgentKey, KeysError> {
    let Some(wanted) = wanted else { return find_or_mint(home, now, since.min(now)) };
    let secret = match manage::find(home, wanted) {
        Ok(entry) if !entry.may_sign(Usage::Receipt, moment(now)) => {
            return Err(KeysError::MayNotSign { kid: entry.kid().to_string() });
        }
        Ok(entry) => read_secret(&key_path(home, &entry))?,
        Err(_) if Path::new(wanted).is_file() => read_secret(Path::new(wanted))?,
        Err(err) => return Err(err),
    };
    Ok(AgentKey { secret, minted: None })
}

fn read_secret(path: &Path) -> Result<SecretKey, KeysError> {
    let refused = |source| KeysError::Refused { path: path.to_owned(), source };
    SecretKey::from_pem(&read_pem(path)?).map_err(refused)
}

fn read_pem(path: &Path) -> Result<Zeroizing<String>, KeysError> {
    let pem = fs::read_to_string(path).map_err(|source| KeysError::Io { path: path.to_owned(), source })?;
    Ok(Zeroizing::new(pem))
}

/// A key to sign with.
#[derive(Debug)]
pub struct AgentKey {
    /// The key.
    pub secret: SecretKey,
    /// Where it was written just now, if it is new. Say so.
    pub minted: Option<PathBuf>,
}

/// The newest agent key that may sign now; `None` if there is none.
pub fn find_agent_key(home: &Home, now: UnixNanos) -> Result<Option<SecretKey>, KeysError> {
    let newest = newest(home, Usage::Receipt, now, |entry| entry.scope == Scope::Agent)?;
    newest.map(|entry| read_secret(&key_path(home, &entry))).transpose()
}

/// A key that signs for a transparency log.
#[derive(Debug)]
pub struct LogKey {
    /// The key.
    pub secret: SecretKey,
    /// The log's name.
    pub name: String,
    /// Unix seconds from which it counts.
    pub since: i64,
}

impl LogKey {
    /// The newest that is here, or a new one, and then its file. Say so.
    pub fn find_or_make(home: &Home, now: UnixNanos) -> Result<(Self, Option<PathBuf>), KeysError> {
        match newest_log_key(home, now)? {
            Some(key) => Ok((key, None)),
            None => manage::new_log_key(home, now).map(|(key, path)| (key, Some(path))),
        }
    }

    /// The key as notes of its own log name it.
    pub fn note_key(&self) -> Result<NoteKey<'_>, InvalidName> {
        NoteKey::new(self.name.clone(), &self.secret)
    }

    /// The same key, for the log of a run.
    pub fn note_key_of(&self, run_id: &str) -> Result<NoteKey<'_>, InvalidName> {
        NoteKey::new(format!("{}/runs/{run_id}", self.name), &self.secret)
    }
}

/// The newest key that may attest now; `None` if there is none.
pub fn newest_attest_key(home: &Home, now: UnixNanos) -> Result<Option<AttestKey>, KeysError> {
    let Some(entry) = newest(home, Usage::Attest, now, |_| true)? else { return Ok(None) };
    let path = key_path(home, &entry);
    AttestKey::from_pem(&read_pem(&path)?).map(Some).map_err(|source| KeysError::Refused { path, source })
}

/// The newest key that may sign for a log now; `None` if there is none.
pub fn newest_log_key(home: &Home, now: UnixNanos) -> Result<Option<LogKey>, KeysError> {
    let Some(entry) = newest(home, Usage::Log, now, |_| true)? else { return Ok(None) };
    let secret = read_secret(&key_path(home, &entry))?;
    Ok(Some(LogKey { secret, name: entry.subject, since: entry.not_before.as_second() }))
}

/// The newest key for a use whose private half is here.
fn newest(
    home: &Home,
    usage: Usage,
    now: UnixNanos,
    suits: impl Fn(&Entry) -> bool,
) -> Result<Option<Entry>, KeysError> {
    let usable = |entry: &Entry| suits(entry) && entry.may_sign(usage, moment(now)) && key_path(home, entry).is_file();
    let candidates = Keyring::read(home)?.entries.into_iter().filter(usable);
    // Of keys of the same moment the first by name, whatever the file system lists first.
    Ok(candidates.min_by_key(|entry| (std::cmp::Reverse(entry.not_before), entry.kid().clone())))
}

fn find_or_mint(home: &Home, now: UnixNanos, since: UnixNanos) -> Result<AgentKey, KeysError> {
    match find_agent_key(home, now)? {
        Some(secret) => Ok(AgentKey { secret, minted: None }),
        None => mint(home, since),
    }
}

fn mint(home: &Home, since: UnixNanos) -> Result<AgentKey, KeysError> {
    let subject = format!("agent:{}", world::new_instance_id()?);
    let secret = SecretKey::from_seed(world::new_seed()?);
    let about = manage::About::new(Scope::Agent, subject);
    let manage::Made { path, .. } = manage::keep(home, &PrivateKey::Ed25519(secret.clone()), &about, moment(since))?;
    Ok(AgentKey { secret, minted: Some(path) })
}

fn key_path(home: &Home, entry: &Entry) -> PathBuf {
    home.keys().join(format!("{}.key", entry.kid().thumbprint()))
}

fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, KeysError> {
    let failed = |source| KeysError::Io { path: directory.to_owned(), source };
    let listing = match fs::read_dir(directory) {
        Ok(listing) => listing,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(failed(err)),
    };
    let paths: Result<Vec<_>, _> = listing.map(|file| file.map(|file| file.path())).collect();
    let mut paths = paths.map_err(failed)?;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}

/// Writes a file that must not be there yet, and sees it onto the disk.
fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), KeysError> {
    let failed = |source| KeysError::Io { path: path.to_owned(), source };
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)
}

/// A key could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file cannot be read or written.
    #[error("cannot use the key file {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file holds no key that counts.
    #[error("{} is refused", path.display())]
    Refused {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: KeyError,
    },
    /// A file is far larger than any key.
    #[error("{} is refused: no key takes so much", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// An entry is not in the file of its key.
    #[error("{} is refused: the entry of {kid} must stand in {}.json", path.display(), kid.thumbprint())]
    WrongName {
        /// Which.
        path: PathBuf,
        /// The key.
        kid: KeyId,
    },
    /// What the keyring says of a key is not what is brought.
    #[error("the keyring says other things of {kid} already")]
    Known {
        /// Which.
        kid: KeyId,
    },
    /// Something that does not count would count again.
    #[error("{kid} is {standing}: a revocation can be made stricter, never weaker")]
    Revoked {
        /// Which.
        kid: KeyId,
        /// What the keyring says of it.
        standing: Revocation,
    },
    /// A new key could never be used.
    #[error("a key that counts until {end} could not sign anything any more")]
    Ended {
        /// When it would end.
        end: Timestamp,
    },
    /// No key is called that.
    #[error("no key matches `{wanted}`")]
    Unknown {
        /// What was asked for.
        wanted: String,
    },
    /// More than one key is called that.
    #[error("`{wanted}` matches {matches} keys")]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// How many.
        matches: usize,
    },
    /// The key is known, but not its private half.
    #[error("the private half of {kid} is not here")]
    NotHere {
        /// Which.
        kid: String,
    },
    /// Its dates, its use or a revocation forbid it.
    #[error("{kid} may not sign receipts now: it is for something else, out of date or revoked")]
    MayNotSign {
        /// Which.
        kid: String,
    },
    /// The directory for it cannot be made.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// No key can be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}
