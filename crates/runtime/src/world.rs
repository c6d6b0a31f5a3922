//! The one place where this crate asks for time and chance.

use std::time::{SystemTime, UNIX_EPOCH};

use r1_event::{RunId, UnixNanos};
use ulid::Ulid;

/// The time now.
#[must_use]
pub fn now() -> UnixNanos {
    let nanos = |duration: std::time::Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    // A clock before 1970 is wrong, but no reason to stop.
    UnixNanos(SystemTime::now().duration_since(UNIX_EPOCH).map_or_else(|err| -nanos(err.duration()), nanos))
}

/// A name for a new run that starts at `at`.
pub fn new_run_id(at: UnixNanos) -> Result<RunId, NoRandomness> {
    // A ULID is 26 characters: within every limit of a run's name.
    format!("run_{}", new_ulid(at)?).parse().map_err(|_| NoRandomness)
}

/// The part of an id that nobody else has, for something made `at` that time.
pub fn new_ulid(at: UnixNanos) -> Result<Ulid, NoRandomness> {
    let mut random = [0; 16];
    fill(&mut random[..10])?;
    let milliseconds = u64::try_from(at.0 / 1_000_000).unwrap_or(0);
    Ok(Ulid::from_parts(milliseconds, u128::from_le_bytes(random)))
}

/// The name of this process in leases and keys: `r1-` and 8 hexadecimal digits.
pub fn new_instance_id() -> Result<String, NoRandomness> {
    let mut random = [0; 4];
    fill(&mut random)?;
    Ok(format!("r1-{}", r1_event::id::to_hex(&random)))
}

/// 32 bytes that nobody can guess.
pub fn new_seed() -> Result<[u8; 32], NoRandomness> {
    let mut seed = [0; 32];
    fill(&mut seed)?;
    Ok(seed)
}

fn fill(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    getrandom::fill(bytes).map_err(|_| NoRandomness)
}

/// The operating system gave no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers")]
pub struct NoRandomness;
