//! `redaction.*`.

use super::{By, Object};

events! {
    /// Payloads are erased, after this event.
    "redaction.applied" RedactionApplied Added {
        identity { run_id: String, sequences: Vec<u64>, }
        required { by: By, reason: String, }
        optional { detector: String, nodes: Vec<Object>, }
    }
}
