//! Which trace a run belongs to, and what its spans are called there.

use r1_event::payload::RunStarted;
use r1_event::{Digest, RunId};
use r1_runtime::trace::TraceParent;
use ulid::Ulid;

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) id: [u8; 16],
    /// The span that the run was asked for in.
    pub(super) parent: Option<[u8; 8]>,
    /// The run's own span, as the run tells others of it.
    pub(super) own: Option<[u8; 8]>,
    /// Whether whoever began the trace wants to see it.
    pub(super) sampled: bool,
}

impl Trace {
    /// The trace that the run says it is in; otherwise its session's own, so that a run and its children
    /// are in one.
    pub(super) fn of(run: &RunId, started: &RunStarted) -> Self {
        let place = |text: &Option<String>| text.as_deref().and_then(TraceParent::parse);
        if let Some(own) = place(&started.trace_parent) {
            let asked_in = place(&started.trace_parent_in).filter(|asked_in| asked_in.trace_id() == own.trace_id());
            return Self {
                id: own.trace_id(),
                parent: asked_in.map(|asked_in| asked_in.parent_id()),
                own: Some(own.parent_id()),
                sampled: own.is_sampled(),
            };
        }
        let session = started.session_id.as_deref().unwrap_or(run.as_str());
        let ulid = session.rsplit('_').next().and_then(|text| text.parse::<Ulid>().ok());
        let id = ulid.map_or_else(|| beginning(Digest::blake3(session.as_bytes())), |ulid| ulid.0.to_be_bytes());
        Self { id, parent: None, own: None, sampled: true }
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

    fn trace(trace_parent: Option<&str>, asked_in: Option<&str>, session_id: Option<&str>) -> Trace {
        let started = RunStarted {
            trace_parent: trace_parent.map(Into::into),
            trace_parent_in: asked_in.map(Into::into),
            session_id: session_id.map(Into::into),
            ..RunStarted::default()
        };
        Trace::of(&"run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap(), &started)
    }

    #[test]
    fn a_run_is_a_span_in_the_trace_of_whoever_asked_for_it() {
        let own = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        let asked_in = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let asked = trace(Some(own), Some(asked_in), None);
        assert_eq!(r1_event::id::to_hex(&asked.id), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(asked.parent.map(|id| r1_event::id::to_hex(&id)).as_deref(), Some("b7ad6b7169203331"));
        assert_eq!(asked.own.map(|id| r1_event::id::to_hex(&id)).as_deref(), Some("00f067aa0ba902b7"));
        assert!(asked.sampled);
        assert!(!trace(Some(&own.replace("-01", "-00")), None, None).sampled);
        assert_eq!(trace(Some(own), None, None).parent, None, "nobody asked in a trace");
    }

    #[test]
    fn without_one_a_session_is_a_trace() {
        let root = trace(None, None, None);
        assert_eq!(root.id, "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse::<Ulid>().unwrap().0.to_be_bytes());
        assert_eq!(trace(None, None, Some("chat_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B")), root, "a child of it");
        assert_eq!(trace(Some("nonsense"), None, None), root);
    }
}
