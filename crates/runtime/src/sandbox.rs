//! How programs are started, and what they cannot reach.

/// Starts programs for one run.
#[derive(Debug, Default)]
pub struct Sandbox {}
