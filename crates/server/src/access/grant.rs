//! What a route needs, and what a token gives.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cap {
    /// Nothing: anyone may ask.
    Public,
    /// To look.
    Read,
    /// To change something.
    Write,
    /// To add events to a run: to change something, or to be a bridge. The handler looks at which events.
    Append,
}

/// What a token gives: caps, or one narrow role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// These caps.
    Caps(Caps),
    /// This role, and nothing else.
    Role(Role),
}

/// What a caller may do beside looking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Change things.
    pub write: bool,
    /// Look into the machinery.
    pub debug: bool,
}

/// Jobs that need no caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Tells what an agent does, to the receivers of recorders: an observed agent can never approve itself.
    Ingest,
    /// Adds a bridge's events to the runs that it drives.
    Bridge,
}

impl Caps {
    /// All that there are.
    pub const ALL: Self = Self { write: true, debug: true };
}

impl Grant {
    pub(crate) const fn allows(self, need: Cap) -> bool {
        match (need, self) {
            (Cap::Public, _) | (Cap::Read, Self::Caps(_)) | (Cap::Append, Self::Role(Role::Bridge)) => true,
            (Cap::Write | Cap::Append, Self::Caps(caps)) => caps.write,
            (Cap::Read | Cap::Write, Self::Role(_)) | (Cap::Append, Self::Role(Role::Ingest)) => false,
        }
    }
}

impl Cap {
    /// As people write it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "nothing",
            Self::Read => "read",
            Self::Write | Self::Append => "write",
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caps(Caps { write: false, debug: false }) => "read",
            Self::Caps(Caps { write: true, debug: false }) => "read,write",
            Self::Caps(Caps { write: false, debug: true }) => "read,debug",
            Self::Caps(Caps { write: true, debug: true }) => "read,write,debug",
            Self::Role(Role::Ingest) => "role:ingest",
            Self::Role(Role::Bridge) => "role:bridge",
        })
    }
}

impl FromStr for Caps {
    type Err = UnknownGrant;

    /// Reads `read`, `write` and `debug` with commas between.
    fn from_str(text: &str) -> Result<Self, UnknownGrant> {
        let mut caps = Self::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "read" => {}
                "write" => caps.write = true,
                "debug" => caps.debug = true,
                _ => return Err(UnknownGrant(word.to_owned())),
            }
        }
        Ok(caps)
    }
}

impl FromStr for Role {
    type Err = UnknownGrant;

    fn from_str(text: &str) -> Result<Self, UnknownGrant> {
        match text {
            "ingest" => Ok(Self::Ingest),
            "bridge" => Ok(Self::Bridge),
            _ => Err(UnknownGrant(text.to_owned())),
        }
    }
}

/// A cap or role that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of read, write, debug, ingest, bridge")]
pub struct UnknownGrant(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_gives_its_job_and_nothing_else() {
        let (ingest, bridge) = (Grant::Role(Role::Ingest), Grant::Role(Role::Bridge));
        for need in [Cap::Read, Cap::Write, Cap::Append] {
            assert!(!ingest.allows(need), "{need:?}");
        }
        assert!(bridge.allows(Cap::Append) && !bridge.allows(Cap::Read) && !bridge.allows(Cap::Write));
    }

    #[test]
    fn write_is_never_given_by_debug() {
        let debug = Grant::Caps("debug".parse().unwrap());
        assert!(debug.allows(Cap::Read) && !debug.allows(Cap::Write));
        assert!("read,wrte".parse::<Caps>().is_err());
    }
}
