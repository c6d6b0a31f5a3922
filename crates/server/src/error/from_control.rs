//! What the control layer says, as a client is told: the one place that gives each refusal its code.

use r1_runtime::agent::FoldError;
use r1_runtime::agent::command::Refusal;
use r1_runtime::config::ConfigError;
use r1_runtime::control::attach::AttachError;
use r1_runtime::control::command::CommandError;
use r1_runtime::control::create::CreateError;
use r1_runtime::control::go_on::GoOnError;
use r1_runtime::control::operator::OperatorError;
use r1_runtime::control::order::OrderError;
use r1_runtime::control::patches::{ActError, PatchError};
use r1_runtime::control::receipt::RebuildError;
use r1_runtime::control::task::TaskError;
use r1_runtime::engine::EngineError;
use r1_runtime::history::HistoryError;
use r1_runtime::patch::ApplyError;
use r1_runtime::source::SourceError;
use r1_runtime::writer::WriterError;

use super::{ApiError, still_running};

impl From<Refusal> for ApiError {
    fn from(err: Refusal) -> Self {
        let message = err.to_string();
        match err {
            Refusal::Ended => Self::append_only(message).hint("go on in a new run: POST …/resume with a message"),
            Refusal::Recorded => Self::append_only(message),
            Refusal::Superseded => still_running(),
            Refusal::UnknownApproval { .. } => Self::not_found(message).hint("GET /hecate/v1/approvals lists them"),
            Refusal::UnknownAttachment { .. } => Self::invalid("/artifact_ids", message),
            Refusal::ChangedSubject { .. } => Self::conflict(message).hint("read the approval again, and decide then"),
            Refusal::HumanOnly => Self::permission_denied(message),
            Refusal::Paused => Self::crash_recovery(message).hint("POST …/resume, then send it again"),
            Refusal::LessBudget { .. } => Self::conflict(message),
            Refusal::Reserved { .. } => Self::permission_denied(message),
            Refusal::NoReason => Self::invalid("/comment", message),
            Refusal::NothingToEdit => Self::invalid("/edited_input", message),
            Refusal::UnknownDecision { .. } => Self::not_found(message),
            Refusal::AlreadySo { .. }
            | Refusal::NoOpenRound
            | Refusal::LetsPass { .. }
            | Refusal::OtherDecision { .. }
            | Refusal::OtherText { .. }
            | Refusal::NoModel
            | Refusal::MemoryMoved
            | Refusal::NotABlob { .. } => Self::conflict(message),
        }
    }
}

impl From<CommandError> for ApiError {
    fn from(err: CommandError) -> Self {
        match err {
            CommandError::Refused(err) => err.into(),
            CommandError::History(err) => err.into(),
            CommandError::Engine(err) => err.into(),
            CommandError::Leave(err) => err.into(),
            CommandError::Store(err) => err.into(),
            CommandError::NoAnswer { .. } => {
                Self::timeout(err.to_string()).hint("its worker is busy or gone; ask again")
            }
            CommandError::StillStopping { .. } => Self::timeout(err.to_string()),
        }
    }
}

impl From<HistoryError> for ApiError {
    fn from(err: HistoryError) -> Self {
        match err {
            HistoryError::Store(err) => err.into(),
            HistoryError::Fold { run, source: FoldError::Foreign } => {
                Self::append_only(format!("run {run} was imported; nothing can be added to it"))
            }
            HistoryError::Fold { source: FoldError::UnknownSpec, .. } => {
                Self::schema_version("the run was made by a newer R1; use a newer server")
            }
            HistoryError::Fold { source: FoldError::Erased { seq }, .. } => {
                Self::conflict(format!("event {} of the run was erased, so it cannot go on", seq.get() - 1))
            }
            err @ (HistoryError::Fold { .. } | HistoryError::TooDeep { .. }) => Self::internal(&err),
        }
    }
}

impl From<WriterError> for ApiError {
    fn from(err: WriterError) -> Self {
        match err {
            WriterError::Lease(err) => err.into(),
            WriterError::Append(err) => err.into(),
            WriterError::Store(err) => err.into(),
            err @ WriterError::Chain(_) => Self::internal(&err),
        }
    }
}

impl From<EngineError> for ApiError {
    fn from(err: EngineError) -> Self {
        let message = err.to_string();
        match err {
            EngineError::History(err) => err.into(),
            EngineError::Writer(err) => err.into(),
            EngineError::Store(err) => err.into(),
            EngineError::Held => Self::conflict(message).hint("POST /hecate/v1/tasks/{task_id}/start"),
            EngineError::Ended | EngineError::Recorded => Self::append_only(message),
            EngineError::LeaseLost => Self::crash_recovery(message),
            err @ (EngineError::Fold(_) | EngineError::NoRandomness(_)) => Self::internal(&err),
        }
    }
}

impl From<CreateError> for ApiError {
    fn from(err: CreateError) -> Self {
        let message = err.to_string();
        match err {
            CreateError::EmptyPrompt => Self::invalid("/prompt", message),
            CreateError::SecretInPlan => Self::invalid("", message),
            CreateError::UnknownPrice { .. } => Self::invalid("/budget/micros_usd", message)
                .hint("give the price of the model in R1's settings, or set `run.allow_unknown_price`"),
            CreateError::Attachment { source, .. } => source.into(),
            CreateError::Writer(err) => err.into(),
            err @ CreateError::NoRandomness(_) => Self::internal(&err),
        }
    }
}

impl From<GoOnError> for ApiError {
    fn from(err: GoOnError) -> Self {
        let message = err.to_string();
        match err {
            GoOnError::Completed { .. } => Self::conflict(message),
            GoOnError::StillOpen { .. } => Self::conflict(message).hint("cancel it first, or resume it as it is"),
            GoOnError::TaskIsOpen { .. } => Self::conflict(message).hint("cancel it, or wait until it has ended"),
            GoOnError::TaskIsBusy { .. } => Self::conflict(message).retry_after(1),
            GoOnError::AtWork { .. } => Self::conflict(message).hint("POST …/messages tells it something"),
            GoOnError::Draining => Self::crash_recovery(message),
            GoOnError::NoEvent { .. } => Self::conflict(message),
            GoOnError::UnknownCheckpoint { .. } => Self::invalid("/checkpoint_id", message),
            GoOnError::NoCheckpoint { .. } => Self::conflict(message),
            GoOnError::Snapshot(_) => Self::conflict(message).hint("its snapshots may be on another machine"),
            GoOnError::History(err) => err.into(),
            GoOnError::Engine(err) => err.into(),
            GoOnError::Command(err) => err.into(),
            GoOnError::Create(err) => err.into(),
            GoOnError::Store(err) => err.into(),
        }
    }
}

impl From<OrderError> for ApiError {
    fn from(err: OrderError) -> Self {
        let message = err.to_string();
        match err {
            OrderError::NoProvider => Self::invalid("/provider", message),
            OrderError::NoModel { .. } | OrderError::LongModel { .. } => Self::invalid("/model", message),
            OrderError::Config(err) => err.into(),
            OrderError::Provider(_) => {
                Self::invalid("/provider", message).hint("set its key where the server runs, or use another provider")
            }
            err @ (OrderError::Net(_) | OrderError::Gates(_)) => Self::internal(&err),
        }
    }
}

impl From<ConfigError> for ApiError {
    fn from(err: ConfigError) -> Self {
        match err {
            ConfigError::Provider { .. } => Self::invalid("/provider", err.to_string()),
            // The files are on the server, and what is wrong with them is for its log.
            err => Self::internal(&err),
        }
    }
}

impl From<TaskError> for ApiError {
    fn from(err: TaskError) -> Self {
        let message = err.to_string();
        match err {
            TaskError::Invalid(details) => {
                let error = Self::validation(message);
                details.into_iter().fold(error, |error, detail| error.detail(detail.path, detail.reason))
            }
            TaskError::Unknown { .. } => Self::not_found(message).hint("GET /hecate/v1/tasks lists all tasks"),
            TaskError::Reserved { .. } => Self::permission_denied(message),
            TaskError::Order(err) => err.into(),
            TaskError::Config(err) => err.into(),
            TaskError::Create(err) => err.into(),
            TaskError::Command(err) => err.into(),
            TaskError::GoOn(err) => err.into(),
            TaskError::History(err) => err.into(),
            TaskError::Ledger(RebuildError::Source(err)) => err.into(),
            err @ TaskError::Ledger(RebuildError::PrunedBlindly { .. }) => Self::internal(&err),
            TaskError::Operator(err) => err.into(),
            TaskError::Store(err) => err.into(),
        }
    }
}

impl From<SourceError> for ApiError {
    fn from(err: SourceError) -> Self {
        match err {
            SourceError::Store(err) => err.into(),
            // Of files and other programs, which are not served.
            err => Self::internal(&err),
        }
    }
}

impl From<OperatorError> for ApiError {
    fn from(err: OperatorError) -> Self {
        match err {
            OperatorError::Writer(err) => err.into(),
            OperatorError::Store(err) => err.into(),
            err @ OperatorError::Randomness(_) => Self::internal(&err),
        }
    }
}

impl From<AttachError> for ApiError {
    fn from(err: AttachError) -> Self {
        let message = err.to_string();
        match err {
            AttachError::TooMuch { .. } => Self::too_many(message, 3600).hint("prune artifacts, or use another task"),
            AttachError::Command(err) => err.into(),
            AttachError::History(err) => err.into(),
            AttachError::Blob(err) => err.into(),
            AttachError::Store(err) => err.into(),
        }
    }
}

impl From<ActError> for ApiError {
    fn from(err: ActError) -> Self {
        let message = err.to_string();
        match err {
            ActError::Patch(err) => err.into(),
            ActError::InUse { .. } | ActError::UnknownWorkspace { .. } => Self::conflict(message),
            ActError::Workspace { .. } => Self::conflict(message).hint("it may be on another machine"),
            ActError::NotRecorded { .. } => Self::conflict(message).retry_after(1),
            ActError::History(err) => err.into(),
            ActError::Command(err) => err.into(),
            ActError::Operator(err) => err.into(),
            ActError::Store(err) => err.into(),
        }
    }
}

impl From<PatchError> for ApiError {
    fn from(err: PatchError) -> Self {
        let message = err.to_string();
        match err {
            PatchError::Unknown { .. } => Self::not_found(message),
            PatchError::NotAPatch { .. } | PatchError::WrongState { .. } => Self::conflict(message),
            PatchError::Apply(err) => err.into(),
            err @ PatchError::Artifact(_) => Self::internal(&err),
        }
    }
}

impl From<ApplyError> for ApiError {
    fn from(err: ApplyError) -> Self {
        match err {
            ApplyError::Conflict(found) => {
                let error = Self::conflict(found.to_string())
                    .hint("look at the files; with `allow_offset: true` hunks may move to where they fit");
                found.paths.iter().fold(error, |error, path| {
                    let revision = |revision: &Option<r1_runtime::workspace::Revision>| {
                        revision.as_ref().map_or_else(|| "no file".to_owned(), ToString::to_string)
                    };
                    let fit = path.hunks.iter().filter(|hunk| hunk.places == 1).count();
                    let reason = format!(
                        "expected {}, found {}; {fit} of {} hunks would still apply",
                        revision(&path.expected),
                        revision(&path.actual),
                        path.hunks.len()
                    );
                    error.detail(path.path.to_string(), reason)
                })
            }
            err @ (ApplyError::Twice { .. } | ApplyError::Workspace(_)) => Self::conflict(err.line()),
            err @ (ApplyError::Lock(_) | ApplyError::HalfDone { .. }) => Self::internal(&err),
        }
    }
}
