//! Integration tests of the event crate, in one binary.

mod v1_fixtures;
mod v1_log;
