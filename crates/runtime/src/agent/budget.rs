//! What a run may use up, and what it has.

use r1_event::{Payload, UnixNanos};
use r1_protocol::review::Review;

use super::spec::Budget;
use super::state::{Phase, RunState};
use crate::model::Usage;

/// The smallest answer that is worth asking for.
const MIN_OUTPUT_TOKENS: u64 = 256;

/// The most that a reviewer may say.
const MAX_REVIEW_TOKENS: u64 = 4_000;

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Model calls.
    pub turns: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens in, cached ones included.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// Micro-dollars.
    pub cost_micros_usd: u64,
    /// Micro-dollars that earlier runs of the task have cost.
    pub prior_cost_micros_usd: u64,
}

impl Spent {
    pub(super) fn turn(&mut self, usage: Usage, cost_micros_usd: u64) {
        self.turns += 1;
        self.input_tokens += usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        self.output_tokens += usage.output_tokens;
        self.cost_micros_usd += cost_micros_usd;
    }

    /// A review is paid for like a turn, and is none.
    pub(super) fn review(&mut self, review: &Review) {
        self.input_tokens += review.read_tokens();
        self.output_tokens += review.output_tokens;
        self.cost_micros_usd += review.cost_micros_usd;
    }

    /// What the whole task has cost.
    #[must_use]
    pub const fn task_cost_micros_usd(&self) -> u64 {
        self.prior_cost_micros_usd + self.cost_micros_usd
    }
}

/// What a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Money.
    Usd,
    /// Tokens in.
    InputTokens,
    /// Tokens out.
    OutputTokens,
    /// Model calls.
    Turns,
    /// Time.
    WallClock,
}

impl Axis {
    const ALL: [Self; 5] = [Self::Usd, Self::InputTokens, Self::OutputTokens, Self::Turns, Self::WallClock];

    /// The word in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usd => "usd",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Turns => "turns",
            Self::WallClock => "wall_clock",
        }
    }

    /// The axis with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|axis| axis.name() == name)
    }

    /// The limit, if there is one.
    #[must_use]
    pub const fn cap(self, budget: &Budget) -> Option<u64> {
        let cap = match self {
            Self::Usd => budget.micros_usd,
            Self::InputTokens => budget.input_tokens,
            Self::OutputTokens => budget.output_tokens,
            Self::Turns => budget.turns,
            Self::WallClock => budget.wall_clock_ms,
        };
        if cap == 0 { None } else { Some(cap) }
    }
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overrun {
    pub(super) axis: Axis,
    pub(super) cap: u64,
    pub(super) actual: u64,
}

impl RunState {
    fn used(&self, axis: Axis) -> u64 {
        match axis {
            Axis::Usd => self.spent.task_cost_micros_usd(),
            Axis::InputTokens => self.spent.input_tokens,
            Axis::OutputTokens => self.spent.output_tokens,
            Axis::Turns => self.spent.turns,
            Axis::WallClock => self.duration_ms(),
        }
    }

    /// A limit that the run has gone beyond.
    pub(super) fn overrun(&self) -> Option<Overrun> {
        Axis::ALL.into_iter().find_map(|axis| {
            let (cap, actual) = (axis.cap(&self.spec.budget)?, self.used(axis));
            (actual > cap).then_some(Overrun { axis, cap, actual })
        })
    }

    /// How much the model may say in the next turn, or the limit that leaves no room for one.
    pub(super) fn allowance(&self) -> Result<u64, Overrun> {
        let budget = &self.spec.budget;
        let estimate = self.conversation.estimated_tokens();
        let mut allowance = self.spec.max_output_tokens;
        for axis in Axis::ALL {
            let Some(cap) = axis.cap(budget) else { continue };
            let used = self.used(axis);
            let left = cap.saturating_sub(used);
            let no_room = |actual| Err(Overrun { axis, cap, actual });
            match axis {
                Axis::Turns | Axis::WallClock if left == 0 => return no_room(used),
                Axis::Turns | Axis::WallClock => {}
                Axis::InputTokens if estimate > left => return no_room(used + estimate),
                Axis::InputTokens => {}
                Axis::OutputTokens => allowance = allowance.min(left),
                Axis::Usd => {
                    let Some(price) = &self.spec.price else { continue };
                    let input = price.cost(&Usage { input_tokens: estimate, ..Usage::default() });
                    if input > left {
                        return no_room(used + input);
                    }
                    allowance = allowance.min(price.affordable_output(left - input));
                }
            }
            if allowance < MIN_OUTPUT_TOKENS.min(self.spec.max_output_tokens) {
                return no_room(used);
            }
        }
        Ok(allowance)
    }

    /// How much a reviewer may say, or the limit that leaves no room for a review. What it will read is not
    /// known before; that is counted afterwards.
    pub(super) fn review_allowance(&self) -> Result<u64, Overrun> {
        let mut allowance = MAX_REVIEW_TOKENS;
        let reviewer = self.spec.phases.as_ref().and_then(|plan| plan.reviewer.as_ref());
        for axis in [Axis::Usd, Axis::InputTokens, Axis::OutputTokens] {
            let Some(cap) = axis.cap(&self.spec.budget) else { continue };
            let used = self.used(axis);
            let left = cap.saturating_sub(used);
            let room = match (axis, reviewer.and_then(|reviewer| reviewer.price.as_ref())) {
                (Axis::Usd, Some(price)) => price.affordable_output(left),
                (Axis::OutputTokens, _) => left,
                (Axis::Usd | Axis::InputTokens | Axis::Turns | Axis::WallClock, _) if left == 0 => 0,
                (Axis::Usd | Axis::InputTokens | Axis::Turns | Axis::WallClock, _) => MAX_REVIEW_TOKENS,
            };
            allowance = allowance.min(room);
            if allowance < MIN_OUTPUT_TOKENS {
                return Err(Overrun { axis, cap, actual: used });
            }
        }
        Ok(allowance)
    }

    /// The most that a reviewer may say.
    #[must_use]
    pub fn max_review_tokens(&self) -> u64 {
        self.review_allowance().unwrap_or(MIN_OUTPUT_TOKENS)
    }

    /// The most that the model may say in the turn that is under way.
    #[must_use]
    pub fn max_output_tokens(&self) -> u64 {
        self.allowance().unwrap_or(MIN_OUTPUT_TOKENS)
    }

    /// A percentage of the money that is used up and was not told yet.
    pub(super) fn due_warning(&self) -> Option<u64> {
        let cap = Axis::Usd.cap(&self.spec.budget)?;
        let used = self.spent.task_cost_micros_usd();
        let reached = |pct: &&u64| u128::from(used) * 100 >= u128::from(cap) * u128::from(**pct);
        self.spec.budget.warning_pct.iter().filter(reached).find(|pct| !self.warned.contains(pct)).copied()
    }

    /// The event of a run whose time is over at `now`.
    #[must_use]
    pub fn out_of_time(&self, now: UnixNanos) -> Option<Payload> {
        let deadline = self.wall_clock_deadline().filter(|deadline| *deadline <= now)?;
        let cap = Axis::WallClock.cap(&self.spec.budget)?;
        let late = u64::try_from(now.0.saturating_sub(deadline.0)).unwrap_or(0) / 1_000_000;
        let overrun = Overrun { axis: Axis::WallClock, cap, actual: cap + late };
        let mut event = self.budget_exceeded_event(overrun, "mid_stream");
        if let (Payload::BudgetExceeded(body), Some(turn)) = (&mut event, &self.turn) {
            body.turn_id.clone_from(&turn.turn_id);
        }
        Some(event)
    }

    /// When the time that the run may take is over.
    pub(super) fn wall_clock_deadline(&self) -> Option<UnixNanos> {
        let limit = i64::try_from(Axis::WallClock.cap(&self.spec.budget)?).ok()?;
        let counts = self.phase == Phase::Claimed && self.halted.is_none() && !self.is_idle();
        counts.then(|| UnixNanos(self.created_at.0.saturating_add(limit.saturating_mul(1_000_000))))
    }
}
