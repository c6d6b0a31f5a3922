//! A world for tests: a scripted model, a few tools, and a look at what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use r1_event::{Kind, Payload, Record, RunId, Seq};
use r1_protocol::data::ToolKind;
use r1_runtime::agent::{RunSpec, RunState, Toolset};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::engine::{Claim, Connected, Engine, EngineError, Outcome, World};
use r1_runtime::policy::ApprovalMode;
use r1_runtime::provider::{self, Provider, ProviderError, ProviderSpec, Scenario};
use r1_runtime::redact::Redactor;
use r1_runtime::replay::{Report, replay};
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode, SandboxUnavailable};
use r1_runtime::tool::edit::Edit;
use r1_runtime::tool::file_write::FileWrite;
use r1_runtime::tool::multi_edit::MultiEdit;
use r1_runtime::tool::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec};
use r1_runtime::workspace::Workspace;
use r1_store::{MemoryStore, SharedStore};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Everything a test needs.
pub(crate) struct Stage {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: SharedStore,
    pub(crate) world: Arc<TestWorld>,
    dir: tempfile::TempDir,
}

/// Tools of tests, and how often they ran.
#[derive(Default)]
pub(crate) struct TestWorld {
    /// Times `once` ran.
    pub(crate) runs: Arc<AtomicU64>,
    /// Rung when `wait` has begun.
    pub(crate) begun: Arc<Notify>,
    /// Lets one `wait` go on.
    pub(crate) go_on: Arc<Notify>,
    /// Where the real editing tools work.
    root: PathBuf,
}

impl World for TestWorld {
    fn provider(&self, spec: &RunSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(provider::open(&spec.provider, &|_| None).unwrap())
    }

    fn tools<'a>(&'a self, _spec: &'a RunSpec, _workspace: &'a Path) -> BoxFuture<'a, Connected> {
        let tools = Toolset::new(self.all());
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

impl TestWorld {
    fn all(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |name: &str, idempotent, subject: fn(&Value) -> Subject, act| -> Arc<dyn Tool> {
            let spec = ToolSpec {
                name: name.into(),
                kind: ToolKind::Builtin,
                description: name.into(),
                input_schema: json!({ "type": "object" }),
                idempotent,
                prepares: false,
                mcp: None,
            };
            Arc::new(TestTool { spec, subject, act })
        };
        let command = |input: &Value| Subject::Command {
            argv: vec!["do".into(), input.to_string()],
            cwd: String::new(),
            reads_only: false,
        };
        let root: Arc<Path> = self.root.as_path().into();
        let mut tools = r1_runtime::tool::memory::all();
        tools.extend([
            Arc::new(Edit::new(root.clone())) as Arc<dyn Tool>,
            Arc::new(FileWrite::new(root.clone())),
            Arc::new(MultiEdit::new(root)),
            tool("echo", true, |_| Subject::Internal, Act::Echo),
            tool("break", true, |_| Subject::Internal, Act::Break),
            tool("defect", true, |_| Subject::Internal, Act::Defect),
            tool("once", false, |_| Subject::Internal, Act::Count(self.runs.clone())),
            tool("wait", false, |_| Subject::Internal, Act::Wait(self.begun.clone(), self.go_on.clone())),
            tool("again", true, |_| Subject::Internal, Act::WaitFirst(self.runs.clone(), self.begun.clone())),
            tool("act", false, command, Act::Count(self.runs.clone())),
        ]);
        tools
    }
}

enum Act {
    Echo,
    Break,
    Defect,
    Count(Arc<AtomicU64>),
    Wait(Arc<Notify>, Arc<Notify>),
    WaitFirst(Arc<AtomicU64>, Arc<Notify>),
}

struct TestTool {
    spec: ToolSpec,
    subject: fn(&Value) -> Subject,
    act: Act,
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        match input.get("bad") {
            Some(why) => Err(BadInput(why.to_string())),
            None => Ok((self.subject)(input)),
        }
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = |output: Value| Ok(ToolOutput { output, summary: "done".into(), artifact_id: None });
            match &self.act {
                Act::Echo => output(call.input.clone()),
                Act::Break => Err(ToolError::tool("it broke")),
                Act::Defect => panic!("a defect"),
                Act::Count(runs) => output(json!(runs.fetch_add(1, Ordering::SeqCst) + 1)),
                Act::Wait(begun, go_on) => {
                    begun.notify_one();
                    tokio::select! {
                        () = go_on.notified() => output(json!("waited")),
                        () = context.cancel.cancelled() => Err(ToolError::cancelled()),
                    }
                }
                Act::WaitFirst(runs, begun) => {
                    if runs.fetch_add(1, Ordering::SeqCst) == 0 {
                        begun.notify_one();
                        context.cancel.cancelled().await;
                        return Err(ToolError::cancelled());
                    }
                    output(json!("again"))
                }
            }
        })
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()))
    }

    pub(crate) fn on(store: SharedStore) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let world = Arc::new(TestWorld { root: dir.path().join("work"), ..TestWorld::default() });
        let engine = Engine::new(
            store.clone(),
            world.clone(),
            Arc::new(Redactor::default()),
            dir.path().join("snapshots"),
            None,
            "r1-00000001".into(),
        )
        .with_patience(Duration::from_millis(50));
        Self { engine: Arc::new(engine), store, world, dir }
    }

    /// Another process on the same store.
    pub(crate) fn successor(&self) -> Arc<Engine> {
        let redactor = Arc::new(Redactor::default());
        let (store, world) = (self.store.clone(), self.world.clone());
        let snapshots = self.dir.path().join("snapshots");
        Arc::new(Engine::new(store, world, redactor, snapshots, None, "r1-00000002".into()))
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn new_run(&self, scenario: &str) -> NewRun {
        let specs = self.world.all().iter().map(|tool| tool.spec().clone()).collect();
        NewRun {
            prompt: "do it".into(),
            model: "script".into(),
            system_prompt: "be good".into(),
            workspace_path: path(&self.workspace()),
            workspace_mode: "in_place".into(),
            spec: RunSpec {
                provider: ProviderSpec::scripted(Scenario::parse(scenario).unwrap()),
                tools: specs,
                approval: ApprovalMode::Full,
                ..RunSpec::default()
            },
            ..NewRun::default()
        }
    }

    pub(crate) async fn create(&self, new: NewRun) -> RunId {
        create(&self.engine, new, true, &Caller::default()).await.unwrap()
    }

    /// Makes a run and works on it to its end.
    pub(crate) async fn play(&self, new: NewRun) -> RunId {
        let run = self.create(new).await;
        self.work(&run).await.unwrap();
        run
    }

    pub(crate) async fn work(&self, run: &RunId) -> Result<Outcome, EngineError> {
        self.engine.work(run, Claim::default(), CancellationToken::new()).await
    }

    /// Works on a run while the test does something else.
    pub(crate) fn start(&self, run: &RunId) -> tokio::task::JoinHandle<Result<Outcome, EngineError>> {
        let (engine, run) = (self.engine.clone(), run.clone());
        tokio::spawn(async move { engine.work(&run, Claim::default(), CancellationToken::new()).await })
    }

    pub(crate) async fn records(&self, run: &RunId) -> Vec<Record> {
        r1_store::Pages::of_all(&*self.store, run).to_end().await.unwrap()
    }

    /// The types of a run's events, in order.
    pub(crate) async fn types(&self, run: &RunId) -> Vec<String> {
        self.records(run).await.iter().map(type_of).collect()
    }

    pub(crate) async fn state(&self, run: &RunId) -> RunState {
        r1_runtime::history::load(&self.store, run).await.unwrap()
    }

    /// Waits until an event of this type is in the log.
    pub(crate) async fn until(&self, run: &RunId, type_name: &str) {
        let mut events = std::pin::pin!(r1_store::tail(self.store.clone(), run.clone(), Seq::FIRST));
        while let Some(record) = events.next().await {
            if type_of(&record.unwrap()) == type_name {
                return;
            }
        }
        panic!("the run ended without {type_name}");
    }

    /// The process that worked on a run is gone without a word: its lease has run out.
    pub(crate) async fn expire(&self, run: &RunId) {
        let lease = self.store.lease(run).await.unwrap().unwrap();
        self.store.release(&lease).await.unwrap();
    }

    pub(crate) async fn replay(&self, run: &RunId) -> Report {
        replay(&self.store, run, |_| Toolset::new(self.world.all())).await.unwrap()
    }

    /// What holds for every run: its log is valid, the loop would write it again, its events are in the
    /// order and the form that frontends were promised, and the index shows it as the loop knew it, always.
    pub(crate) async fn check(&self, run: &RunId) {
        let report = self.replay(run).await;
        assert_eq!(report.divergence, None);
        let records = self.records(run).await;
        let mut validator = r1_event::validate::Validator::new(Default::default());
        records.iter().for_each(|record| validator.push(record));
        let verdict = validator.finish();
        assert!(verdict.findings.is_empty(), "{:#?}", verdict.findings);
        let problems = r1_protocol::conformance::problems(&records, &[]);
        assert!(problems.is_empty(), "{problems:#?}");
        crate::index::prefixes::agree(&self.store, run).await;
    }

    /// The payload of the last event of a kind.
    pub(crate) async fn last_of(&self, run: &RunId, kind: Kind) -> Payload {
        let records = self.records(run).await;
        let found = records.iter().rev().find(|record| record.header().unwrap().kind == kind);
        RunState::read(found.unwrap()).unwrap().1
    }
}

pub(crate) fn type_of(record: &Record) -> String {
    let kind = record.header().unwrap().kind;
    r1_event::projection::type_of(r1_event::Version::V2, kind, record.payload.as_ref()).into_owned()
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().into()
}
