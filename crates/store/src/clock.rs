//! The store's clock: leases and the age of blobs are measured by it, events never.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use r1_event::UnixNanos;

/// Now.
pub(crate) fn now() -> UnixNanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixNanos(nanos(since))
}

/// The moment `delay` after `moment`, or the last one there is.
pub(crate) fn after(moment: UnixNanos, delay: Duration) -> UnixNanos {
    UnixNanos(moment.0.saturating_add(nanos(delay)))
}

/// The moment `delay` before `moment`.
pub(crate) fn before(moment: UnixNanos, delay: Duration) -> UnixNanos {
    UnixNanos(moment.0.saturating_sub(nanos(delay)))
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
