//! A scripted model and a few tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use r1_runtime::agent::{RunSpec, Toolset};
use r1_runtime::engine::{Connected, World};
use r1_runtime::provider::{self, Provider, ProviderError};
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode, SandboxUnavailable};
use r1_runtime::tool::edit::Edit;
use r1_runtime::tool::file_write::FileWrite;
use r1_runtime::tool::multi_edit::MultiEdit;
use r1_runtime::tool::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec};
use r1_runtime::workspace::Workspace;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Tools of tests.
pub(crate) struct TestWorld {
    /// Rung when `wait` has begun.
    pub(crate) begun: Arc<Notify>,
    /// Lets one `wait` go on.
    pub(crate) go_on: Arc<Notify>,
    /// Where the editing tools work.
    root: PathBuf,
}

impl TestWorld {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { begun: Arc::default(), go_on: Arc::default(), root }
    }

    /// The tools as a run is told of them.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.all().iter().map(|tool| tool.spec().clone()).collect()
    }

    /// `edit`, `file_write`, `multi_edit`; `echo` gives back its input; `wait` waits for the test; `act` needs
    /// approval where approvals are asked for.
    fn all(&self) -> Vec<Arc<dyn Tool>> {
        let root: Arc<Path> = self.root.as_path().into();
        vec![
            Arc::new(Edit::new(root.clone())),
            Arc::new(FileWrite::new(root.clone())),
            Arc::new(MultiEdit::new(root)),
            TestTool::shared("echo", Act::Echo),
            TestTool::shared("wait", Act::Wait(self.begun.clone(), self.go_on.clone())),
            TestTool::shared("act", Act::Command),
        ]
    }
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

enum Act {
    Echo,
    Wait(Arc<Notify>, Arc<Notify>),
    Command,
}

struct TestTool {
    spec: ToolSpec,
    act: Act,
}

impl TestTool {
    fn shared(name: &str, act: Act) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.into(),
            kind: ToolKind::Builtin,
            description: name.into(),
            input_schema: json!({ "type": "object" }),
            idempotent: matches!(act, Act::Echo),
            prepares: false,
            mcp: None,
        };
        Arc::new(Self { spec, act })
    }
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        Ok(match &self.act {
            Act::Echo | Act::Wait(..) => Subject::Internal,
            Act::Command => {
                let argv = vec!["do".into(), input.to_string()];
                Subject::Command { argv, cwd: String::new(), reads_only: false }
            }
        })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = |output: Value| Ok(ToolOutput { output, summary: "done".into(), artifact_id: None });
            match &self.act {
                Act::Echo | Act::Command => output(call.input.clone()),
                Act::Wait(begun, go_on) => {
                    begun.notify_one();
                    tokio::select! {
                        () = go_on.notified() => output(json!("waited")),
                        () = context.cancel.cancelled() => Err(ToolError::cancelled()),
                    }
                }
            }
        })
    }
}
