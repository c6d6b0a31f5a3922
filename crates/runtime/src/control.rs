//! What can be done with runs: one module per verb, for every surface alike.

pub mod caller;
pub mod check;
pub mod checkpoint;
pub mod command;
pub mod create;
pub mod doctor;
pub mod export;
pub mod go_on;
pub mod import;
pub mod list;
pub mod operator;
pub mod patches;
pub mod proof;
pub mod prune;
pub mod receipt;
pub mod redact;
pub mod view;
