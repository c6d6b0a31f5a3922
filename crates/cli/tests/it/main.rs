//! The real binary, as its user meets it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed, as it should")]

mod agent;
mod approval;
mod bad_input;
mod crash;
mod draining;
mod exchange;
mod exports;
mod gates;
mod house_keeping;
mod keys;
mod looking;
mod patching;
#[path = "../../../store/tests/it/pg_server.rs"]
mod pg_server;
mod phases;
mod postgres_away;
mod postgres_cluster;
mod postgres_store;
mod proofs;
mod receipt;
mod remembering;
mod remote;
mod sandbox;
mod serving;
mod signing;
mod starling;
mod stoke;
mod support;
mod tampering;
mod terminal;
mod validate;
mod watching;
mod wizard;
mod words;
