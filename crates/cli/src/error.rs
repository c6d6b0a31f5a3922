//! Failures as a person reads them: what happened, why, and what to do next. Worded once, here.

mod gate;

use std::error::Error;
use std::fmt;
use std::io;

use r1_runtime::ResolveError;
use r1_runtime::agent::FoldError;
use r1_runtime::agent::command::Refusal;
use r1_runtime::artifact::ArtifactError;
use r1_runtime::config::ConfigError;
use r1_runtime::control::checkpoint::CheckpointError;
use r1_runtime::control::command::CommandError;
use r1_runtime::control::create::CreateError;
use r1_runtime::control::events::EventsError;
use r1_runtime::control::export::ExportError;
use r1_runtime::control::go_on::GoOnError;
use r1_runtime::control::import::ImportError;
use r1_runtime::control::operator::OperatorError;
use r1_runtime::control::order::OrderError;
use r1_runtime::control::patches::{ActError, PatchError};
use r1_runtime::control::proof::{ProveError, VerifyError};
use r1_runtime::control::prune::PruneError;
use r1_runtime::control::receipt::{self, CreateError as ReceiptError, RebuildError};
use r1_runtime::control::redact::RedactError;
use r1_runtime::control::stoke::{NodesError, PrintError, StokeExportError};
use r1_runtime::engine::EngineError;
use r1_runtime::history::HistoryError;
use r1_runtime::home::HomeError;
use r1_runtime::keys::KeysError;
use r1_runtime::location::LocationError;
use r1_runtime::net::NetError;
use r1_runtime::provider::{KeyError, OpenError as ProviderOpenError, ProviderSpec};
use r1_runtime::redact::{RedactionKeyError, RedactorError};
use r1_runtime::replay::ReplayError;
use r1_runtime::source::SourceError;
use r1_runtime::world::NoRandomness;
use r1_runtime::writer::WriterError;
use r1_server::access::{OperatorTokenError, TokenError};
use r1_server::listen::{ListenError, TlsError};
use r1_store::{LeaseError, OpenError, StoreError};

use crate::exit::Exit;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
    exit: Exit,
}

impl CliError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, hint: None, exit: Exit::Usage }
    }

    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// For an answer that is no, rather than a failure to answer.
    pub(crate) const fn failed(mut self) -> Self {
        self.exit = Exit::Failed;
        self
    }

    /// For a server that is not there.
    pub(crate) const fn no_daemon(mut self) -> Self {
        self.exit = Exit::NoDaemon;
        self
    }

    /// For what cannot be done yet.
    pub(crate) const fn open(mut self) -> Self {
        self.exit = Exit::Open;
        self
    }

    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Every cause, outermost first, each said once.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.cause.as_deref().map(|cause| cause as &dyn Error);
        while let Some(cause) = next {
            let text = cause.to_string();
            if !self.message.contains(&text) && causes.last() != Some(&text) {
                causes.push(text);
            }
            next = cause.source();
        }
        causes
    }

    /// Whether all that went wrong is that nobody reads our output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let is_closed = |cause: &(dyn Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|err| err.kind() == io::ErrorKind::BrokenPipe)
        };
        self.is_caused_by(is_closed)
    }

    /// Whether what failed is the store, and not what was asked of it.
    pub(crate) fn is_of_the_store(&self) -> bool {
        self.is_caused_by(|cause| cause.is::<StoreError>() || cause.is::<OpenError>())
    }

    fn is_caused_by(&self, is_it: impl Fn(&(dyn Error + 'static)) -> bool) -> bool {
        let mut next = self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static));
        while let Some(cause) = next {
            if is_it(cause) {
                return true;
            }
            next = cause.source();
        }
        false
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Takes an error's own words as the message, and its causes as ours.
fn worded(err: impl Error + Send + Sync + 'static) -> CliError {
    CliError::new(err.to_string()).because(err)
}

impl From<io::Error> for CliError {
    fn from(err: io::Error) -> Self {
        Self::new("cannot write the output").because(err)
    }
}

impl From<NoRandomness> for CliError {
    fn from(err: NoRandomness) -> Self {
        worded(err)
    }
}

impl From<HomeError> for CliError {
    fn from(err: HomeError) -> Self {
        worded(err).hint("set R1_HOME to a directory that you can write to")
    }
}

impl From<KeysError> for CliError {
    fn from(err: KeysError) -> Self {
        match err {
            KeysError::Home(err) => err.into(),
            KeysError::Randomness(err) => err.into(),
            err @ (KeysError::Io { .. } | KeysError::Refused { .. }) => worded(err).hint("see `r1 doctor`"),
            err @ KeysError::Unknown { .. } => worded(err).hint("list the keys with `r1 key list`"),
            err @ KeysError::Ambiguous { .. } => worded(err).hint("type more of the id; `r1 key list` shows all"),
            err @ KeysError::NotHere { .. } => worded(err).hint("bring it with `r1 key import FILE`"),
            err @ KeysError::MayNotSign { .. } => worded(err).hint("make another with `r1 key new`"),
        }
    }
}

impl From<LocationError> for CliError {
    fn from(err: LocationError) -> Self {
        match err {
            LocationError::Home(err) => err.into(),
            LocationError::Open(err) => err.into(),
            err @ LocationError::Missing { .. } => {
                worded(err).hint("name another with `--store`, or see what r1 does with `r1 demo`")
            }
        }
    }
}

impl From<OpenError> for CliError {
    fn from(err: OpenError) -> Self {
        let hint = match &err {
            OpenError::Foreign { .. } => "name an R1 store with `--store`; `r1 log validate FILE` reads other logs",
            OpenError::Newer { .. } => "the store was left as it is",
            OpenError::Damaged { .. } => "restore a backup; what can be read, `r1 log export` saves",
            OpenError::Unavailable { .. } => {
                "check that it exists, that you may write there, and that the disk has room"
            }
        };
        worded(err).hint(hint)
    }
}

impl From<EventsError> for CliError {
    fn from(err: EventsError) -> Self {
        match err {
            EventsError::Store(err) => err.into(),
            err @ EventsError::NoRun { .. } => worded(err).hint("list the runs with `r1 runs`"),
        }
    }
}

impl From<PrintError> for CliError {
    fn from(err: PrintError) -> Self {
        match err {
            PrintError::Events(err) => err.into(),
            PrintError::NoRandomness(err) => err.into(),
            err @ PrintError::Closed(_) => worded(err),
        }
    }
}

impl From<NodesError> for CliError {
    fn from(err: NodesError) -> Self {
        match err {
            NodesError::Source(err) => err.into(),
            NodesError::Store(err) => err.into(),
            err @ NodesError::Write { .. } => worded(err).hint("the nodes of a run are in its receipt too"),
        }
    }
}

impl From<StokeExportError> for CliError {
    fn from(err: StokeExportError) -> Self {
        match err {
            StokeExportError::Source(err) => err.into(),
            StokeExportError::Output(err) => err.into(),
            err @ StokeExportError::Unreadable => worded(err).hint("find out more with `r1 log validate`"),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(err: StoreError) -> Self {
        let hint = match &err {
            StoreError::NoRun { .. } => Some("list the runs with `r1 runs`"),
            StoreError::NoEvent { .. } => Some("see its events with `r1 log show RUN`"),
            StoreError::Damaged { .. } => Some("find out more with `r1 log validate RUN`"),
            StoreError::Backend { .. } => Some("see `r1 doctor`"),
            StoreError::Refused { .. }
            | StoreError::UnfitDocument { .. }
            | StoreError::Poisoned { .. }
            | StoreError::Closed => None,
        };
        let error = worded(err);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<LeaseError> for CliError {
    fn from(err: LeaseError) -> Self {
        match err {
            LeaseError::Store(err) => err.into(),
            err @ LeaseError::Held { .. } => worded(err).hint("try again when it has ended, or stop that process"),
            err @ LeaseError::Lost { .. } => worded(err),
        }
    }
}

impl From<WriterError> for CliError {
    fn from(err: WriterError) -> Self {
        match err {
            WriterError::Lease(err) => err.into(),
            WriterError::Store(err) => err.into(),
            err @ (WriterError::Chain(_) | WriterError::Append(_)) => worded(err),
        }
    }
}

impl From<ResolveError> for CliError {
    fn from(err: ResolveError) -> Self {
        let hint = match err {
            ResolveError::Store(err) => return err.into(),
            ResolveError::NotFound { .. } => "list the runs with `r1 runs`".into(),
            ResolveError::Ambiguous { ref matches, ref shortest, .. } => {
                let ids: Vec<_> = matches.iter().map(ToString::to_string).collect();
                format!("type more of the id, for example `{shortest}`; it could be {}", ids.join(", "))
            }
            ResolveError::NoRuns => "see what r1 does with `r1 demo`".into(),
        };
        worded(err).hint(hint)
    }
}

impl From<SourceError> for CliError {
    fn from(err: SourceError) -> Self {
        const READABLE: &str =
            "r1 reads its own stores and exports, CBOR sequences, and Starling's databases and NDJSON exports";
        let hint = match err {
            SourceError::Store(err) => return err.into(),
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
            err @ ImportError::Pruned { .. } => {
                worded(err).hint("`r1 log show` and `r1 log validate` read the file as it is")
            }
            err @ (ImportError::NoName | ImportError::Chain(_) | ImportError::Append(_)) => worded(err),
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
            err @ (VerifyError::Field(_)
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

impl From<RedactError> for CliError {
    fn from(err: RedactError) -> Self {
        match err {
            RedactError::Writer(err) => err.into(),
            RedactError::Randomness(err) => err.into(),
            RedactError::Store(err) => err.into(),
            RedactError::Source(err) => err.into(),
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
            err @ OrderError::NoModel { .. } => worded(err).hint("say `--model NAME`, or set it in r1.toml"),
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

impl From<ConfigError> for CliError {
    fn from(err: ConfigError) -> Self {
        worded(err).hint("`r1 init` writes a file in which every setting is explained")
    }
}

impl From<OperatorTokenError> for CliError {
    fn from(err: OperatorTokenError) -> Self {
        match err {
            OperatorTokenError::NoRandomness(err) => err.into(),
            err @ (OperatorTokenError::Io { .. }
            | OperatorTokenError::Unfit { .. }
            | OperatorTokenError::Open { .. }) => worded(err),
        }
    }
}

impl From<TokenError> for CliError {
    fn from(err: TokenError) -> Self {
        match err {
            TokenError::Store(err) => err.into(),
            TokenError::NoRandomness(err) => err.into(),
            err @ TokenError::NameTaken { .. } => worded(err).hint("see them with `r1 ctl token list`"),
            err @ TokenError::BadName => worded(err),
        }
    }
}

impl From<ListenError> for CliError {
    fn from(err: ListenError) -> Self {
        let hint = match &err {
            ListenError::Exposed { .. } => {
                "give `--tls-cert` and `--tls-key`, or `--behind-proxy` if a proxy does that; or use 127.0.0.1"
            }
            ListenError::Tcp { .. } => "see who uses it, or take any free port with `--addr 127.0.0.1:0`",
            ListenError::Unix { .. } => "go without it: `--no-unix`",
            ListenError::Tls(TlsError::Pem { .. } | TlsError::Empty { .. } | TlsError::Refused(_)) => {
                "both files must be PEM: the certificate with those that vouch for it, and its private key"
            }
        };
        worded(err).hint(hint)
    }
}
