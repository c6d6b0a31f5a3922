//! Where a value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: it is so unless someone says otherwise.
    Default,
    /// The user's file.
    User(PathBuf),
    /// The project's file.
    Project(PathBuf),
    /// A variable.
    Environment(String),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User(path) | Self::Project(path) => path.display().fmt(f),
            Self::Environment(variable) => write!(f, "${variable}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// Where the values came from that someone set, by their dotted keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Origin>);

impl Origins {
    /// Where this value came from.
    #[must_use]
    pub fn of(&self, key: &str) -> &Origin {
        self.0.get(key).unwrap_or(&Origin::Default)
    }

    /// Every value that someone set, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.0.iter().map(|(key, origin)| (key.as_str(), origin))
    }

    pub(super) fn set(&mut self, key: String, origin: &Origin) {
        self.0.insert(key, origin.clone());
    }
}
