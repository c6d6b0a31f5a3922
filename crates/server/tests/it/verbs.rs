//! What can be done over HTTP: tasks, messages, approvals, ends and new beginnings.

mod approvals;
mod bridges;
mod ends;
mod going_on;
mod node;
mod patches;
mod tasks;
mod telling;
mod trace;
