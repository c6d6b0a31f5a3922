//! Ids in paths.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use crate::error::ApiError;

/// The ids in a path, by the names that the row gives them.
#[derive(Clone, Debug)]
pub(crate) struct PathIds(Vec<(String, String)>);

impl PathIds {
    /// The id of that name, as it was written.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The id of that name. A row that has none is a path that does not exist.
    pub(crate) fn id(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| ApiError::not_found("there is nothing at this path"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::not_found("the path is not UTF-8"))?;
        Ok(Self(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}

/// A run, and the task that its path names, if it does: a run that is not of that task is not found.
#[derive(Clone, Debug)]
pub(crate) struct RunPath {
    pub(crate) task_id: Option<String>,
    pub(crate) run_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let ids = PathIds::from_request_parts(parts, state).await?;
        Ok(Self { task_id: ids.get("task_id").map(str::to_owned), run_id: ids.id("run_id")?.to_owned() })
    }
}
