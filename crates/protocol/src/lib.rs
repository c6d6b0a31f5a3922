//! The events of R1 as frontends see them.
//!
//! - [`data`]: what each event type says, one struct per type that R1 writes.
//! - [`RunFacts`] and [`Envelope`]: a stored event as it is served; [`EnvelopeWriter`]: its bytes, quickly.
//! - [`registry`] and [`schema`]: every type as a table, and the JSON Schemas made from it.
//! - [`check`]: whether an event is what its type promises; [`lint`]: whether a run's events come in the
//!   promised order; [`conformance`]: both, of a whole log.
//! - [`review`]: what a model that reviews has used.
//! - [`api`]: what the HTTP API takes and gives.
//! - [`stoke`]: a run as lines of JSON, for programs that read a coding agent's stream.
//! - [`dialect`]: the names that other producers use.
//! - [`generated`]: the schemas, [TypeScript types](typescript) and [examples](example) that are checked in.
//!
//! Pure: no I/O, no clock. What is served of an event depends on the event and on its run's first one
//! alone, so it is the same bytes on every node.

#[macro_use]
mod table;

pub mod api;
pub mod canonical;
pub mod check;
pub mod conformance;
pub mod data;
pub mod dialect;
pub mod envelope;
pub mod example;
pub mod generated;
pub mod id;
pub mod json;
pub mod lint;
pub mod registry;
pub mod review;
pub mod schema;
pub mod stoke;
pub mod typescript;

pub use envelope::{Envelope, EnvelopeWriter, RunFacts, Thinking, View, Written};
pub use id::event_id;
