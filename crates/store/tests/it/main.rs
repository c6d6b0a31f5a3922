//! Behaviour of every store.

mod memory;
mod sqlite;
