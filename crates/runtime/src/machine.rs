//! The real world, as it is on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::agent::{RunSpec, Toolset};
use crate::engine::{Connected, World};
use crate::mcp::{self, ServerSpec};
use crate::net::{NetClient, NetConfig, NetError};
use crate::process::Limits;
use crate::provider::{self, OpenError, Provider, ProviderError, ProviderFailure};
use crate::sandbox::{Sandbox, SandboxConfig, SandboxMode, SandboxUnavailable, WorkspaceAccess};
use crate::tool::{Tool, ToolSpec, builtin, web_search};
use crate::workspace::Workspace;

/// Looks up a variable of this process.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a machine offers to runs. Whoever starts the process reads it from flags, environment and files.
pub struct Machine {
    /// The variables of this process, for keys of providers. Programs do not see them.
    pub environment: Variables,
    /// The variables that MCP servers may be given, by name.
    pub server_env: BTreeMap<String, String>,
    /// The variables that programs get.
    pub program_env: BTreeMap<String, String>,
    /// This binary, if it can supervise programs.
    pub supervisor: Option<PathBuf>,
    /// Which sandbox.
    pub sandbox: SandboxMode,
    /// What programs may read beside the workspace.
    pub readable: Vec<PathBuf>,
    /// What programs may change beside the workspace.
    pub writable: Vec<PathBuf>,
    /// What each program may use.
    pub limits: Limits,
    /// How tools reach other machines.
    pub net: NetConfig,
    /// Who searches the web.
    pub search: Option<SearchSettings>,
}

/// Who searches the web.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// brave, tavily or searxng.
    pub name: String,
    /// Where, if not at the usual place.
    pub url: Option<String>,
    /// The variable that holds its key.
    pub key_variable: Option<String>,
}

impl Machine {
    /// R1's own tools and those of MCP servers as models are told of them, for a run's spec; and the servers
    /// that did not answer, with the reason.
    pub async fn tool_specs(
        &self,
        workspace: &Path,
        servers: &[ServerSpec],
    ) -> Result<(Vec<ToolSpec>, Vec<(String, String)>), NetError> {
        let own = self.own_tools(workspace)?;
        let servers = mcp::connect(servers, &self.server_env, workspace).await;
        let own = own.into_iter().filter(|tool| builtin::is_for_models(&tool.spec().name));
        let specs = own.chain(servers.tools()).map(|tool| tool.spec().clone()).collect();
        let missing = servers.unavailable().iter().map(|gone| (gone.server.clone(), gone.error.to_string())).collect();
        servers.close().await;
        Ok((specs, missing))
    }

    /// One of R1's own tools, for a run without a model.
    pub fn own_spec(&self, workspace: &Path, name: &str) -> Result<Option<ToolSpec>, NetError> {
        Ok(self.own_tools(workspace)?.iter().map(|tool| tool.spec()).find(|spec| spec.name == name).cloned())
    }

    fn own_tools(&self, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, NetError> {
        let net = NetClient::new(self.net.clone())?;
        Ok(builtin::all(workspace, &net, self.search_service()))
    }

    fn search_service(&self) -> Option<web_search::Service> {
        let settings = self.search.as_ref()?;
        let key = settings.key_variable.as_deref().and_then(|name| (self.environment)(name)).unwrap_or_default();
        let engine = web_search::engine::by_name(&settings.name, settings.url.as_deref(), &key)?.ok()?;
        let net = NetClient::new(self.net.clone().with_private(engine.endpoint())).ok()?;
        Some(web_search::Service { engine, net })
    }
}

impl World for Machine {
    fn provider(&self, spec: &RunSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        let environment = |name: &str| (self.environment)(name);
        provider::open(&spec.provider, &environment).map_err(|err| {
            let kind = match err {
                OpenError::Key { .. } => ProviderFailure::Unauthorized,
                OpenError::NoBaseUrl { .. } | OpenError::Http { .. } | OpenError::NoScenario { .. } => {
                    ProviderFailure::Rejected
                }
            };
            ProviderError { kind, status: 0, message: err.to_string(), retry_after: None }
        })
    }

    fn tools<'a>(&'a self, spec: &'a RunSpec, workspace: &'a Path) -> BoxFuture<'a, Connected> {
        Box::pin(async move {
            let (own, mut missing) = match self.own_tools(workspace) {
                Ok(tools) => (tools, Vec::new()),
                Err(err) => (Vec::new(), vec![("network".to_owned(), err.to_string())]),
            };
            let wanted = |tool: &Arc<dyn Tool>| spec.tools.iter().any(|wanted| wanted.name == tool.spec().name);
            let servers = mcp::connect(&spec.mcp_servers, &self.server_env, workspace).await;
            let tools: Vec<_> = own.into_iter().chain(servers.tools()).filter(wanted).collect();
            missing.extend(servers.unavailable().iter().map(|gone| (gone.server.clone(), gone.error.to_string())));
            for wanted in &spec.tools {
                if !tools.iter().any(|tool| tool.spec().name == wanted.name) {
                    missing.push((wanted.name.clone(), "it is not offered here any more".to_owned()));
                }
            }
            Connected { tools: Toolset::new(tools), missing, servers }
        })
    }

    fn sandbox<'a>(
        &'a self,
        spec: &'a RunSpec,
        workspace: &'a Workspace,
    ) -> BoxFuture<'a, Result<Sandbox, SandboxUnavailable>> {
        let wish = &spec.sandbox;
        Box::pin(Sandbox::detect(SandboxConfig {
            workspace: workspace.root().to_owned(),
            access: if wish.read_only { WorkspaceAccess::ReadOnly } else { WorkspaceAccess::ReadWrite },
            mode: if wish.require && self.sandbox == SandboxMode::Auto { SandboxMode::Require } else { self.sandbox },
            supervisor: self.supervisor.clone(),
            network: wish.network,
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            env: self.program_env.clone(),
            limits: self.limits.clone(),
            ..SandboxConfig::default()
        }))
    }
}
