//! What can be done with runs: one module per verb, for every surface alike.

pub mod attach;
pub mod caller;
pub mod check;
pub mod checkpoint;
pub mod command;
pub mod create;
pub mod doctor;
pub(crate) mod errand;
pub mod events;
pub mod export;
pub mod feed;
pub mod gate;
pub mod go_on;
pub mod import;
pub mod list;
pub mod operator;
pub mod order;
pub mod patches;
pub mod proof;
pub mod prune;
pub mod receipt;
pub mod redact;
pub mod stoke;
pub mod task;
pub mod view;
