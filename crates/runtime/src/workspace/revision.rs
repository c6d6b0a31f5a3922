//! Names of a file's content.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use r1_event::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// `sha256:` and the hash of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Revision(Digest);

impl Revision {
    /// The revision of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Digest::new(Sha256::digest(bytes).into()))
    }

    /// The revision of all that `source` gives.
    pub(super) fn read(mut source: impl Read) -> io::Result<Self> {
        let mut hash = Sha256::new();
        let mut piece = vec![0; 64 << 10];
        loop {
            match source.read(&mut piece) {
                Ok(0) => return Ok(Self(Digest::new(hash.finalize().into()))),
                Ok(read) => hash.update(&piece[..read]),
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl FromStr for Revision {
    type Err = NotARevision;

    fn from_str(text: &str) -> Result<Self, NotARevision> {
        let hex = text.strip_prefix("sha256:").ok_or(NotARevision)?;
        hex.parse().map(Self).map_err(|_| NotARevision)
    }
}

impl From<Revision> for String {
    fn from(revision: Revision) -> Self {
        revision.to_string()
    }
}

impl TryFrom<String> for Revision {
    type Error = NotARevision;

    fn try_from(text: String) -> Result<Self, NotARevision> {
        text.parse()
    }
}

/// A text that is no revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a revision is `sha256:` and 64 hexadecimal digits")]
pub struct NotARevision;
