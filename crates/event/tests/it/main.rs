//! Integration tests of the event crate, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod v1_append;
mod v1_decode;
mod v1_fixtures;
mod v1_json;
mod v1_log;
mod v1_values;
