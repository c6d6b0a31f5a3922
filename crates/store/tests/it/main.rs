//! Behaviour of every store.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod memory;
mod sqlite;
