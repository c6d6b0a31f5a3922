//! Which trace a run belongs to, and what its spans are called there.

use r1_event::id::from_hex;
use r1_event::payload::RunStarted;
use r1_event::{Digest, RunId};
use ulid::Ulid;

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) id: [u8; 16],
    /// The span that the run was asked for in.
    pub(super) parent: Option<[u8; 8]>,
    /// Whether whoever began the trace wants to see it.
    pub(super) sampled: bool,
}

impl Trace {
    /// The trace of whoever asked for the run; otherwise its session's own, so that a run and its children
    /// are in one.
    pub(super) fn of(run: &RunId, started: &RunStarted) -> Self {
        if let Some(trace) = started.trace_parent.as_deref().and_then(Self::parse) {
            return trace;
        }
        let session = started.session_id.as_deref().unwrap_or(run.as_str());
        let ulid = session.rsplit('_').next().and_then(|text| text.parse::<Ulid>().ok());
        let id = ulid.map_or_else(|| beginning(Digest::blake3(session.as_bytes())), |ulid| ulid.0.to_be_bytes());
        Self { id, parent: None, sampled: true }
    }

    /// A W3C `traceparent`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-').skip(1);
        let id: [u8; 16] = from_hex(parts.next()?)?.try_into().ok()?;
        let parent: [u8; 8] = from_hex(parts.next()?)?.try_into().ok()?;
        let flags = *from_hex(parts.next()?)?.first()?;
        (id != [0; 16] && parent != [0; 8]).then_some(Self { id, parent: Some(parent), sampled: flags & 1 == 1 })
    }
}

/// The name of the span that this event begins.
pub(super) fn span_id(event: Digest) -> [u8; 8] {
    beginning(event)
}

fn beginning<const N: usize>(digest: Digest) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&digest.as_bytes()[..N]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(trace_parent: Option<&str>, session_id: Option<&str>) -> Trace {
        let started = RunStarted {
            trace_parent: trace_parent.map(Into::into),
            session_id: session_id.map(Into::into),
            ..RunStarted::default()
        };
        Trace::of(&"run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap(), &started)
    }

    #[test]
    fn a_run_is_in_the_trace_of_whoever_asked_for_it() {
        let asked = trace(Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), None);
        assert_eq!(r1_event::id::to_hex(&asked.id), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(r1_event::id::to_hex(&asked.parent.unwrap()), "b7ad6b7169203331");
        assert!(asked.sampled);
        assert!(!trace(Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"), None).sampled);
    }

    #[test]
    fn without_one_a_session_is_a_trace() {
        let root = trace(None, None);
        assert_eq!(root.id, "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse::<Ulid>().unwrap().0.to_be_bytes());
        assert_eq!(trace(None, Some("chat_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B")), root, "a child of it");
        assert_eq!(trace(Some("nonsense"), None), root);
    }
}
