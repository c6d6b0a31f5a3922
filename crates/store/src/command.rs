//! Messages to whoever writes to a run.

use bytes::Bytes;

/// A message to the holder of a run's lease, kept until a batch settles it or its sender withdraws it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What its sender calls it; while it is pending, the run has no other of that name.
    pub id: String,
    /// What is to be done; the store does not look at it.
    pub body: Bytes,
}

impl Command {
    /// How many may wait for one run.
    pub const MOST_PENDING: usize = 1_000;
    /// How many bytes an id may have.
    pub const MAX_ID: usize = 256;
    /// How many bytes a body may have.
    pub const MAX_BODY: usize = 1 << 20;
}
