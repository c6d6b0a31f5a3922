//! The control layer: what every surface of R1 calls.
//!
//! - [`Home`]: the directory with store, keys and keyring.
//! - [`StoreLocation`]: where the runs are, and opening it.
//! - [`RunWriter`]: the one that may append to a run.
//! - [`source`]: logs in files that people bring.
//! - [`control`]: one module per thing that can be done.
//! - [`index`]: what is known of tasks, runs, approvals and artifacts.
//!
//! Nothing here reads the environment, and only [`world`] asks for time and chance: whoever calls
//! passes them down.

pub mod agent;
pub mod artifact;
pub mod config;
pub mod control;
pub mod emit;
pub mod engine;
pub mod gate;
mod git;
pub mod history;
pub mod home;
pub mod index;
pub mod keys;
pub mod location;
pub mod machine;
pub mod mcp;
pub mod model;
pub mod net;
pub mod patch;
pub mod policy;
pub mod price;
pub mod process;
pub mod provider;
pub mod redact;
pub mod replay;
pub mod resolve;
pub mod sandbox;
pub mod session_file;
pub mod snapshot;
pub mod source;
pub mod tool;
pub mod trace;
pub mod workers;
pub mod workspace;
pub mod world;
pub mod writer;

pub use home::Home;
pub use keys::Keyring;
pub use location::StoreLocation;
pub use resolve::{ResolveError, resolve};
pub use writer::RunWriter;
