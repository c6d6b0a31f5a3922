//! Ids that are computed from what is stored.

use r1_event::side_record::EventRef;
use r1_event::{Digest, RunId, UnixNanos};
use ulid::Ulid;

/// An event's id: a function of the event, so that it need not be stored and is the same everywhere.
///
/// `evt_` and a ULID: its time is the event's, its random part the first 80 bits of the event's hash.
#[must_use]
pub fn event_id(ts: UnixNanos, hash: Digest) -> String {
    format!("evt_{}", ulid(ts, hash))
}

/// Appends [`event_id`].
pub(crate) fn write_event_id(out: &mut Vec<u8>, ts: UnixNanos, hash: Digest) {
    let mut digits = [0; ulid::ULID_LEN];
    out.extend_from_slice(b"evt_");
    out.extend_from_slice(ulid(ts, hash).array_to_str(&mut digits).as_bytes());
}

/// The id of an event that a side record names.
#[must_use]
pub fn event_id_of(event: &EventRef) -> String {
    event_id(event.ts, event.hash)
}

/// A run's id as it is served. R1's own are served as they are; Starling's become `run_` and the ULID
/// that they end in, or else one made of `started_at` and the id's hash.
#[must_use]
pub fn run_id(stored: &str, started_at: UnixNanos) -> String {
    let last = stored.rsplit('/').next().unwrap_or(stored);
    match ulid_text(stored).or_else(|| ulid_text(last)) {
        Some(ulid) => format!("run_{ulid}"),
        None => format!("run_{}", ulid(started_at, Digest::blake3(stored.as_bytes()))),
    }
}

/// The session of a run, in any of the forms that one id has, as it is served.
#[must_use]
pub fn session_id(stored: &str) -> Option<String> {
    ulid_text(stored).map(|ulid| format!("chat_{ulid}"))
}

/// The ULID in a bare or prefixed id of a run or session.
pub(crate) fn ulid_text(id: &str) -> Option<&str> {
    let bare = ["run_", "chat_", "sess_"].iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
    let native: RunId = format!("run_{bare}").parse().ok()?;
    native.is_native().then_some(bare)
}

fn ulid(ts: UnixNanos, hash: Digest) -> Ulid {
    const MAX_MILLIS: u64 = (1 << 48) - 1;
    let millis = u64::try_from(ts.0.div_euclid(1_000_000)).unwrap_or(0).min(MAX_MILLIS);
    let random = hash.as_bytes()[..10].iter().fold(0, |random, byte| (random << 8) | u128::from(*byte));
    Ulid::from_parts(millis, random)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: UnixNanos = UnixNanos(1_790_000_000_123_456_789);

    fn parse(event_id: &str) -> Ulid {
        Ulid::from_string(event_id.strip_prefix("evt_").unwrap()).unwrap()
    }

    #[test]
    fn an_event_id_holds_the_milliseconds_and_the_first_ten_bytes_of_the_hash() {
        let hash = Digest::blake3(b"an event");
        let id = parse(&event_id(AT, hash));
        assert_eq!(id.timestamp_ms(), 1_790_000_000_123);
        assert_eq!(id.to_bytes()[6..], hash.as_bytes()[..10]);
    }

    #[test]
    fn times_before_1970_are_clamped() {
        let id = parse(&event_id(UnixNanos(-1), Digest::blake3(b"")));
        assert_eq!(id.timestamp_ms(), 0);
    }

    #[test]
    fn starlings_run_ids_keep_their_ulid_where_they_have_one() {
        let ulid = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
        let native = format!("run_{ulid}");
        for stored in [native.clone(), ulid.into(), format!("team/{ulid}")] {
            assert_eq!(run_id(&stored, AT), native);
        }
        let computed = run_id("nightly build", AT);
        assert!(computed.parse::<RunId>().unwrap().is_native());
        assert_eq!(computed, run_id("nightly build", AT));
        assert_ne!(computed, run_id("nightly build 2", AT));
    }

    #[test]
    fn a_session_is_served_in_one_form() {
        let ulid = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
        for prefix in ["", "run_", "sess_", "chat_"] {
            assert_eq!(session_id(&format!("{prefix}{ulid}")), Some(format!("chat_{ulid}")));
        }
        assert_eq!(session_id("free text"), None);
    }
}
