//! Settings that cannot be used.

use std::io;
use std::path::PathBuf;

use super::SettingsFile;
use super::origin::Origins;
use crate::mcp::BadServer;
use crate::policy::BadRule;
use crate::provider::ScenarioError;

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read the settings in {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file says something that has no meaning.
    #[error("{}:{line}: {message}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// In which line.
        line: usize,
        /// What, and what may have been meant.
        message: String,
    },
    /// A flag or a variable says something that has no meaning.
    #[error("{message}")]
    Value {
        /// What, and who said so.
        message: String,
    },
    /// A scripted provider's script cannot be played.
    #[error("the scenario {} of provider `{name}` cannot be played", path.display())]
    Scenario {
        /// The provider.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ScenarioError,
    },
    /// A rule cannot be used.
    #[error(transparent)]
    Rule(#[from] BadRule),
    /// An MCP server cannot be used.
    #[error(transparent)]
    Server(#[from] BadServer),
    /// A reviewer that names no model.
    #[error("`gates.reviewer` is `{name}`; write it as `provider/model`")]
    Reviewer {
        /// What stands there.
        name: String,
    },
    /// The provider is not known.
    #[error("there is no provider `{name}`; known are {known}, or describe it in `[providers.{name}]`")]
    Provider {
        /// Which.
        name: String,
        /// The others.
        known: String,
    },
}

impl ConfigError {
    pub(super) fn file(file: &SettingsFile, err: &toml::de::Error) -> Self {
        let at = err.span().map_or(0, |span| span.start).min(file.text.len());
        let line = file.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Self::File { path: file.path.clone(), line, message: explain(err.message()) }
    }

    /// Files were checked before: this is about what came over them.
    pub(super) fn value(origins: &Origins, err: &toml::de::Error) -> Self {
        let message = explain(err.message());
        let said: Vec<_> =
            origins.iter().map(|(_, origin)| origin.to_string()).filter(|said| !said.contains('/')).collect();
        let by = if said.is_empty() { String::new() } else { format!(" (given by {})", said.join(", ")) };
        Self::Value { message: format!("{message}{by}") }
    }
}

/// The parser's words; for a key that does not exist, with the one that was probably meant.
fn explain(message: &str) -> String {
    let Some(unknown) = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"))
    else {
        return message.to_owned();
    };
    let mut quoted = unknown.split('`');
    let given = quoted.next().unwrap_or_default();
    let known: Vec<_> = quoted.skip(1).step_by(2).collect();
    match nearest(given, &known) {
        Some(meant) => format!("`{given}` is not known here; did you mean `{meant}`?"),
        None if known.is_empty() => format!("`{given}` is not known here"),
        None => format!("`{given}` is not known here; known are `{}`", known.join("`, `")),
    }
}

/// The known name that is spelt most alike, if one is at all.
fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let candidates = known.iter().map(|name| (distance(given, name), *name));
    let (distance, name) = candidates.min()?;
    (distance <= 1 + given.chars().count() / 4).then_some(name)
}

/// How many letters must be changed, added, left out or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let plain = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                let is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if is_swapped { plain.min(rows[i - 2][j - 2] + 1) } else { plain }
            };
        }
    }
    rows[a.len()][b.len()]
}
