//! The files of a keyring: one entry each, named after its key.

use std::error::Error as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use r1_event::KeyId;
use r1_receipt::key::{Entry, KnownKey};

use super::{KeysError, files};

/// Far more than any key takes.
const MAX_FILE: u64 = 64 << 10;

/// Public keys for checking receipts.
#[derive(Debug, Default)]
pub struct KnownKeys {
    /// The keys, in order of their file names. Weak ones too: they have a verdict of their own.
    pub keys: Vec<KnownKey>,
    /// Files that were refused, and why.
    pub refused: Vec<KeysError>,
}

impl KnownKeys {
    /// Only the keys of these files: keyring entries, JWKs or SPKI PEM files, the last two without scope or dates.
    pub fn of_files(paths: &[PathBuf]) -> Result<Self, KeysError> {
        let keys = paths.iter().map(|path| read_brought(path)).collect::<Result<_, _>>()?;
        Ok(Self { keys, refused: Vec::new() })
    }

    /// What is wrong with the files that were refused, in a line each.
    pub fn complaints(&self) -> impl Iterator<Item = String> {
        self.refused.iter().map(|err| match err.source() {
            Some(cause) => format!("{err}: {cause}"),
            None => err.to_string(),
        })
    }
}

/// Reads every key of a keyring directory that can sign receipts; a directory that is not there has none.
pub fn known_keys(directory: &Path) -> Result<KnownKeys, KeysError> {
    let mut known = KnownKeys::default();
    for path in files(directory, "json")? {
        match read_known(&path) {
            Ok(key) => known.keys.extend(key),
            Err(err) => known.refused.push(err),
        }
    }
    Ok(known)
}

/// The key of a file; `None` if it is of a kind that signs other things.
fn read_known(path: &Path) -> Result<Option<KnownKey>, KeysError> {
    let content = read_regular(path)?;
    let key = match Entry::from_json(&content) {
        Ok(entry) => {
            check_name(path, entry.kid())?;
            return Ok(KnownKey::of_entry(entry));
        }
        Err(_) => KnownKey::from_entry_file(&content).map_err(|source| refused(path, source))?,
    };
    check_name(path, key.kid())?;
    Ok(Some(key))
}

/// The key of a file that somebody names.
pub(super) fn read_brought(path: &Path) -> Result<KnownKey, KeysError> {
    KnownKey::from_file(&read_bounded(path)?).map_err(|source| refused(path, source))
}

/// Reads an entry from the file of its key.
pub(super) fn read_entry(path: &Path) -> Result<Entry, KeysError> {
    let entry = Entry::from_json(&read_regular(path)?).map_err(|source| refused(path, source))?;
    check_name(path, entry.kid())?;
    Ok(entry)
}

/// Reads a file that somebody brings, unless it is far larger than any key.
pub(super) fn read_bounded(path: &Path) -> Result<Vec<u8>, KeysError> {
    let failed = |source| KeysError::Io { path: path.to_owned(), source };
    let mut content = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut content)).map_err(failed)?;
    if content.len() as u64 > MAX_FILE {
        return Err(KeysError::TooLarge { path: path.to_owned() });
    }
    Ok(content)
}

/// The same of a file that lies in the keyring, where nobody writes into a pipe.
fn read_regular(path: &Path) -> Result<Vec<u8>, KeysError> {
    let failed = |source| KeysError::Io { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("this is not a file")));
    }
    read_bounded(path)
}

/// One file for each key: otherwise a revocation could stand beside an entry that knows nothing of it.
fn check_name(path: &Path, kid: &KeyId) -> Result<(), KeysError> {
    if path.file_stem().is_some_and(|stem| stem == kid.thumbprint()) {
        return Ok(());
    }
    Err(KeysError::WrongName { path: path.to_owned(), kid: kid.clone() })
}

fn refused(path: &Path, source: r1_receipt::key::KeyError) -> KeysError {
    KeysError::Refused { path: path.to_owned(), source }
}
