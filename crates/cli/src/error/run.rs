//! Failures of runs: making them, working on them, telling them something.

use r1_runtime::agent::command::Refusal;
use r1_runtime::artifact::ArtifactError;
use r1_runtime::control::command::CommandError;
use r1_runtime::control::create::CreateError;
use r1_runtime::control::go_on::GoOnError;
use r1_runtime::control::operator::OperatorError;
use r1_runtime::control::order::OrderError;
use r1_runtime::control::patches::{ActError, PatchError};
use r1_runtime::engine::EngineError;
use r1_runtime::net::NetError;
use r1_runtime::provider::{KeyError, OpenError as ProviderOpenError, ProviderSpec};
use r1_runtime::redact::{RedactionKeyError, RedactorError};

use super::{CliError, worded};

impl From<EngineError> for CliError {
    fn from(err: EngineError) -> Self {
        match err {
            EngineError::History(err) => err.into(),
            EngineError::Fold(err) => err.into(),
            EngineError::Writer(err) => err.into(),
            EngineError::Store(err) => err.into(),
            EngineError::NoRandomness(err) => err.into(),
            err @ EngineError::LeaseLost => {
                worded(err).hint("see how it stands with `r1 runs`, go on with `r1 resume`")
            }
            err @ (EngineError::Held | EngineError::Ended | EngineError::Recorded) => worded(err),
        }
    }
}

impl From<CreateError> for CliError {
    fn from(err: CreateError) -> Self {
        match err {
            CreateError::Writer(err) => err.into(),
            CreateError::NoRandomness(err) => err.into(),
            err @ CreateError::UnknownPrice { .. } => {
                worded(err).hint("give its price in r1.toml, or leave the cost uncounted with `--allow-unknown-price`")
            }
            err @ CreateError::EmptyPrompt => worded(err).hint("for example `r1 run \"make the failing test pass\"`"),
            err @ (CreateError::Attachment { .. } | CreateError::SecretInPlan) => worded(err),
        }
    }
}

impl From<OrderError> for CliError {
    fn from(err: OrderError) -> Self {
        match err {
            OrderError::Config(err) => err.into(),
            OrderError::Provider(err) => err.into(),
            OrderError::Net(err) => err.into(),
            err @ OrderError::Gates(_) => worded(err).hint("see the gates that count with `r1 gate show`"),
            err @ OrderError::NoProvider => {
                let known = ProviderSpec::preset_names().collect::<Vec<_>>().join(", ");
                worded(err).hint(format!(
                    "say `--provider NAME --model NAME`, or set them in r1.toml (`r1 init`); known are {known}"
                ))
            }
            err @ (OrderError::NoModel { .. } | OrderError::LongModel { .. }) => {
                worded(err).hint("say `--model NAME`, or set it in r1.toml")
            }
        }
    }
}

impl From<GoOnError> for CliError {
    fn from(err: GoOnError) -> Self {
        match err {
            GoOnError::History(err) => err.into(),
            GoOnError::Create(err) => err.into(),
            err @ GoOnError::Completed { .. } => worded(err).hint("say `r1 resume RUN --message TEXT`"),
            err @ GoOnError::StillOpen { .. } => worded(err).hint("end it with `r1 cancel`, or go on with `r1 resume`"),
            err @ GoOnError::NoEvent { .. } => worded(err).hint("see its events with `r1 log show RUN`"),
            err @ GoOnError::NoCheckpoint { .. } => {
                worded(err).hint("see where one was saved with `r1 log show RUN`: `run.checkpoint_saved`")
            }
            err @ (GoOnError::TaskIsOpen { .. } | GoOnError::TaskIsBusy { .. }) => {
                worded(err).hint("see `r1 runs`; end it with `r1 cancel`, or go on with `r1 resume`")
            }
            err @ (GoOnError::AtWork { .. } | GoOnError::Draining) => worded(err),
            GoOnError::Engine(err) => err.into(),
            GoOnError::Command(err) => err.into(),
            err @ (GoOnError::Snapshot(_) | GoOnError::UnknownCheckpoint { .. }) => worded(err),
            GoOnError::Store(err) => err.into(),
        }
    }
}

impl From<CommandError> for CliError {
    fn from(err: CommandError) -> Self {
        match err {
            CommandError::Refused(err) => err.into(),
            CommandError::History(err) => err.into(),
            CommandError::Engine(err) => err.into(),
            CommandError::Store(err) => err.into(),
            err @ CommandError::StillStopping { .. } => worded(err).hint("watch it with `r1 tail RUN`"),
            err @ CommandError::NoAnswer { .. } => worded(err).hint("its process may be stopped; see `r1 runs`"),
            err @ CommandError::Leave(_) => worded(err),
        }
    }
}

impl From<Refusal> for CliError {
    fn from(err: Refusal) -> Self {
        let hint = match &err {
            Refusal::Ended => "go on in a new run with `r1 resume RUN --message TEXT`",
            Refusal::UnknownApproval { .. } | Refusal::ChangedSubject { .. } => "see what waits with `r1 approve`",
            Refusal::Paused => "go on with `r1 resume RUN`",
            Refusal::NoReason => "give it with --reason TEXT, or with --comment TEXT to an approval",
            Refusal::NothingToEdit => "to have the gates look again, use `r1 approve APPROVAL --retry`",
            Refusal::NoOpenRound | Refusal::UnknownDecision { .. } => "see what was decided with `r1 log show RUN`",
            Refusal::HumanOnly
            | Refusal::Recorded
            | Refusal::Superseded
            | Refusal::AlreadySo { .. }
            | Refusal::OtherText { .. }
            | Refusal::NoModel
            | Refusal::OtherDecision { .. }
            | Refusal::UnknownAttachment { .. }
            | Refusal::LessBudget { .. }
            | Refusal::Reserved { .. }
            | Refusal::LetsPass { .. }
            | Refusal::MemoryMoved
            | Refusal::NotABlob { .. } => return worded(err),
        };
        worded(err).hint(hint)
    }
}

impl From<ActError> for CliError {
    fn from(err: ActError) -> Self {
        match err {
            ActError::Patch(err) => err.into(),
            ActError::History(err) => err.into(),
            ActError::Command(err) => err.into(),
            ActError::Operator(err) => err.into(),
            ActError::Store(err) => err.into(),
            err @ ActError::InUse { .. } => worded(err).failed().hint("see what waits with `r1 approve`"),
            err @ (ActError::UnknownWorkspace { .. } | ActError::Workspace { .. } | ActError::NotRecorded { .. }) => {
                worded(err)
            }
        }
    }
}

impl From<PatchError> for CliError {
    fn from(err: PatchError) -> Self {
        match err {
            PatchError::Artifact(err) => err.into(),
            err @ PatchError::WrongState { .. } => worded(err).failed(),
            err @ (PatchError::Unknown { .. } | PatchError::NotAPatch { .. }) => {
                worded(err).hint("list a run's patches with `r1 patch list RUN`")
            }
            err @ PatchError::Apply(_) => worded(err).failed(),
        }
    }
}

impl From<ArtifactError> for CliError {
    fn from(err: ArtifactError) -> Self {
        worded(err)
    }
}

impl From<OperatorError> for CliError {
    fn from(err: OperatorError) -> Self {
        match err {
            OperatorError::Writer(err) => err.into(),
            OperatorError::Randomness(err) => err.into(),
            OperatorError::Store(err) => err.into(),
        }
    }
}

impl From<ProviderOpenError> for CliError {
    fn from(err: ProviderOpenError) -> Self {
        let hint = match &err {
            ProviderOpenError::Key { source: KeyError::NotSet { variable }, .. } => {
                format!("set it with `export {variable}=…`; without a key try `r1 demo`")
            }
            ProviderOpenError::Key { .. } | ProviderOpenError::NoBaseUrl { .. } | ProviderOpenError::Http { .. } => {
                "settings of providers are in r1.toml, see `r1 init`".into()
            }
            ProviderOpenError::NoScenario { .. } => "name one with `--scenario FILE`".into(),
        };
        worded(err).hint(hint)
    }
}

impl From<NetError> for CliError {
    fn from(err: NetError) -> Self {
        worded(err)
    }
}

impl From<RedactionKeyError> for CliError {
    fn from(err: RedactionKeyError) -> Self {
        worded(err).hint("see `r1 doctor`")
    }
}

impl From<RedactorError> for CliError {
    fn from(err: RedactorError) -> Self {
        worded(err)
    }
}
