//! Keys of providers: where they come from, and that they show up nowhere.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// More than any vendor's key; a larger file is some other file.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// Looks up a variable of the caller's environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where a key is found. Settings hold this, never the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// In this environment variable.
    Env(String),
    /// In this file, which nobody else may read.
    File(PathBuf),
}

impl KeySource {
    /// Fetches the key.
    pub fn resolve(&self, environment: Environment<'_>) -> Result<Secret, KeyError> {
        let found = match self {
            Self::Env(variable) => {
                Zeroizing::new(environment(variable).ok_or_else(|| KeyError::NotSet { variable: variable.clone() })?)
            }
            Self::File(path) => read_private(path)?,
        };
        let key = found.trim();
        if key.is_empty() {
            return Err(KeyError::Empty { place: self.to_string() });
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::NotAKey { place: self.to_string() });
        }
        Ok(Secret::new(key))
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(variable) => write!(out, "the environment variable `{variable}`"),
            Self::File(path) => write!(out, "the file `{}`", path.display()),
        }
    }
}

/// A key in memory: never printed, wiped when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a copy of `key`.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(Zeroizing::new(key.to_owned()))
    }

    /// The key itself, for the header that carries it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the key in it: some servers repeat what they were sent.
    #[must_use]
    pub fn hide_in(&self, text: &str) -> String {
        text.replace(self.expose(), "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

/// A key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The variable does not exist.
    #[error("no key: set the environment variable `{variable}`, or name a key file in the provider's settings")]
    NotSet {
        /// Its name.
        variable: String,
    },
    /// The file cannot be read.
    #[error("cannot read the key file `{}`", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Other people of this machine can read the key.
    #[error("the key file `{path}` can be read by others (mode {mode:03o}): run `chmod 600 {path}`", path = path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// There is nothing in it.
    #[error("{place} is empty: put the provider's key into it")]
    Empty {
        /// Variable or file.
        place: String,
    },
    /// What is in it is no key.
    #[error("{place} holds no key: a key is one word of printable ASCII")]
    NotAKey {
        /// Variable or file.
        place: String,
    },
}

fn read_private(path: &Path) -> Result<Zeroizing<String>, KeyError> {
    let unreadable = |source| KeyError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    // Asked of the open file: the one that was looked at is the one that is read.
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("not a regular file")));
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.to_owned(), mode });
        }
    }
    if metadata.len() > MAX_KEY_BYTES {
        return Err(KeyError::NotAKey { place: KeySource::File(path.to_owned()).to_string() });
    }
    // Room for all of it at once: a string that grows leaves unwiped copies behind.
    let mut text = Zeroizing::new(String::with_capacity(MAX_KEY_BYTES as usize + 1));
    file.take(MAX_KEY_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_with(content: &str, mode: u32) -> (tempfile::TempDir, KeySource) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        (dir, KeySource::File(path))
    }

    #[test]
    fn a_key_comes_from_the_environment_that_is_passed_in() {
        let environment = |name: &str| (name == "THE_KEY").then(|| " sk-1 \n".to_owned());
        let key = KeySource::Env("THE_KEY".to_owned()).resolve(&environment).unwrap();
        assert_eq!(key.expose(), "sk-1");
        let missing = KeySource::Env("OTHER".to_owned()).resolve(&environment).unwrap_err();
        assert!(missing.to_string().contains("`OTHER`"), "{missing}");
    }

    #[test]
    fn a_key_comes_from_a_file_that_nobody_else_can_read() {
        let (_dir, source) = file_with("sk-2\n", 0o600);
        assert_eq!(source.resolve(&|_| None).unwrap().expose(), "sk-2");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_what_to_do() {
        for mode in [0o644, 0o640, 0o602] {
            let (_dir, source) = file_with("sk-2", mode);
            let refused = source.resolve(&|_| None).unwrap_err();
            assert!(matches!(refused, KeyError::Exposed { .. }), "{refused}");
            assert!(refused.to_string().contains("chmod 600"), "{refused}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        for content in ["", " \n", "two words", "schlüssel"] {
            let (_dir, source) = file_with(content, 0o600);
            let refused = source.resolve(&|_| None).unwrap_err();
            assert!(matches!(refused, KeyError::Empty { .. } | KeyError::NotAKey { .. }), "{refused}");
            assert!(content.trim().is_empty() || !refused.to_string().contains(content));
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("sk-3");
        assert_eq!(format!("{secret:?}"), "Secret");
        assert_eq!(secret.hide_in("bad key sk-3!"), "bad key [key]!");
    }
}
