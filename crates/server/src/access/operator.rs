//! The operator's token: minted when the server is first started, and the same ever after.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use r1_runtime::world::NoRandomness;

use super::secret::{self, Hashed};

/// What all of R1's tokens begin with.
pub(crate) const PREFIX: &str = "r1t_";

/// Fewer characters are no secret.
const SHORTEST: usize = 32;

/// The operator's token, as the server knows it.
///
/// A token in a file is read again when the file was changed, so that one that was replaced is refused from
/// then on.
#[derive(Clone, Debug)]
pub struct OperatorToken(Source);

#[derive(Clone, Debug)]
enum Source {
    Given(Hashed),
    File { path: PathBuf, seen: Arc<Mutex<Seen>> },
}

/// A file as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    stamp: Stamp,
    token: Hashed,
}

/// What changes when a file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: u64,
}

impl OperatorToken {
    /// A token that was given to the process.
    pub fn given(token: &str) -> Result<Self, OperatorTokenError> {
        Ok(Self(Source::Given(Hashed::of(fit(token, Path::new("R1_TOKEN"))?))))
    }

    /// The token in a file that is there.
    pub fn in_file(path: impl Into<PathBuf>) -> Result<Self, OperatorTokenError> {
        let path = path.into();
        let (_, seen) = read(&path)?;
        Ok(Self(Source::File { path, seen: Arc::new(Mutex::new(seen)) }))
    }

    /// The token in a file; if there is none, a new one, which is returned beside it to be shown once.
    pub fn load_or_mint(path: impl Into<PathBuf>) -> Result<(Self, Option<String>), OperatorTokenError> {
        let path = path.into();
        match Self::in_file(&path) {
            Err(OperatorTokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let token = replace(&path, false)?;
                Ok((Self::in_file(path)?, token))
            }
            loaded => Ok((loaded?, None)),
        }
    }

    /// Puts a new token in the place of the one in a file, and returns it.
    pub fn rotate(path: &Path) -> Result<String, OperatorTokenError> {
        let token = replace(path, true)?;
        token.ok_or_else(|| OperatorTokenError::Unfit { path: path.to_owned() })
    }

    /// The token that a file holds.
    pub fn read(path: &Path) -> Result<String, OperatorTokenError> {
        Ok(read(path)?.0)
    }

    /// Whether this is the token. While the file cannot be read no token is; the log says why.
    pub(super) fn is(&self, token: &str) -> bool {
        match &self.0 {
            Source::Given(known) => known.is_of(token),
            Source::File { path, seen } => {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if Some(seen.stamp) != stamp(path).ok() {
                    match read(path) {
                        Ok((_, now)) => *seen = now,
                        Err(err) => {
                            tracing::error!(cause = %err, "the operator's token cannot be read");
                            return false;
                        }
                    }
                }
                seen.token.is_of(token)
            }
        }
    }
}

fn fit<'a>(token: &'a str, path: &Path) -> Result<&'a str, OperatorTokenError> {
    let token = token.trim();
    let fit = token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic());
    if fit { Ok(token) } else { Err(OperatorTokenError::Unfit { path: path.to_owned() }) }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let meta = fs::metadata(path)?;
    Ok(Stamp {
        modified: meta.modified().ok(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(&meta),
    })
}

fn read(path: &Path) -> Result<(String, Seen), OperatorTokenError> {
    let failed = |source| OperatorTokenError::Io { path: path.to_owned(), source };
    // The stamp first: if the file changes in between, it is read again.
    let stamp = stamp(path).map_err(failed)?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).map_err(failed)?);
        if mode & 0o077 != 0 {
            return Err(OperatorTokenError::Open { path: path.to_owned() });
        }
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let token = fit(&text, path)?;
    Ok((token.to_owned(), Seen { stamp, token: Hashed::of(token) }))
}

/// Writes a new token; over another only if asked to. `None` if one was there.
fn replace(path: &Path, over: bool) -> Result<Option<String>, OperatorTokenError> {
    let failed = |source| OperatorTokenError::Io { path: path.to_owned(), source };
    let token = secret::mint(PREFIX)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Temporary files are their owner's alone (0600), and stay so under their new name.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    writeln!(file, "{token}").map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    let kept = if over { file.persist(path) } else { file.persist_noclobber(path) };
    match kept {
        Ok(_) => Ok(Some(token)),
        Err(err) if !over && err.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(err) => Err(failed(err.error)),
    }
}

/// The operator's token cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OperatorTokenError {
    /// The file cannot be read or written.
    #[error("cannot use the token file {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What is there is no token.
    #[error("the token of {} must be one line of at least {SHORTEST} visible ASCII characters", path.display())]
    Unfit {
        /// Where.
        path: PathBuf,
    },
    /// Others can read it.
    #[error("others can read the token file {}; `chmod 600` it, and replace the token: `r1 ctl token rotate`", path.display())]
    Open {
        /// Which.
        path: PathBuf,
    },
    /// No random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_minted_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let (known, minted) = OperatorToken::load_or_mint(&path).unwrap();
        let minted = minted.unwrap();
        assert!(minted.starts_with("r1t_") && minted.len() == 4 + 43, "{minted}");
        assert!(known.is(&minted) && !known.is("r1t_"));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{minted}\n"));
        let (again, none) = OperatorToken::load_or_mint(&path).unwrap();
        assert!(none.is_none() && again.is(&minted));
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&path).unwrap()) & 0o777, 0o600);
    }

    #[test]
    fn a_replaced_token_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let (known, old) = OperatorToken::load_or_mint(&path).unwrap();
        let new = OperatorToken::rotate(&path).unwrap();
        assert!(known.is(&new));
        assert!(!known.is(&old.unwrap()));
    }

    #[test]
    fn a_damaged_file_admits_nobody_until_it_is_mended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let (known, old) = OperatorToken::load_or_mint(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!known.is(&old.unwrap()));
        let (_, new) = OperatorToken::load_or_mint(&path).unwrap();
        assert!(known.is(&new.unwrap()));
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        OperatorToken::load_or_mint(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(OperatorToken::in_file(&path), Err(OperatorTokenError::Open { .. })));
    }

    #[test]
    fn a_short_word_is_no_token() {
        assert!(matches!(OperatorToken::given("secret"), Err(OperatorTokenError::Unfit { .. })));
        assert!(matches!(OperatorToken::given(""), Err(OperatorTokenError::Unfit { .. })));
    }
}
