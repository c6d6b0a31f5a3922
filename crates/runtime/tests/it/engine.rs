//! The agent loop, run by the engine, on real stores.

mod approvals;
mod basics;
mod going_on;
mod hostile;
mod limits;
mod notes;
mod patches;
mod seams;
mod sessions;
pub(crate) mod stage;
