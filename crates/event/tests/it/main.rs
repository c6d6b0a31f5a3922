//! Behaviour of the log as its users see it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod sample;
mod tampering;
mod verdicts;
