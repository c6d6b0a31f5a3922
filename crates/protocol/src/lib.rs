//! The events of R1 as frontends see them.

pub mod data;
