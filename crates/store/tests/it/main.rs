//! Behaviour of every store.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod memory;
mod pg_proxy;
mod pg_server;
mod postgres;
mod postgres_away;
mod postgres_commit;
mod postgres_crash;
mod postgres_damage;
mod postgres_documents;
mod postgres_erase;
mod postgres_layout;
mod postgres_locks;
mod postgres_wake;
mod postgres_work;
mod sqlite;
