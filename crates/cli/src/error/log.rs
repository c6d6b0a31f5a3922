//! Failures of logs: reading, exporting, proving, pruning, erasing.

use r1_runtime::agent::FoldError;
use r1_runtime::control::checkpoint::CheckpointError;
use r1_runtime::control::export::ExportError;
use r1_runtime::control::import::ImportError;
use r1_runtime::control::proof::{ProveError, VerifyError};
use r1_runtime::control::prune::PruneError;
use r1_runtime::control::redact::RedactError;
use r1_runtime::history::HistoryError;
use r1_runtime::replay::ReplayError;
use r1_runtime::source::SourceError;

use super::{CliError, NAME_STORE, worded};

/// What whoever names a file that holds no log wants to know.
pub(crate) const READABLE: &str =
    "r1 reads its own stores and exports, CBOR sequences, and Starling's databases and NDJSON exports";

impl From<SourceError> for CliError {
    fn from(err: SourceError) -> Self {
        let hint = match err {
            SourceError::Store(err) => return err.into(),
            SourceError::Address => NAME_STORE,
            SourceError::Directory { .. } => "name a file in it, or use it as a store with `--store`",
            SourceError::Empty { .. } | SourceError::Foreign { .. } | SourceError::NotALog { .. } => READABLE,
            SourceError::Changed { .. } => "try again when nobody writes to it",
            SourceError::Io { .. } | SourceError::Database { .. } => "check that it exists and that you may read it",
        };
        worded(err).hint(hint)
    }
}

impl From<ExportError> for CliError {
    fn from(err: ExportError) -> Self {
        match err {
            ExportError::Source(err) => err.into(),
            ExportError::Output(err) => err.into(),
        }
    }
}

impl From<ImportError> for CliError {
    fn from(err: ImportError) -> Self {
        match err {
            ImportError::Source(err) => err.into(),
            ImportError::Lease(err) => err.into(),
            ImportError::Store(err) => err.into(),
            err @ ImportError::Corrupt(_) => worded(err).failed().hint("see what is wrong with `r1 log validate FILE`"),
            err @ ImportError::Different { .. } => {
                worded(err).failed().hint("keep both by importing into another store with `--store`")
            }
            err @ ImportError::Damaged { .. } => worded(err)
                .failed()
                .hint("see what is wrong with `r1 log validate RUN`; another store takes the file with `--store`"),
            err @ ImportError::Gap { .. } => {
                worded(err).failed().hint("import a file that has them, or this one into another store with `--store`")
            }
            err @ ImportError::Append(_) => worded(err)
                .hint("`r1 doctor` says whether there is room; then import again, which goes on where this ended"),
            err @ (ImportError::NoName | ImportError::Chain(_)) => worded(err),
        }
    }
}

impl From<ProveError> for CliError {
    fn from(err: ProveError) -> Self {
        match err {
            ProveError::Source(err) => err.into(),
            err @ (ProveError::Tree(_) | ProveError::Short { .. }) => {
                worded(err).hint("see how many events there are with `r1 runs`")
            }
            err @ ProveError::Unsound(_) => worded(err).failed().hint("see what is wrong with `r1 log validate RUN`"),
            err @ ProveError::Pruned => worded(err).hint("events that are still there can be proved"),
        }
    }
}

impl From<VerifyError> for CliError {
    fn from(err: VerifyError) -> Self {
        match err {
            err @ (VerifyError::NotAProof(_) | VerifyError::Newer { .. }) => {
                worded(err).hint("proofs are made with `r1 log proof RUN --seq N`")
            }
            err @ VerifyError::NotOfARun { .. } => worded(err)
                .hint("check it with a tool for C2SP's tlog-proofs, and the receipt with `r1 receipt verify`"),
            err @ (VerifyError::Field(_)
            | VerifyError::NotATlogProof
            | VerifyError::OtherEvent { .. }
            | VerifyError::Payload { .. }
            | VerifyError::NotIncluded { .. }
            | VerifyError::NotConsistent { .. }
            | VerifyError::Signature { .. }) => worded(err).failed(),
        }
    }
}

impl From<CheckpointError> for CliError {
    fn from(err: CheckpointError) -> Self {
        match err {
            CheckpointError::Store(err) => err.into(),
            CheckpointError::Source(err) => err.into(),
            err @ CheckpointError::Corrupt(_) => {
                worded(err).failed().hint("see what is wrong with `r1 log validate RUN`")
            }
            err @ CheckpointError::Empty { .. } => worded(err),
        }
    }
}

impl From<PruneError> for CliError {
    fn from(err: PruneError) -> Self {
        match err {
            PruneError::Source(err) => err.into(),
            PruneError::Store(err) => err.into(),
            err @ PruneError::Corrupt(_) => worded(err).failed().hint("see what is wrong with `r1 log validate RUN`"),
            err @ (PruneError::V1 { .. }
            | PruneError::Operator { .. }
            | PruneError::Open { .. }
            | PruneError::Terminal { .. }
            | PruneError::Nothing { .. }) => worded(err),
        }
    }
}

impl CliError {
    /// What was asked is done, but bytes of it can still be found by whoever reads the store's files.
    pub(crate) fn left(done: &str, reason: String, remedy: String) -> Self {
        Self::new(format!("{done}, but bytes of them are still in the store's files"))
            .because(reason)
            .hint(remedy)
            .failed()
    }
}

impl From<RedactError> for CliError {
    fn from(err: RedactError) -> Self {
        match err {
            RedactError::Writer(err) => err.into(),
            RedactError::Randomness(err) => err.into(),
            RedactError::Store(err) => err.into(),
            RedactError::Source(err) => err.into(),
            err @ RedactError::Tampered { .. } => {
                worded(err).failed().hint("see what is wrong with `r1 log validate RUN`")
            }
            err @ (RedactError::Protected { .. } | RedactError::V1 { .. } | RedactError::Nothing { .. }) => worded(err),
        }
    }
}

impl From<HistoryError> for CliError {
    fn from(err: HistoryError) -> Self {
        match err {
            HistoryError::Store(err) => err.into(),
            err @ HistoryError::Fold { .. } => {
                worded(err).hint("look at it with `r1 log show`, check it with `r1 log validate`")
            }
            err @ HistoryError::TooDeep { .. } => worded(err),
        }
    }
}

impl From<FoldError> for CliError {
    fn from(err: FoldError) -> Self {
        worded(err).hint("look at the run with `r1 log show`, check it with `r1 log validate`")
    }
}

impl From<ReplayError> for CliError {
    fn from(err: ReplayError) -> Self {
        match err {
            ReplayError::Fold(err) => err.into(),
            ReplayError::History(err) => err.into(),
            ReplayError::Store(err) => err.into(),
            err @ (ReplayError::Recorded { .. } | ReplayError::NoLoop { .. }) => worded(err),
        }
    }
}
