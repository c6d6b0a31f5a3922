//! A connection to one server.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, Implementation, JsonObject};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::process::Process;
use super::server::{BadServer, ServerSpec};
use crate::provider::KeyError;

type Service = RunningService<RoleClient, ClientConfig>;

/// How long a server may take to say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// An open connection.
pub(super) struct Connection {
    pub(super) server: String,
    pub(super) call_timeout: Duration,
    peer: Peer<RoleClient>,
    service: Mutex<Option<Service>>,
    process: Option<Process>,
}

/// A tool as its server describes it.
pub(super) type Offered = rmcp::model::Tool;

impl Connection {
    /// Connects, and asks what the server offers.
    pub(super) async fn open(
        spec: &ServerSpec,
        environment: &BTreeMap<String, String>,
        directory: &Path,
    ) -> Result<(Self, Vec<Offered>), ConnectError> {
        spec.check()?;
        let limit = spec.connect_timeout();
        let opening = async {
            let (service, process) = match &spec.url {
                Some(url) => (over_http(spec, url, environment).await?, None),
                None => {
                    let started = Process::start(spec, environment, directory);
                    let (process, stdout, stdin) = started.map_err(|source| ConnectError::Start {
                        program: spec.command.first().cloned().unwrap_or_default(),
                        source,
                    })?;
                    (rmcp::serve_client(introduction(), (stdout, stdin)).await.map_err(refused)?, Some(process))
                }
            };
            let tools = service.list_all_tools().await.map_err(|source| ConnectError::List(Box::new(source)))?;
            Ok::<_, ConnectError>((service, process, tools))
        };
        let opened = timeout(limit, opening).await.map_err(|_| ConnectError::TimedOut { after: limit })?;
        let (service, process, tools) = opened?;
        let connection = Self {
            server: spec.name.clone(),
            call_timeout: spec.call_timeout(),
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            process,
        };
        Ok((connection, tools))
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(&self, tool: &str, arguments: JsonObject) -> Result<CallToolResult, CallError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.peer.call_tool_once(params).await {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(CallToolResponse::InputRequired(_)) => Err(CallError::WantsInput),
            Ok(_) => Err(CallError::Unfinished),
            Err(ServiceError::McpError(error)) => Err(CallError::Refused(error.message.into_owned())),
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => Err(CallError::Gone),
            Err(other) if self.peer.is_transport_closed() => {
                let _ = other;
                Err(CallError::Gone)
            }
            Err(other) => Err(CallError::Refused(other.to_string())),
        }
    }

    /// Ends it in order: first the protocol, then the program.
    pub(super) async fn close(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            // Whatever it answers, it is over.
            let _ = service.close_with_timeout(CLOSE_TIMEOUT).await;
        }
        if let Some(process) = &self.process {
            process.end().await;
        }
    }
}

async fn over_http(
    spec: &ServerSpec,
    url: &str,
    environment: &BTreeMap<String, String>,
) -> Result<Service, ConnectError> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(source) = spec.bearer() {
        let token = source.resolve(&|name: &str| environment.get(name).cloned())?;
        config = config.auth_header(token.expose());
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    rmcp::serve_client(introduction(), transport).await.map_err(refused)
}

/// Who calls.
fn introduction() -> ClientConfig {
    ClientConfig::new(Default::default(), Implementation::new("r1", env!("CARGO_PKG_VERSION")))
}

fn refused(source: ClientInitializeError) -> ConnectError {
    ConnectError::Refused(Box::new(source))
}

/// A server that cannot be used now.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// It is not described well.
    #[error(transparent)]
    Bad(#[from] BadServer),
    /// The program does not start.
    #[error("`{program}` cannot be started")]
    Start {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its token is not there.
    #[error("its token is missing")]
    Token(#[from] KeyError),
    /// It does not speak MCP, or ended.
    #[error("it does not answer as an MCP server")]
    Refused(#[source] Box<ClientInitializeError>),
    /// It does not say what it offers.
    #[error("it does not say which tools it has")]
    List(#[source] Box<ServiceError>),
    /// It does not answer at all.
    #[error("it does not answer within {} s", after.as_secs())]
    TimedOut {
        /// How long it had.
        after: Duration,
    },
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The server is no longer there.
    Gone,
    /// It says no, in these words.
    Refused(String),
    /// It wants to ask a person something first.
    WantsInput,
    /// It started something that it would report later.
    Unfinished,
}
