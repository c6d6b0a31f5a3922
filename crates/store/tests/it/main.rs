//! Behaviour of every store.

mod memory;
mod pg_server;
mod postgres;
