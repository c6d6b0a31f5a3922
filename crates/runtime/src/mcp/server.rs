//! What R1 must know of an MCP server to use it.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::provider::KeySource;

/// How to reach a server: a program to start, or a URL. Holds no token, only where it is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSpec {
    /// Its name, in tool names and rules.
    pub name: String,
    /// Program and arguments, for a server that speaks on its standard streams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The variables that the program gets beside `PATH`, `HOME` and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Where it is, for a server that speaks Streamable HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The variable that holds its bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// The file that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_file: Option<PathBuf>,
    /// How long it may take to begin, in milliseconds; 0 is the usual time.
    pub connect_timeout_ms: u64,
    /// How long one call may take, in milliseconds; 0 is the usual time.
    pub call_timeout_ms: u64,
}

impl ServerSpec {
    /// Whether it can be used as it is.
    pub fn check(&self) -> Result<(), BadServer> {
        let name = || self.name.clone();
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        if self.name.is_empty() || self.name.contains("__") || !self.name.chars().all(is_name) {
            return Err(BadServer::Name { name: name() });
        }
        match (&self.url, self.command.is_empty()) {
            (None, true) | (Some(_), false) => Err(BadServer::Which { name: name() }),
            (None, false) => Ok(()),
            (Some(url), true) => match Url::parse(url) {
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(()),
                _ => Err(BadServer::Url { name: name() }),
            },
        }
    }

    /// How long it may take to begin.
    #[must_use]
    pub const fn connect_timeout(&self) -> Duration {
        or(self.connect_timeout_ms, Duration::from_secs(30))
    }

    /// How long one call may take.
    #[must_use]
    pub const fn call_timeout(&self) -> Duration {
        or(self.call_timeout_ms, Duration::from_secs(600))
    }

    /// Where its token is found.
    pub(super) fn bearer(&self) -> Option<KeySource> {
        let variable = self.bearer_env.clone().map(KeySource::Env);
        variable.or_else(|| self.bearer_file.clone().map(KeySource::File))
    }
}

const fn or(milliseconds: u64, usual: Duration) -> Duration {
    if milliseconds == 0 { usual } else { Duration::from_millis(milliseconds) }
}

/// A server that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadServer {
    /// Its name cannot be part of a tool's.
    #[error("`{name}` cannot name an MCP server; use letters, digits, `-` and single `_`")]
    Name {
        /// Which.
        name: String,
    },
    /// Neither or both.
    #[error("the MCP server `{name}` needs either a `command` or a `url`")]
    Which {
        /// Which.
        name: String,
    },
    /// No address of a server.
    #[error("`url` of the MCP server `{name}` must begin with http:// or https://")]
    Url {
        /// Which.
        name: String,
    },
}
