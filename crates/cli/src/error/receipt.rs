//! Failures of receipts and their keys.

use r1_receipt::export::InvalidName;
use r1_runtime::control::receipt::{self, CreateError as ReceiptError, RebuildError};
use r1_runtime::instance_log::LogError;
use r1_runtime::keys::KeysError;

use super::{CliError, worded};

impl From<KeysError> for CliError {
    fn from(err: KeysError) -> Self {
        match err {
            KeysError::Home(err) => err.into(),
            KeysError::Randomness(err) => err.into(),
            err @ (KeysError::Io { .. } | KeysError::Refused { .. } | KeysError::TooLarge { .. }) => {
                worded(err).hint("see `r1 doctor`")
            }
            err @ KeysError::WrongName { .. } => worded(err).hint("rename it, or take it with `r1 key import FILE`"),
            err @ KeysError::Known { .. } => {
                worded(err).hint("see what with `r1 key show`; remove that entry first if the new one is right")
            }
            err @ KeysError::Revoked { .. } => {
                worded(err).hint("if that was a mistake, remove its entry from the keyring and import a good one")
            }
            err @ KeysError::Ended { .. } => worded(err).hint("give a later --not-after, or none"),
            err @ KeysError::Unknown { .. } => worded(err).hint("list the keys with `r1 key list`"),
            err @ KeysError::Ambiguous { .. } => worded(err).hint("type more of the id; `r1 key list` shows all"),
            err @ KeysError::NotHere { .. } => worded(err).hint("bring it with `r1 key import FILE`"),
            err @ KeysError::MayNotSign { .. } => worded(err).hint("make another with `r1 key new`"),
        }
    }
}

impl From<ReceiptError> for CliError {
    fn from(err: ReceiptError) -> Self {
        match err {
            ReceiptError::Rebuild(err) => err.into(),
            err @ ReceiptError::Corrupt(_) => worded(err).failed().hint("see what is wrong with `r1 log validate RUN`"),
            err @ ReceiptError::Open { .. } => {
                worded(err).open().hint("wait for its end, or sign what there is with `--partial`")
            }
            err @ ReceiptError::Contract(_) => {
                worded(err).failed().hint("the log says something that receipts forbid; see `r1 log show RUN`")
            }
        }
    }
}

impl From<receipt::PublishError> for CliError {
    fn from(err: receipt::PublishError) -> Self {
        match err {
            receipt::PublishError::Name(err) => err.into(),
            err @ receipt::PublishError::NoReceipt(_) => worded(err).failed(),
            receipt::PublishError::Log(err @ LogError::Io { .. }) => worded(err),
            receipt::PublishError::Log(err @ LogError::Corrupt { .. }) => worded(err)
                .failed()
                .hint("bring back what is missing, or begin another log with `r1 key new --use log`"),
        }
    }
}

impl From<InvalidName> for CliError {
    fn from(err: InvalidName) -> Self {
        worded(err).hint("name the log something like example.org/r1: `r1 key new --use log --name NAME`")
    }
}

impl From<RebuildError> for CliError {
    fn from(err: RebuildError) -> Self {
        match err {
            RebuildError::Source(err) => err.into(),
            err @ RebuildError::PrunedBlindly { .. } => worded(err).failed(),
        }
    }
}

impl From<receipt::ReadError> for CliError {
    fn from(err: receipt::ReadError) -> Self {
        worded(err)
    }
}
