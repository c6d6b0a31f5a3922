//! Tasks, runs, approvals, artifacts and logs, over HTTP.

mod artifacts;
mod listings;
mod logs;
