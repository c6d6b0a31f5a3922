//! What the runtime promises, seen from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bridges;
mod coverage;
mod engine;
mod files;
mod gate;
mod index;
mod kill;
mod mcp;
mod memory;
mod net;
mod outside;
mod phases;
mod provider;
mod receipt;
mod redaction;
mod replay_v1;
mod shell;
mod stoke;
mod tasks;
mod tool_stage;
mod web;
