//! A workspace, a store and the tools, as a run would have them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use r1_event::{Payload, RunId, UnixNanos};
use r1_protocol::data::EventData;
use r1_runtime::artifact::Artifacts;
use r1_runtime::artifact::view::ArtifactIndex;
use r1_runtime::emit::{Emission, EmitRequest, Emitter};
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode};
use r1_runtime::tool::{Tool, ToolCall, ToolContext, ToolError, ToolOutput, builtin};
use r1_runtime::workspace::Workspace;
use r1_store::{MemoryStore, SharedStore};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What counts as a secret here.
pub(super) const SECRET: &str = "correct-horse-battery-staple";

pub(super) struct Stage {
    directory: TempDir,
    pub(super) context: ToolContext,
    pub(super) store: SharedStore,
    pub(super) redactor: Arc<Redactor>,
    tools: Vec<Arc<dyn Tool>>,
    log: Arc<Mutex<Vec<Payload>>>,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("workspace");
        fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let mut secrets = Secrets::default();
        secrets.add(SECRET);
        let redactor = Arc::new(Redactor::new(RedactionKey::new([7; 32]), &secrets).unwrap());
        let store: SharedStore = Arc::new(MemoryStore::new());
        let log = Arc::new(Mutex::new(Vec::new()));
        let events = collecting(Arc::clone(&log));
        let env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]);
        let mode = SandboxMode::Only(SandboxLayer::None);
        let config = SandboxConfig { workspace: root, mode, env, ..SandboxConfig::default() };
        let context = ToolContext {
            sandbox: Arc::new(Sandbox::detect(config).await.unwrap()),
            artifacts: Artifacts::new(store.clone(), events.clone(), Arc::clone(&redactor)),
            memory: crate::tool_stage::no_memory(&store, &events, &redactor),
            events,
            redactor: Arc::clone(&redactor),
            cancel: CancellationToken::new(),
            workspace: Arc::new(workspace.clone()),
        };
        let tools = builtin::files(workspace.root());
        Self { directory, context, store, redactor, tools, log }
    }

    /// A path of the workspace on the disk.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.context.workspace.root().join(path)
    }

    /// A directory beside the workspace.
    pub(super) fn outside(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), content).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub(super) fn tool(&self, name: &str) -> &dyn Tool {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap().as_ref()
    }

    /// Makes a call as the loop would.
    pub(super) async fn call(&self, name: &str, input: Value) -> Result<ToolOutput, ToolError> {
        let call = self.prepared(name, input).await?;
        self.run(name, &call).await
    }

    /// A call that is prepared, and not yet run.
    pub(super) async fn prepared(&self, name: &str, input: Value) -> Result<ToolCall, ToolError> {
        let tool = self.tool(name);
        tool.subject(&input).map_err(|err| ToolError::tool(err.to_string()))?;
        let mut call = ToolCall {
            call_id: "call_1".into(),
            attempt: 1,
            turn_index: 0,
            input,
            prepared: Default::default(),
            event_id: "evt_1".into(),
        };
        if tool.spec().prepares {
            call.prepared = tool.prepare(&call, &self.context).await?;
        }
        Ok(call)
    }

    pub(super) async fn run(&self, name: &str, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        self.tool(name).run(call, &self.context).await
    }

    /// The types of all events so far.
    pub(super) fn types(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        log.iter()
            .map(|payload| if let Payload::Typed(event) = payload { event.r#type.clone() } else { "?".into() })
            .collect()
    }

    /// All events of a type so far.
    pub(super) fn events<T: EventData>(&self) -> Vec<T> {
        let log = self.log.lock().unwrap();
        log.iter()
            .filter_map(|payload| if let Payload::Typed(event) = payload { T::read(event) } else { None })
            .collect()
    }

    /// Appends what a control action returned.
    pub(super) fn append(&self, events: Vec<Emission>) {
        self.log.lock().unwrap().extend(events.into_iter().map(|event| event.payload));
    }

    /// The artifacts as the log tells them.
    pub(super) fn index(&self) -> ArtifactIndex {
        let run: RunId = "run_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let mut index = ArtifactIndex::default();
        for payload in self.log.lock().unwrap().iter() {
            index.apply(&run, UnixNanos(0), payload);
        }
        index
    }
}

/// An emitter whose events end up in `log`.
fn collecting(log: Arc<Mutex<Vec<Payload>>>) -> Emitter {
    let (emitter, mut requests) = Emitter::channel(8);
    tokio::spawn(async move {
        while let Some(EmitRequest { events, done }) = requests.recv().await {
            let ids = events.iter().map(|_| "evt_2".to_owned()).collect();
            log.lock().unwrap().extend(events.into_iter().map(|event| event.payload));
            let _ = done.send(ids);
        }
    });
    emitter
}
