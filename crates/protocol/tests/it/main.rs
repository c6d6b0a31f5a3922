//! Tests of the crate's promises, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod dialect;
mod envelope;
mod generated;
mod hecate;
mod json_values;
mod lint;
mod schema;
mod served_v1;
mod stoke;
mod typed;
mod writer;
