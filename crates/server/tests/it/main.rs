//! What the server promises, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "these tests restart no servers")]
#[path = "../../../store/tests/it/pg_server.rs"]
mod pg_server;
mod support;
mod telemetry;

mod access;
mod errors;
mod meta;
mod objects;
mod openapi;
mod postgres_streams;
mod streams;
mod verbs;
