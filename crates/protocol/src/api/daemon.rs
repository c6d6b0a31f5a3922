//! What a server tells about itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What anyone may know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`, or `draining` when it is about to end.
    pub status: String,
    /// The version of R1.
    pub version: String,
    /// This process, among all that ever served.
    pub instance_id: String,
}

/// How a node does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeHealth {
    /// `ok`, or `draining` when it is about to end.
    pub status: String,
    /// The version of R1.
    pub version: String,
    /// The version of the events' schemas.
    pub schema_version: String,
    /// This process, among all that ever served.
    pub instance_id: String,
    /// Where runs are kept.
    pub store: StoreHealth,
    /// Open runs that nobody works on; counted up to 1,000.
    pub queue_depth: u64,
    /// Who works on runs here.
    pub workers: WorkerHealth,
    /// How programs are confined here.
    pub sandbox_layer: String,
}

/// How a store does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreHealth {
    /// memory, sqlite or postgres.
    pub backend: String,
    /// The version of its layout.
    pub layout_version: u32,
    /// How many runs it has.
    pub runs: u64,
}

/// How a node's workers do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerHealth {
    /// Runs that can be worked on at a time.
    pub slots: u64,
    /// Runs that are being worked on.
    pub busy: u64,
}

/// The process that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Daemon {
    /// Its number on its machine.
    pub pid: u32,
    /// This process, among all that ever served.
    pub instance_id: String,
    /// The version of R1.
    pub version: String,
    /// Since when.
    pub started_at: String,
    /// Whether it is about to end.
    pub draining: bool,
    /// Where runs are kept, without any password.
    pub store: String,
}

/// A word that opens a browser's session, once and soon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    /// The word.
    pub ticket: String,
    /// The path to open in a browser.
    pub login: String,
    /// So many seconds it is good.
    pub expires_in_seconds: u64,
}
