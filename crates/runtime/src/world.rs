//! The one place where this crate asks for time and chance.

use std::sync::atomic::{AtomicU64, Ordering};
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

/// The same, for whoever reckons with the system's own type.
#[must_use]
pub fn system_time() -> SystemTime {
    UNIX_EPOCH + std::time::Duration::from_nanos(u64::try_from(now().0).unwrap_or(0))
}

/// The date here.
#[must_use]
pub fn today() -> String {
    let now = jiff::Timestamp::from_nanosecond(i128::from(now().0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    now.to_zoned(jiff::tz::TimeZone::system()).date().to_string()
}

/// A name for a new run that starts at `at`.
pub fn new_run_id(at: UnixNanos) -> Result<RunId, NoRandomness> {
    let mut random = [0; 16];
    fill(&mut random[..10])?;
    let milliseconds = u64::try_from(at.0 / 1_000_000).unwrap_or(0);
    let id = Ulid::from_parts(milliseconds, u128::from_le_bytes(random));
    // A ULID is 26 characters: within every limit of a run's name.
    format!("run_{id}").parse().map_err(|_| NoRandomness)
}

/// The name of this process in leases and keys: `r1-` and 8 hexadecimal digits.
pub fn new_instance_id() -> Result<String, NoRandomness> {
    let mut random = [0; 4];
    fill(&mut random)?;
    Ok(format!("r1-{}", r1_event::id::to_hex(&random)))
}

/// A new id: the prefix, `_` and a ULID.
#[must_use]
pub fn new_id(prefix: &str) -> String {
    let random = random::<16>().unwrap_or_default();
    let milliseconds = u64::try_from(now().0 / 1_000_000).unwrap_or(0);
    format!("{prefix}_{}", Ulid::from_parts(milliseconds, u128::from_le_bytes(random) >> 48))
}

/// Bytes that nobody can guess.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// How this process signs a lease: its instance, where others of this machine can see whether it is still
/// alive, and a number, so that no part of the process takes a lease from another part by its name.
#[must_use]
pub fn lease_owner(instance: &str) -> String {
    static LEASES: AtomicU64 = AtomicU64::new(0);
    let number = LEASES.fetch_add(1, Ordering::Relaxed);
    match (machine(), process_start("self")) {
        (Some(machine), Some(start)) => format!("{instance}@{machine}/{}/{start}/{number}", std::process::id()),
        _ => format!("{instance}@/{number}"),
    }
}

/// The instance in a lease's owner.
#[must_use]
pub fn instance_of(owner: &str) -> &str {
    owner.split_once('@').map_or(owner, |(instance, _)| instance)
}

/// Whether the owner of a lease was a process of this machine that is gone. False if nobody can tell.
#[must_use]
pub fn is_dead(owner: &str) -> bool {
    let Some((_, place)) = owner.split_once('@') else { return false };
    let mut parts = place.split('/');
    let (Some(there), Some(pid), Some(start)) = (parts.next(), parts.next(), parts.next()) else { return false };
    // Numbers of processes come again; the moment of their start does not.
    machine().as_deref() == Some(there) && process_start(pid).as_deref() != Some(start)
}

/// Whether there is no process of this number here. False if nobody can tell.
#[must_use]
pub fn is_gone(pid: u32) -> bool {
    machine().is_some() && process_start(&pid.to_string()).is_none()
}

/// Names this machine since it was booted, and the process numbers that count here.
fn machine() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(boot.as_bytes());
    hasher.update(numbers.as_os_str().as_encoded_bytes());
    Some(hasher.finalize().to_hex()[..16].to_owned())
}

/// When a process was started, in the kernel's own ticks.
fn process_start(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes second, in parentheses, and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A process that has ended and was not waited for yet is as good as gone.
    (fields.next()? != "Z").then(|| fields.nth(18).map(str::to_owned))?
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
