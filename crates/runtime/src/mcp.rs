//! Tools of MCP servers, as tools of R1.
//!
//! [`connect`] starts or reaches every server of a run and asks what it offers; the tools it gives are
//! called like any other. A log keeps their specs, so that [`McpTool::recorded`] can decide about their
//! calls again without any server.

mod connection;
mod content;
mod name;
mod process;
mod server;
mod tool;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::future;

pub use connection::ConnectError;
pub use server::{BadServer, ServerSpec};
pub use tool::McpTool;

use crate::tool::Tool;
use connection::Connection;

/// The servers of a run. They end when this is dropped; [`Self::close`] ends them in order.
#[derive(Default)]
pub struct Servers {
    connections: Vec<Arc<Connection>>,
    tools: Vec<Arc<McpTool>>,
    unavailable: Vec<Unavailable>,
}

/// A server that did not answer, at the start of a run.
#[derive(Debug)]
pub struct Unavailable {
    /// Which.
    pub server: String,
    /// Why: goes into `error.tool_unavailable`.
    pub error: ConnectError,
}

/// Connects to all of `servers` at once. One that fails takes no other with it.
///
/// `environment` are the variables that servers may be given and that hold their tokens; `directory` is
/// where programs are started.
pub async fn connect(servers: &[ServerSpec], environment: &BTreeMap<String, String>, directory: &Path) -> Servers {
    let attempts = servers.iter().map(|spec| async move {
        let connected = Connection::open(spec, environment, directory).await;
        (spec, connected)
    });
    let mut connected = Servers::default();
    let mut names = name::Names::default();
    for (spec, attempt) in future::join_all(attempts).await {
        match attempt {
            Ok((connection, offered)) => {
                let connection = Arc::new(connection);
                for tool in offered {
                    let name = names.unique(&spec.name, &tool.name);
                    connected.tools.push(Arc::new(McpTool::connected(name, tool, Arc::clone(&connection))));
                }
                connected.connections.push(connection);
            }
            Err(error) => connected.unavailable.push(Unavailable { server: spec.name.clone(), error }),
        }
    }
    connected
}

impl Servers {
    /// What the servers offer, in their order.
    pub fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
    }

    /// The servers that did not answer.
    #[must_use]
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Ends the connections, and the programs that were started for them.
    pub async fn close(self) {
        future::join_all(self.connections.iter().map(|connection| connection.close())).await;
    }
}
