//! One gate looks.

use r1_protocol::data::GateVerdict;

use super::{Boundary, GateContext, GateRule, Outcome, Reason, Transition};

/// Asks one gate. It always answers: what goes wrong inside of it is an answer too.
pub async fn evaluate(rule: &GateRule, boundary: Boundary, transition: Transition, context: &GateContext) -> Outcome {
    let _ = (rule, boundary, transition, context);
    Outcome {
        verdict: GateVerdict::Escalate,
        reason: Reason::GateError,
        score: None,
        evidence: String::new(),
        inputs_hash: String::new(),
        duration_ms: 0,
        command: None,
        exit_code: None,
        excluded: Vec::new(),
    }
}

pub(super) fn pattern_error(_: &str) -> Option<String> {
    None
}
