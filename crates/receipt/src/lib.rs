//! Receipts: what a run did, as a graph that anyone can check offline.
//!
//! - [`Graph`]: a log's events, one by one, as nodes whose ids never change.
//! - [`Builder`]: a log on its way to a signed receipt.
//! - [`verify()`]: whether a receipt is what it claims to be; [`Report`] tells, [`Reason`] is the closed list of
//!   what may be wrong.
//! - [`export`]: what a receipt says, in the forms that tools of others check.
//! - [`key`]: private keys, public keys, and what a keyring says of them.
//!
//! Pure: whoever calls reads the files, knows the time and brings the randomness. Hostile input is refused
//! within limits, and no input panics.
//!
//! ```
//! use r1_event::payload::{Payload, RunCompleted, RunStarted};
//! use r1_event::{Batch, Chain, UnixNanos};
//! use r1_receipt::graph::Notes;
//! use r1_receipt::key::{KnownKey, SecretKey};
//! use r1_receipt::{Builder, Options, Withhold, verify};
//!
//! let mut log = Batch::new(&Chain::new("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse()?));
//! log.push(UnixNanos(1), Payload::RunStarted(Box::new(RunStarted::default())))?;
//! log.push(UnixNanos(2), Payload::RunCompleted(RunCompleted::default()))?;
//!
//! let mut builder = Builder::new(&[], Notes::default());
//! builder.extend(log.records());
//! let key = SecretKey::from_seed([7; 32]);
//! let receipt = builder.sign(&key, Withhold::default()).ok_or("an empty log")?;
//!
//! let keys = [KnownKey::bare(*key.public().as_bytes())];
//! let report = verify(&receipt.bytes, &Options { keys: &keys, ..Options::default() });
//! assert_eq!(report.verdict().to_string(), "VALID");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod binding;
mod body;
mod builder;
pub mod claims;
pub mod export;
pub mod file;
pub mod graph;
pub mod json;
pub mod key;
pub mod node;
mod order;
pub mod verdict;
pub mod verify;

pub use binding::Binding;
pub use body::{Unfit, check_data};
pub use builder::{Builder, Withhold};
pub use file::{Receipt, Signed};
pub use graph::Graph;
pub use node::{Node, NodeId, NodeType};
pub use verdict::{Reason, Stage, Verdict};
pub use verify::{GatePolicy, Options, Report, verify};
