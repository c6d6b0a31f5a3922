//! The name of an event.

use r1_event::{Digest, UnixNanos};
use ulid::Ulid;

/// An event's id: a function of the event, so that it need not be stored and is the same everywhere.
///
/// `evt_` and a ULID: its time is the event's, its random part the first 80 bits of the event's hash.
#[must_use]
pub fn event_id(ts: UnixNanos, hash: Digest) -> String {
    const LAST: i64 = (1 << 48) - 1;
    let milliseconds = (ts.0.div_euclid(1_000_000)).clamp(0, LAST).cast_unsigned();
    let mut random = [0; 16];
    random[6..].copy_from_slice(&hash.as_bytes()[..10]);
    format!("evt_{}", Ulid::from_parts(milliseconds, u128::from_be_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_hash_are_in_the_id() {
        let hash = Digest::new([0xff; 32]);
        assert_eq!(event_id(UnixNanos(0), hash), "evt_0000000000ZZZZZZZZZZZZZZZZ");
        assert_eq!(event_id(UnixNanos(-1), Digest::new([0; 32])), "evt_00000000000000000000000000");
        assert_eq!(event_id(UnixNanos(1_000_000), Digest::new([0; 32])), "evt_00000000010000000000000000");
    }
}
