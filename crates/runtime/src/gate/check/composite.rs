//! All gates together.

use std::fmt::Write as _;

use super::{Found, Question};
use crate::gate::outcome::Reason;
use crate::gate::preset::decimal;

pub(super) fn check(question: &Question<'_>) -> Result<Found, String> {
    let composite = &question.context.preset.composite;
    let latest =
        |id: &str| question.context.earlier.iter().rev().find(|said| said.gate_id == id && said.score.is_some());
    let mut evidence = String::new();
    let mut excluded = Vec::new();
    let (mut sum, mut weights) = (0u128, 0u128);
    for (id, weight) in composite.weights.iter().filter(|(_, weight)| **weight > 0) {
        match latest(id).and_then(|said| said.score) {
            Some(score) => {
                sum += u128::from(*weight) * u128::from(score);
                weights += u128::from(*weight);
                let _ = writeln!(evidence, "{id}: {score} × {}", decimal(*weight));
            }
            None => {
                excluded.push(id.clone());
                let _ = writeln!(evidence, "{id}: no score");
            }
        }
    }
    if weights == 0 {
        evidence.push_str("no gate has a score, so there is no mean\n");
        return Ok(Found { excluded, ..Found::escalate(Reason::NotConfigured, evidence) });
    }
    let score = u64::try_from(sum / weights).unwrap_or(0).min(1000);
    let _ = writeln!(evidence, "mean {score}, needed {}", question.rule.threshold);
    Ok(Found { excluded, ..Found::score(score, Reason::CompositeBelow, evidence) })
}
