//! The events of R1 as frontends see them.
//!
//! - [`data`]: what each event type says, one struct per type that R1 writes.
//! - [`registry`]: the same as a table: every type with its fields, from which schemas are made.
//! - [`json`]: JSON and CBOR, one as the other.
//!
//! Pure: no I/O, no clock. What is served of an event depends on the event and its run's first one alone.

#[macro_use]
mod table;

pub mod data;
mod event_id;
pub mod json;
pub mod registry;

pub use event_id::event_id;
