//! Reading what a model sent.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BadInput, ToolError};
use crate::workspace::WorkspacePath;

/// The input as the tool wants it.
pub(super) fn read<T: DeserializeOwned>(input: &Value) -> Result<T, BadInput> {
    T::deserialize(input).map_err(|err| BadInput(format!("the input is not what this tool takes: {err}")))
}

/// A path of the workspace below `root`, by its text alone.
pub(super) fn path(text: &str, root: &Path) -> Result<WorkspacePath, BadInput> {
    WorkspacePath::parse(text, root).map_err(|err| BadInput(err.to_string()))
}

impl From<BadInput> for ToolError {
    fn from(BadInput(message): BadInput) -> Self {
        Self::tool(message)
    }
}
