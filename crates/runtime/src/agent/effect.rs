//! What must be under way, by the state of the run.

use r1_event::UnixNanos;

use super::Toolset;
use super::call::Stage;
use super::state::{Phase, RunState};
use crate::gate::Placed;

/// A piece of work that the engine does on the loop's behalf. Its results come back as events.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Ask the model.
    Model {
        /// Which turn.
        turn_id: String,
        /// Which attempt at it, from 1.
        attempt: u64,
    },
    /// Draw how long to wait before the next attempt, and record it.
    Delay {
        /// Which turn.
        turn_id: String,
        /// The attempt that will follow.
        attempt: u64,
    },
    /// Work out what a call would do.
    Prepare {
        /// Which call.
        call_id: String,
    },
    /// Do it.
    Run {
        /// Which call.
        call_id: String,
        /// Which attempt at it, from 1.
        attempt: u64,
    },
    /// Take a snapshot of the workspace.
    Checkpoint,
    /// Ask a gate.
    Gate {
        /// In which round.
        round: u64,
        /// Which, and where.
        gate: Placed,
    },
}

impl RunState {
    /// All work that must be under way now. What is under way and not listed is to be stopped.
    #[must_use]
    pub fn effects(&self, tools: &Toolset) -> Vec<Effect> {
        if self.terminal.is_some() || self.phase != Phase::Claimed {
            return Vec::new();
        }
        let mut effects = Vec::new();
        if let Some(turn) = &self.turn
            && self.halted.is_none()
        {
            let (turn_id, attempt) = (turn.turn_id.clone(), turn.failures + 1);
            effects.push(if turn.failures > 0 && turn.retry_at.is_none() {
                Effect::Delay { turn_id, attempt }
            } else {
                Effect::Model { turn_id, attempt }
            });
        }
        let whose_turn = |call: &&super::Call| {
            !self.is_planned() || self.planned_call().is_some_and(|next| next.call_id == call.call_id)
        };
        for call in self.calls.iter().filter(whose_turn) {
            let call_id = call.call_id.clone();
            match call.stage {
                // A call that was cut off by a spent budget is stopped, and none is begun.
                _ if self.halted.is_some() => {}
                Stage::Proposed | Stage::Approved if self.turn.is_none() && tools.must_prepare(call) => {
                    effects.push(Effect::Prepare { call_id });
                }
                Stage::Running { .. } => effects.push(Effect::Run { call_id, attempt: call.attempts }),
                Stage::Proposed | Stage::Waiting { .. } | Stage::Approved | Stage::Reissue | Stage::Closed => {}
            }
        }
        effects.extend(self.effect_of_phases());
        if self.checkpoint_is_due() && !effects.contains(&Effect::Checkpoint) {
            effects.push(Effect::Checkpoint);
        }
        effects
    }

    /// What the phases wait for.
    fn effect_of_phases(&self) -> Option<Effect> {
        let phases = self.phases.as_ref().filter(|_| self.turn.is_none() && self.halted.is_none())?;
        if phases.must_save() {
            return Some(Effect::Checkpoint);
        }
        phases.gate_to_ask().map(|(round, gate)| Effect::Gate { round, gate: gate.clone() })
    }

    /// Whether this gate is to say its word in this round, and has not yet.
    #[must_use]
    pub fn waits_for_gate(&self, round: u64, gate: &Placed) -> bool {
        self.effect_of_phases() == Some(Effect::Gate { round, gate: gate.clone() })
    }

    /// The next moment at which something lapses by itself: an approval, or the time the run may take.
    #[must_use]
    pub fn next_deadline(&self) -> Option<UnixNanos> {
        let approvals = self.calls.iter().filter_map(|call| match call.stage {
            Stage::Waiting { expires_at, .. } => expires_at,
            _ => None,
        });
        let gates = self.phases.iter().flat_map(|phases| phases.questions());
        let gates = gates.filter_map(|(question, _)| question.expires_at);
        approvals.chain(gates).chain(self.wall_clock_deadline()).min()
    }
}
