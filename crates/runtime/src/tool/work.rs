//! Work of tools that blocks, and how its failures reach the model.

use std::error::Error;

use super::ToolError;

/// Does work that blocks where blocking is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(err) if err.is_panic() => std::panic::resume_unwind(err.into_panic()),
        // The runtime is going down.
        Err(_) => Err(ToolError::cancelled()),
    }
}

/// The whole story of an error in a line: a model sees no chain of sources.
pub(super) fn lost(err: impl Error) -> ToolError {
    let mut message = err.to_string();
    let mut cause = err.source();
    while let Some(source) = cause {
        message = format!("{message}: {source}");
        cause = source.source();
    }
    ToolError::tool(message)
}
