//! Where Starling stops a run for what it costs.

use r1_event::Payload;
use r1_event::payload::{AssistantMessageCompleted, BudgetExceeded, BudgetLimits};

use super::Judgement;
use super::state::{Loop, Phase};

const INPUT: &str = "input_tokens";
const OUTPUT: &str = "output_tokens";
const USD: &str = "usd";
/// The only limit that ends a run from outside a model call.
pub(super) const WALL_CLOCK: &str = "wall_clock";

impl Loop {
    pub(super) fn judge_budget(&self, found: &BudgetExceeded) -> Judgement {
        let limits = self.limits();
        if found.limit == WALL_CLOCK && limits.max_wall_clock_ms > 0 {
            return Judgement::Writes(self.out_of_time(found.actual));
        }
        match &self.phase {
            Phase::Asking => match self.conversation.prompt() {
                Some(prompt) => self.over_input(prompt.tokens).map_or(Judgement::Refuses, Judgement::Writes),
                None => {
                    #[expect(clippy::cast_possible_truncation, reason = "an estimate of tokens is a whole number")]
                    let estimate = found.actual as i64;
                    self.over_input(estimate).map_or(Judgement::Refuses, Judgement::Takes)
                }
            },
            Phase::Listening { turn } => {
                let cap = match found.limit.as_str() {
                    OUTPUT => tokens(limits.max_output_tokens),
                    USD => limits.max_usd,
                    _ => 0.0,
                };
                if cap <= 0.0 || found.actual <= cap {
                    return Judgement::Refuses;
                }
                Judgement::Writes(Payload::BudgetExceeded(BudgetExceeded {
                    cap,
                    actual: if found.limit == OUTPUT { tokens(found.partial_tokens) } else { found.actual },
                    r#where: "mid_stream".into(),
                    turn_id: turn.clone(),
                    call_id: String::new(),
                    ..found.clone()
                }))
            }
            Phase::Calling | Phase::Telling { .. } | Phase::Answered | Phase::Exceeded(_) | Phase::Ended => {
                Judgement::Refuses
            }
        }
    }

    /// What stops a turn of this estimate before it begins.
    pub(super) fn over_input(&self, estimate: i64) -> Option<Payload> {
        let cap = self.limits().max_input_tokens;
        (cap > 0 && estimate > cap).then(|| {
            Payload::BudgetExceeded(BudgetExceeded {
                limit: INPUT.into(),
                cap: tokens(cap),
                actual: tokens(estimate),
                r#where: "pre_call".into(),
                ..BudgetExceeded::default()
            })
        })
    }

    /// What would have stopped an answer before it was complete.
    pub(super) fn over_output(&self, message: &AssistantMessageCompleted) -> Option<Payload> {
        let limits = self.limits();
        let over = |limit: &str, cap: f64, actual: f64| {
            (cap > 0.0 && actual > cap).then(|| {
                Payload::BudgetExceeded(BudgetExceeded {
                    limit: limit.into(),
                    cap,
                    actual,
                    r#where: "mid_stream".into(),
                    turn_id: message.turn_id.clone(),
                    partial_text: message.text.clone(),
                    partial_tokens: message.output_tokens,
                    ..BudgetExceeded::default()
                })
            })
        };
        over(OUTPUT, tokens(limits.max_output_tokens), tokens(message.output_tokens))
            .or_else(|| over(USD, limits.max_usd, message.cost_usd))
    }

    /// What a run writes that took `actual` milliseconds, and was not given so many.
    pub(super) fn out_of_time(&self, actual: f64) -> Payload {
        Payload::BudgetExceeded(BudgetExceeded {
            limit: WALL_CLOCK.into(),
            cap: tokens(self.limits().max_wall_clock_ms),
            actual,
            r#where: "mid_stream".into(),
            ..BudgetExceeded::default()
        })
    }

    pub(super) fn limits(&self) -> BudgetLimits {
        self.started.budget.clone().unwrap_or_default()
    }
}

/// A count as Starling writes it into a limit.
#[expect(clippy::cast_precision_loss, reason = "Starling rounds as well")]
const fn tokens(count: i64) -> f64 {
    count as f64
}
