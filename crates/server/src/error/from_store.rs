//! What the store says, as a client is told.

use std::error::Error as StdError;

use r1_store::{AppendError, BlobError, CommandError, LeaseError, StoreError};

use super::{ApiError, in_full};

/// When a store that is away may be back. By then it was waited for already, while the request was open.
const RETRY_SECONDS: u32 = 5;

impl From<StoreError> for ApiError {
    fn from(err: StoreError) -> Self {
        match &err {
            StoreError::NoRun { .. } | StoreError::NoEvent { .. } => Self::not_found(err.to_string()),
            StoreError::Refused { .. } => Self::conflict(err.to_string()),
            StoreError::Poisoned { .. } | StoreError::Closed => unusable(),
            StoreError::Unavailable { .. } => away(&err),
            StoreError::Damaged { .. } | StoreError::Backend { .. } | StoreError::UnfitDocument { .. } => {
                Self::internal(&err)
            }
        }
    }
}

impl From<AppendError> for ApiError {
    fn from(err: AppendError) -> Self {
        match &err {
            AppendError::Conflict { .. } | AppendError::Fenced { .. } | AppendError::CommandWithdrawn { .. } => {
                Self::conflict("another writer was faster").retry_after(1)
            }
            AppendError::NoteMoved { .. } => still_running(),
            AppendError::Finished { .. } => Self::append_only(err.to_string()),
            AppendError::Poisoned { .. } => unusable(),
            AppendError::Unavailable { .. } => away(&err),
            AppendError::OutcomeUnknown { .. } => {
                away(&err).hint("it may have been done: look first, or ask again with the same Idempotency-Key")
            }
            AppendError::BlobMissing { .. } | AppendError::Failed { .. } => Self::internal(&err),
        }
    }
}

impl From<LeaseError> for ApiError {
    fn from(err: LeaseError) -> Self {
        match err {
            LeaseError::Held { .. } | LeaseError::Lost { .. } => {
                Self::conflict("somebody else is writing to the run").retry_after(1)
            }
            LeaseError::Store(err) => err.into(),
        }
    }
}

impl From<CommandError> for ApiError {
    fn from(err: CommandError) -> Self {
        match err {
            CommandError::NoRun { .. } => Self::not_found(err.to_string()),
            CommandError::Ended { .. } => Self::append_only(err.to_string()),
            CommandError::Full { .. } => Self::too_many(err.to_string(), 1),
            CommandError::Unfit { .. } => Self::validation(err.to_string()),
            CommandError::Store(err) => err.into(),
        }
    }
}

impl From<BlobError> for ApiError {
    fn from(err: BlobError) -> Self {
        match err {
            BlobError::NotFound { .. } => Self::not_found(err.to_string()),
            BlobError::Input(_) => Self::validation("the body broke off"),
            BlobError::Damaged { .. } => Self::internal(&err),
            BlobError::Store(err) => err.into(),
        }
    }
}

/// The same request is being carried out right now.
pub(crate) fn still_running() -> ApiError {
    ApiError::conflict("a request with this Idempotency-Key is still being carried out").retry_after(1)
}

/// The store does not answer for now. Why is for the server's own log.
fn away(cause: &dyn StdError) -> ApiError {
    tracing::warn!(cause = in_full(cause), "the store does not answer");
    ApiError::crash_recovery("the store does not answer for now").retry_after(RETRY_SECONDS)
}

fn unusable() -> ApiError {
    ApiError::crash_recovery("the store takes no more writes until the server is started again")
}
