//! Tests of the crate's promises, in one binary.

mod typed;
