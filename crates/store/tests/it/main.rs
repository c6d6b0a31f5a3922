//! Behaviour of every store.

mod memory;
