//! What becomes of callers when a transaction fails.

use std::sync::Arc;

use r1_event::RunId;
use rusqlite::ErrorCode;

use crate::error::{AppendError, BlobError, CommandError, LeaseError, Source, StoreError};

/// Why a job was not done, or may not have been.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Nothing was written.
    RolledBack(Arc<rusqlite::Error>),
    /// The commit was not confirmed.
    Unknown(Arc<rusqlite::Error>),
    /// An earlier write failed.
    Poisoned(Arc<str>),
    /// The store is closed.
    Closed,
    /// The store was opened for reading only.
    ReadOnly,
    /// The writing thread is gone without an answer.
    Lost,
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Refusal {
    #[error("the store was opened for reading only")]
    ReadOnly,
    #[error("the writing thread ended unexpectedly")]
    Lost,
}

impl Failure {
    pub(super) fn append(self, run: RunId) -> AppendError {
        match self {
            Self::RolledBack(err) => AppendError::Failed { run, source: Box::new(err) },
            Self::Unknown(err) => AppendError::OutcomeUnknown { run, source: Box::new(err) },
            Self::Poisoned(reason) => AppendError::Poisoned { reason: reason.as_ref().into() },
            Self::Closed => AppendError::Failed { run, source: Box::new(StoreError::Closed) },
            Self::ReadOnly => AppendError::Failed { run, source: Box::new(Refusal::ReadOnly) },
            Self::Lost => AppendError::OutcomeUnknown { run, source: Box::new(Refusal::Lost) },
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::RolledBack(err) | Failure::Unknown(err) => backend(err),
            Failure::Poisoned(reason) => Self::Poisoned { reason: reason.as_ref().into() },
            Failure::Closed => Self::Closed,
            Failure::ReadOnly => backend(Refusal::ReadOnly),
            Failure::Lost => backend(Refusal::Lost),
        }
    }
}

impl From<Failure> for LeaseError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

impl From<Failure> for BlobError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

/// Any failure beneath the store.
pub(super) fn backend(source: impl Into<Source>) -> StoreError {
    StoreError::Backend { backend: "sqlite", source: source.into() }
}

impl From<rusqlite::Error> for StoreError {
    fn from(err: rusqlite::Error) -> Self {
        backend(err)
    }
}

/// Whether another process held the file for longer than we wait.
pub(super) fn is_busy(err: &rusqlite::Error) -> bool {
    matches!(err.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
