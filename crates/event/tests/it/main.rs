//! What the `event` crate promises, seen from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod erasures;
mod golden;
mod many_findings;
mod payload_types;
mod prop_cbor;
mod prop_chain;
mod prop_hostile;
mod prop_merkle;
mod prop_payload;
mod sample;
mod seal_keys;
mod tampering;
mod v1_append;
mod v1_decode;
mod v1_fixtures;
mod v1_json;
mod v1_log;
mod v1_values;
mod verdicts;
mod vouchers;
