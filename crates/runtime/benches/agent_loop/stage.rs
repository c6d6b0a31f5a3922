//! Runs to measure with: a scripted model that answers at once, and tools that do next to nothing.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use r1_event::{Kind, RunId};
use r1_protocol::data::{ToolKind, ToolShellOutputChunk};
use r1_runtime::agent::{RunSpec, Toolset};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::engine::{Claim, Connected, Engine, Outcome, World};
use r1_runtime::policy::ApprovalMode;
use r1_runtime::provider::{self, Provider, ProviderError, ProviderFailure, ProviderSpec, Scenario};
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode, SandboxUnavailable};
use r1_runtime::tool::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec};
use r1_runtime::workspace::Workspace;
use r1_store::{SharedStore, SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Events that one call of `report` writes.
const REPORTS: u64 = 20;

/// A store, an engine on it, and a directory that goes with them.
pub(crate) struct Stage {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: SharedStore,
    /// How long each event of `report` took to become durable.
    pub(crate) waits: Arc<Mutex<Vec<Duration>>>,
    directory: TempDir,
}

impl Stage {
    pub(crate) fn new(store: impl FnOnce(&Path) -> SharedStore, lease: Duration) -> Self {
        let directory = TempDir::new().expect("a directory");
        std::fs::create_dir(directory.path().join("work")).expect("a workspace");
        let store = store(directory.path());
        let waits = Arc::<Mutex<Vec<Duration>>>::default();
        let engine = engine(store.clone(), directory.path(), waits.clone()).with_lease(lease);
        Self { engine: Arc::new(engine), store, waits, directory }
    }

    /// A run of so many turns, each with these calls.
    pub(crate) async fn create(&self, turns: usize, calls: &[&str]) -> RunId {
        let calls: Vec<_> =
            calls.iter().map(|tool| json!({ "tool": tool, "input": { "path": "src/main.rs" } })).collect();
        let usual = json!({ "text": "I look at the next file.", "tool_calls": calls });
        let mut script = vec![usual; turns - 1];
        script.push(json!({ "text": "That was all." }));
        let scenario = Scenario::parse(&json!({ "turns": script }).to_string()).expect("a scenario");
        let new = NewRun {
            prompt: "look at all files".into(),
            model: "script".into(),
            system_prompt: "be good".into(),
            workspace_path: self.directory.path().join("work").to_string_lossy().into_owned(),
            workspace_mode: "in_place".into(),
            spec: RunSpec {
                provider: ProviderSpec::scripted(scenario),
                tools: tools(&self.waits).specs().cloned().collect(),
                approval: ApprovalMode::Full,
                max_turns: turns as u64,
                // The whole conversation stays, however long it gets.
                context_tokens: u64::MAX / 2,
                checkpoint_events: u64::MAX,
                ..RunSpec::default()
            },
            ..NewRun::default()
        };
        create(&self.engine, new, true, &Caller::default()).await.expect("a run")
    }

    /// Works on a run to its end.
    pub(crate) async fn play(&self, run: &RunId) {
        let outcome = self.engine.work(run, Claim::default(), CancellationToken::new()).await.expect("worked on");
        assert_eq!(outcome, Outcome::Ended(Kind::RunCompleted));
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The tools, to decide with.
    pub(crate) fn toolset(&self) -> Toolset {
        tools(&self.waits)
    }
}

/// An engine on `store` with everything else in `directory`.
pub(crate) fn engine(store: SharedStore, directory: &Path, waits: Arc<Mutex<Vec<Duration>>>) -> Engine {
    let (world, redactor) = (Arc::new(Scripted { waits }), Arc::new(Redactor::default()));
    Engine::new(store, world, redactor, directory.join("snapshots"), None, "r1-00000001".into())
}

/// A store on disk.
pub(crate) async fn sqlite(directory: &Path) -> SharedStore {
    Arc::new(SqliteStore::open(directory.join("r1.db"), SqliteOptions::default()).await.expect("a store"))
}

struct Scripted {
    waits: Arc<Mutex<Vec<Duration>>>,
}

impl World for Scripted {
    fn provider(&self, spec: &RunSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        provider::open(&spec.provider, &|_| None).map_err(|err| ProviderError {
            kind: ProviderFailure::Rejected,
            status: 0,
            message: err.to_string(),
            retry_after: None,
        })
    }

    fn tools<'a>(&'a self, _spec: &'a RunSpec, _workspace: &'a Path) -> BoxFuture<'a, Connected> {
        let tools = tools(&self.waits);
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

fn tools(waits: &Arc<Mutex<Vec<Duration>>>) -> Toolset {
    let tool = |name: &str, reports: u64| -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.into(),
            kind: ToolKind::Builtin,
            description: "looks".into(),
            input_schema: json!({ "type": "object" }),
            idempotent: true,
            prepares: false,
            mcp: None,
        };
        Arc::new(Looking { spec, reports, waits: waits.clone() })
    };
    Toolset::new([tool("look", 0), tool("report", REPORTS)])
}

/// An event of about 1 KiB, as a program's output gives many.
pub(crate) fn chunk(tool_call_id: &str, number: u64) -> ToolShellOutputChunk {
    let data = "a line of some length, as programs print them\n".repeat(20);
    ToolShellOutputChunk {
        tool_call_id: tool_call_id.into(),
        stream: "stdout".into(),
        byte_offset: number * data.len() as u64,
        data,
        ..Default::default()
    }
}

struct Looking {
    spec: ToolSpec,
    reports: u64,
    waits: Arc<Mutex<Vec<Duration>>>,
}

impl Tool for Looking {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, _input: &Value) -> Result<Subject, BadInput> {
        Ok(Subject::Internal)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for number in 0..self.reports {
                let chunk = chunk(&call.call_id, number);
                let started = Instant::now();
                let written = context.events.emit(chunk).await;
                self.waits.lock().unwrap_or_else(PoisonError::into_inner).push(started.elapsed());
                written.map_err(|_| ToolError::cancelled())?;
            }
            let output = "fn main() { println!(\"hello\"); }\n".repeat(8).into();
            Ok(ToolOutput { output, summary: "looked".into(), artifact_id: None })
        })
    }
}
