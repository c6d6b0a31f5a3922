//! What receipts promise, seen from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod agreement;
mod bodies;
mod chance;
mod edges;
mod exports;
mod forge;
mod keys;
mod left_out;
mod limits;
mod logs;
mod phases;
mod reasons;
mod sample;
mod standards;
mod v1_logs;
mod vectors;
