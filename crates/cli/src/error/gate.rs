//! Failures of gates.

use r1_runtime::control::gate::{NoComparison, NoGate, PrepareError};
use r1_runtime::gate::PresetError;

use super::{CliError, worded};

impl From<PresetError> for CliError {
    fn from(err: PresetError) -> Self {
        let hint = match &err {
            PresetError::Missing { .. } => Some("`r1 gate init` writes one to edit"),
            PresetError::BadYaml { .. } | PresetError::BadShape { .. } => {
                Some("docs/gates.md says what a preset may have")
            }
            PresetError::Unknown { .. } => None,
        };
        let error = worded(err);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<NoGate> for CliError {
    fn from(err: NoGate) -> Self {
        worded(err).hint("see them with `r1 gate show`")
    }
}

impl From<NoComparison> for CliError {
    fn from(err: NoComparison) -> Self {
        worded(err).hint("gates look at what changed since a commit: go into a git repository, or name a revision of it with `--base`")
    }
}

impl From<PrepareError> for CliError {
    fn from(err: PrepareError) -> Self {
        worded(err)
    }
}
