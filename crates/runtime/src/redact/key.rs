//! The key that makes a secret's mark impossible to guess.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use r1_event::id::to_hex;

use crate::home::{Home, HomeError};
use crate::world::{self, NoRandomness};

/// A store's own key for the marks that stand where secrets were. Whoever has it can try guesses, so it
/// stays with the store's owner.
#[derive(Clone, PartialEq, Eq)]
pub struct RedactionKey([u8; 32]);

impl RedactionKey {
    /// This key.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key in `$R1_HOME/redaction.key`; made on first use.
    pub fn load_or_mint(home: &Home) -> Result<Self, RedactionKeyError> {
        let path = home.redaction_key();
        if let Some(key) = read(&path)? {
            return Ok(key);
        }
        home.create()?;
        let key = Self(world::new_seed()?);
        match write_new(home.path(), &path, &key) {
            Ok(()) => Ok(key),
            // Another process was faster: its key is the store's.
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                read(&path)?.ok_or(RedactionKeyError::Io { path, source: err })
            }
            Err(source) => Err(RedactionKeyError::Io { path, source }),
        }
    }

    /// The key in `$R1_HOME/redaction.key`, for marks that nobody keeps: if there is none, one that is forgotten with
    /// the process.
    pub fn load_or_improvise(home: &Home) -> Result<Self, RedactionKeyError> {
        match read(&home.redaction_key())? {
            Some(key) => Ok(key),
            None => Ok(Self(world::new_seed()?)),
        }
    }

    /// What marks this secret: 8 hexadecimal digits.
    pub(super) fn mark(&self, secret: &[u8]) -> Mark {
        let mut marker = self.marker();
        marker.update(secret);
        marker.finish()
    }

    /// For a secret that comes in pieces.
    pub(super) fn marker(&self) -> Marker {
        Marker(Box::new(blake3::Hasher::new_keyed(&self.0)))
    }
}

impl fmt::Debug for RedactionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactionKey(…)")
    }
}

/// Computes a [`Mark`].
#[derive(Clone, Debug)]
pub(super) struct Marker(Box<blake3::Hasher>);

impl Marker {
    pub(super) fn update(&mut self, secret: &[u8]) {
        self.0.update(secret);
    }

    pub(super) fn finish(&self) -> Mark {
        let hash = self.0.finalize();
        let [a, b, c, d, ..] = *hash.as_bytes();
        Mark([a, b, c, d])
    }
}

/// The same for equal secrets, and of no use to anyone without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark([u8; 4]);

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

fn read(path: &Path) -> Result<Option<RedactionKey>, RedactionKeyError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RedactionKeyError::Io { path: path.to_owned(), source }),
    };
    let key =
        blake3::Hash::from_hex(text.trim_end()).map_err(|_| RedactionKeyError::Refused { path: path.to_owned() })?;
    Ok(Some(RedactionKey(*key.as_bytes())))
}

/// Writes the whole file or none, and never over another.
fn write_new(directory: &Path, path: &Path, key: &RedactionKey) -> io::Result<()> {
    // Temporary files are their owner's alone (0600), and stay so under their new name.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    writeln!(file, "{}", to_hex(&key.0))?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(drop).map_err(|err| err.error)
}

/// The store's redaction key cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RedactionKeyError {
    /// The file cannot be read or written.
    #[error("cannot use the key file {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{} is not 64 hexadecimal digits; restore it, or move it away to get a new key", path.display())]
    Refused {
        /// Which.
        path: PathBuf,
    },
    /// The directory for it cannot be made.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// No key can be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_only_its_owner_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path().join("home"));
        let minted = RedactionKey::load_or_mint(&home).unwrap();
        assert_eq!(RedactionKey::load_or_mint(&home).unwrap(), minted);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(home.redaction_key()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_key_is_refused_and_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        fs::write(home.redaction_key(), "half a key").unwrap();
        assert!(matches!(RedactionKey::load_or_mint(&home), Err(RedactionKeyError::Refused { .. })));
        assert_eq!(fs::read_to_string(home.redaction_key()).unwrap(), "half a key");
    }

    #[test]
    fn equal_secrets_have_equal_marks_under_one_key_only() {
        let (one, two) = (RedactionKey::new([1; 32]), RedactionKey::new([2; 32]));
        assert_eq!(one.mark(b"hunter22"), one.mark(b"hunter22"));
        assert_ne!(one.mark(b"hunter22"), two.mark(b"hunter22"));
        assert_ne!(one.mark(b"hunter22"), one.mark(b"hunter23"));
    }
}
