//! A tool on its own: a workspace, a store, and all events that it writes.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use r1_event::Payload;
use r1_event::payload::Typed;
use r1_protocol::data::{ArtifactCreated, EventData};
use r1_runtime::artifact::{self, Artifacts};
use r1_runtime::emit::{EmitRequest, Emitter};
use r1_runtime::index::Index;
use r1_runtime::memory::{Library, Memory};
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode, environment};
use r1_runtime::tool::{Prepared, Tool, ToolCall, ToolContext, ToolError, ToolOutput};
use r1_runtime::workspace::Workspace;
use r1_store::{MemoryStore, SharedStore};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Where a tool is tried.
pub(crate) struct ToolStage {
    pub(crate) context: ToolContext,
    store: SharedStore,
    events: Arc<Mutex<Vec<Typed>>>,
    _directory: TempDir,
}

/// Of a run that nobody owns: for tools that remember nothing.
pub(crate) fn no_memory(store: &SharedStore, events: &Emitter, redactor: &Arc<Redactor>) -> Memory {
    let run = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap();
    let library = Library::new(Index::new(Arc::clone(store)), "/nowhere");
    Memory::channel(run, library, events.clone(), Arc::clone(redactor)).0
}

impl ToolStage {
    pub(crate) async fn new() -> Self {
        Self::with_redactor(Redactor::default()).await
    }

    pub(crate) async fn with_redactor(redactor: Redactor) -> Self {
        let directory = TempDir::new().unwrap();
        let redactor = Arc::new(redactor);
        let store: SharedStore = Arc::new(MemoryStore::new());
        let (emitter, requests) = Emitter::channel(16);
        let events = Arc::default();
        tokio::spawn(write(requests, Arc::clone(&events)));
        let context = ToolContext {
            workspace: Arc::new(Workspace::open(directory.path()).unwrap()),
            sandbox: Arc::new(unconfined(directory.path()).await),
            artifacts: Artifacts::new(Arc::clone(&store), emitter.clone(), Arc::clone(&redactor)),
            memory: no_memory(&store, &emitter, &redactor),
            events: emitter,
            redactor,
            cancel: CancellationToken::new(),
        };
        Self { context, store, events, _directory: directory }
    }

    pub(crate) async fn run(&self, tool: &dyn Tool, input: Value) -> Result<ToolOutput, ToolError> {
        let call = ToolCall {
            call_id: "call_1".to_owned(),
            attempt: 1,
            turn_index: 0,
            input,
            prepared: Prepared::default(),
            event_id: "evt_00000000000000000000000000".to_owned(),
        };
        tool.run(&call, &self.context).await
    }

    /// All events of this type.
    pub(crate) fn events<T: EventData>(&self) -> Vec<T> {
        self.events.lock().unwrap().iter().filter_map(T::read).collect()
    }

    /// Types of all events, in order.
    pub(crate) fn types(&self) -> Vec<String> {
        self.events.lock().unwrap().iter().map(|event| event.r#type.to_string()).collect()
    }

    /// All events as text, to search for what must not be there.
    pub(crate) fn everything(&self) -> String {
        format!("{:?}", self.events.lock().unwrap())
    }

    /// The content of the only artifact.
    pub(crate) async fn artifact(&self) -> Bytes {
        let [artifact] = &*self.events::<ArtifactCreated>() else { panic!("{:?}", self.types()) };
        let digest = artifact.digest.strip_prefix("blake3:").unwrap().parse().unwrap();
        artifact::read(&self.store, digest).await.unwrap()
    }
}

async fn unconfined(workspace: &Path) -> Sandbox {
    let config = SandboxConfig {
        workspace: workspace.canonicalize().unwrap(),
        mode: SandboxMode::Only(SandboxLayer::None),
        env: environment::allowed(std::env::vars(), &[]),
        ..SandboxConfig::default()
    };
    Sandbox::detect(config).await.unwrap()
}

/// Stands for a run's writer.
async fn write(mut requests: mpsc::Receiver<EmitRequest>, events: Arc<Mutex<Vec<Typed>>>) {
    while let Some(EmitRequest { events: new, done }) = requests.recv().await {
        let ids = new.iter().map(|_| "evt_00000000000000000000000001".to_owned()).collect();
        for emission in new {
            let Payload::Typed(event) = emission.payload else { panic!("a tool writes Typed events only") };
            events.lock().unwrap().push(event);
        }
        let _ = done.send(ids);
    }
}
