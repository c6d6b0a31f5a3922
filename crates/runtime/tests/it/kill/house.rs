//! What the processes of these tests share: a directory with a store, a workspace, and notes of what tools did.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use r1_event::{Record, RunId, Seq};
use r1_protocol::data::ToolKind;
use r1_runtime::agent::{RunSpec, RunState, Toolset};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::engine::{Connected, Engine, World};
use r1_runtime::policy::ApprovalMode;
use r1_runtime::provider::{self, Provider, ProviderError, ProviderSpec, Scenario};
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode, SandboxUnavailable};
use r1_runtime::tool::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec};
use r1_runtime::workspace::Workspace;
use r1_store::{Pages, SharedStore, SqliteOptions, SqliteStore};
use serde_json::{Value, json};

/// How often a file of another process is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The directory, with its store open.
pub(super) struct House {
    path: PathBuf,
    pub(super) store: SharedStore,
    /// Removes the directory in the end, in the process that made it.
    _made: Option<tempfile::TempDir>,
}

/// What a tool noted: it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) call_id: String,
    pub(super) instance: String,
}

impl House {
    /// A new one.
    pub(super) async fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        std::fs::create_dir(made.path().join("work")).unwrap();
        let house = Self::at(made.path()).await;
        Self { _made: Some(made), ..house }
    }

    /// One that another process made.
    pub(super) async fn at(path: &Path) -> Self {
        let store = Arc::new(SqliteStore::open(path.join("r1.db"), SqliteOptions::default()).await.unwrap());
        Self { path: path.to_owned(), store, _made: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn engine(&self, instance: &str) -> Arc<Engine> {
        Arc::new(self.make_engine(instance))
    }

    pub(super) fn engine_with_lease(&self, instance: &str, lease: Duration) -> Arc<Engine> {
        Arc::new(self.make_engine(instance).with_lease(lease))
    }

    fn make_engine(&self, instance: &str) -> Engine {
        let world = Arc::new(Tools(tools(&self.path, instance)));
        let (redactor, snapshots) = (Arc::new(Redactor::default()), self.path.join("snapshots"));
        Engine::new(self.store.clone(), world, redactor, snapshots, None, instance.into())
    }

    pub(super) async fn create(&self, scenario: &str) -> RunId {
        let new = NewRun {
            prompt: "do it".into(),
            model: "script".into(),
            system_prompt: "be good".into(),
            workspace_path: self.path.join("work").to_str().unwrap().into(),
            workspace_mode: "in_place".into(),
            spec: RunSpec {
                provider: ProviderSpec::scripted(Scenario::parse(scenario).unwrap()),
                tools: self.toolset().specs().cloned().collect(),
                approval: ApprovalMode::Full,
                ..RunSpec::default()
            },
            ..NewRun::default()
        };
        create(&self.engine("r1-00000001"), new, true, &Caller::default()).await.unwrap()
    }

    /// The tools, to decide with.
    pub(super) fn toolset(&self) -> Toolset {
        Toolset::new(tools(&self.path, ""))
    }

    pub(super) async fn records(&self, run: &RunId) -> Vec<Record> {
        Pages::of_all(&*self.store, run).to_end().await.unwrap()
    }

    pub(super) async fn state(&self, run: &RunId) -> RunState {
        r1_runtime::history::load(&self.store, run).await.unwrap()
    }

    /// Waits until an event of this type is in the log.
    pub(super) async fn until(&self, run: &RunId, type_name: &str) {
        let mut events = std::pin::pin!(r1_store::tail(self.store.clone(), run.clone(), Seq::FIRST));
        while let Some(record) = events.next().await {
            if type_of(&record.unwrap()) == type_name {
                return;
            }
        }
        panic!("the run ended without {type_name}");
    }

    /// Waits until the run has ended.
    pub(super) async fn until_ended(&self, run: &RunId) {
        r1_store::tail(self.store.clone(), run.clone(), Seq::FIRST)
            .for_each(async |record| drop(record.unwrap()))
            .await;
    }

    /// Waits until nobody's lease on the run is good any more.
    pub(super) async fn until_free(&self, run: &RunId) {
        while !self.store.open_runs(None, 10).await.unwrap().iter().any(|open| open.summary.run_id == *run) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until a tool has noted this call.
    pub(super) async fn until_noted(&self, call_id: &str) {
        while !self.notes().iter().any(|note| note.call_id == call_id) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// All that tools have noted, in the order in which it happened.
    pub(super) fn notes(&self) -> Vec<Note> {
        let text = std::fs::read_to_string(self.path.join("notes")).unwrap_or_default();
        let note = |line: &str| {
            let (call_id, instance) = line.split_once(' ')?;
            Some(Note { call_id: call_id.into(), instance: instance.into() })
        };
        text.lines().filter_map(note).collect()
    }

    /// Lets a call of `hold` end.
    pub(super) fn let_go(&self, call_id: &str) {
        std::fs::write(self.path.join(call_id), "").unwrap();
    }
}

pub(super) fn type_of(record: &Record) -> String {
    let kind = record.header().unwrap().kind;
    r1_event::projection::type_of(r1_event::Version::V2, kind, record.payload.as_ref()).into_owned()
}

struct Tools(Vec<Arc<dyn Tool>>);

impl World for Tools {
    fn provider(&self, spec: &RunSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(provider::open(&spec.provider, &|_| None).unwrap())
    }

    fn tools<'a>(&'a self, _spec: &'a RunSpec, _workspace: &'a Path) -> BoxFuture<'a, Connected> {
        let tools = Toolset::new(self.0.clone());
        Box::pin(async move { Connected { tools, missing: Vec::new(), servers: Default::default() } })
    }

    fn sandbox<'a>(
        &'a self,
        _spec: &'a RunSpec,
        workspace: &'a Workspace,
    ) -> BoxFuture<'a, Result<Sandbox, SandboxUnavailable>> {
        Box::pin(Sandbox::detect(SandboxConfig {
            workspace: workspace.root().to_owned(),
            mode: SandboxMode::Only(SandboxLayer::None),
            ..SandboxConfig::default()
        }))
    }
}

#[derive(Clone, Copy)]
enum Act {
    /// Note it and be done.
    Note,
    /// Note it and fail.
    Fail,
    /// Note it and wait until let go.
    Hold,
}

fn tools(house: &Path, instance: &str) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &str, idempotent, act| -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.into(),
            kind: ToolKind::Builtin,
            description: name.into(),
            input_schema: json!({ "type": "object" }),
            idempotent,
            prepares: false,
            mcp: None,
        };
        Arc::new(Noting { spec, act, house: house.to_owned(), instance: instance.to_owned() })
    };
    vec![
        tool("once", false, Act::Note),
        tool("look", true, Act::Note),
        tool("break", false, Act::Fail),
        tool("hold", false, Act::Hold),
    ]
}

struct Noting {
    spec: ToolSpec,
    act: Act,
    house: PathBuf,
    instance: String,
}

impl Noting {
    /// One whole line, on the disk before the call can end.
    fn note(&self, call: &ToolCall) {
        let mut notes = OpenOptions::new().create(true).append(true).open(self.house.join("notes")).unwrap();
        notes.write_all(format!("{} {}\n", call.call_id, self.instance).as_bytes()).unwrap();
        notes.sync_all().unwrap();
    }
}

impl Tool for Noting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, _input: &Value) -> Result<Subject, BadInput> {
        Ok(Subject::Internal)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.note(call);
            match self.act {
                Act::Note => {}
                Act::Fail => return Err(ToolError::tool("it broke")),
                Act::Hold => {
                    while !self.house.join(&call.call_id).exists() {
                        tokio::select! {
                            () = tokio::time::sleep(LOOK_EVERY) => {}
                            () = context.cancel.cancelled() => return Err(ToolError::cancelled()),
                        }
                    }
                }
            }
            Ok(ToolOutput { output: json!("noted"), summary: "noted".into(), artifact_id: None })
        })
    }
}
