//! One attempt at a step to another phase.

use r1_event::{Digest, UnixNanos};
use r1_protocol::data::GateVerdict;
use r1_receipt::NodeId;

use crate::gate::{Boundary, Placed, Preset, Transition, gate_id};

/// A round: all gates of a step look, and all of them are heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The step.
    pub transition: Transition,
    /// Its number, from 1 in each task.
    pub round: u64,
    /// Its gates, in the order in which they are asked.
    pub standing: Vec<Standing>,
    /// What people said, if that ends the round.
    pub(super) answer: Option<Answer>,
}

/// A gate of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Which, and where.
    pub placed: Placed,
    /// The end of what it saw.
    pub excerpt: String,
    /// Whether a model was asked and has been paid, and what the gate makes of its answer is to come.
    pub(super) is_paid: bool,
    /// What it said, once it did.
    pub decided: Option<Decided>,
    /// What a person was asked about it.
    pub question: Option<Question>,
}

/// What a gate said.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// Its name in the receipt.
    pub node: NodeId,
    /// Whether the task may go on.
    pub verdict: GateVerdict,
    /// Why.
    pub reason_code: String,
    /// What it measured, of 1000.
    pub score: Option<u64>,
    /// What it demands, of 1000.
    pub threshold: u64,
    /// What it looked at.
    pub inputs_hash: String,
    /// Whether a person overrode it.
    pub overridden: bool,
}

/// A request for a person's word on a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub approval_id: String,
    /// What exactly was shown.
    pub subject_hash: Digest,
    /// When it lapses.
    pub expires_at: Option<UnixNanos>,
    /// Whether it waits for its answer.
    pub(super) open: bool,
}

/// What ends a round without a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The gates look again.
    Retry,
    /// A person said no, or did not answer in time.
    Refused(String),
    /// Nobody is there to be asked.
    Nobody(String),
}

impl Attempt {
    /// A round in which nothing was decided yet.
    pub(super) fn new(transition: Transition, round: u64, preset: &Preset) -> Self {
        let mut required = preset.required(transition);
        // The reviewer hears what the others found, and the composite counts what all of them did.
        required.sort_by_key(|placed| match placed.gate_id.as_str() {
            gate_id::COMPOSITE => 2,
            gate_id::REVIEW => 1,
            _ => 0,
        });
        let standing =
            |placed| Standing { placed, excerpt: String::new(), is_paid: false, decided: None, question: None };
        Self { transition, round, standing: required.into_iter().map(standing).collect(), answer: None }
    }

    /// The gate whose turn it is.
    pub(super) fn undecided(&self) -> Option<&Standing> {
        self.standing.iter().find(|standing| standing.decided.is_none())
    }

    /// Decisions that stand in the way.
    pub fn obstacles(&self) -> impl Iterator<Item = (&Standing, &Decided)> {
        let decided = self.standing.iter().filter_map(|standing| Some((standing, standing.decided.as_ref()?)));
        decided.filter(|(_, decided)| !decided.lets_pass())
    }

    /// Whether every gate was heard and lets the task pass.
    pub(super) fn passes(&self) -> bool {
        self.undecided().is_none() && self.obstacles().next().is_none()
    }

    /// Whether a person ended the round without a step.
    pub(in crate::agent) const fn is_over(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether a gate blocks, which the agent may be able to mend.
    pub(super) fn is_blocked(&self) -> bool {
        self.obstacles().any(|(_, decided)| decided.verdict == GateVerdict::Block)
    }

    pub(super) fn find_mut(&mut self, boundary: Boundary, gate_id: &str) -> Option<&mut Standing> {
        self.standing
            .iter_mut()
            .find(|standing| standing.placed.boundary == boundary && standing.placed.gate_id == gate_id)
    }
}

impl Standing {
    /// Whether this names it: its own name, or the beginning of its decision's name in the receipt.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let digits = name.strip_prefix("sha256:").or_else(|| name.strip_prefix("node-sha256-")).unwrap_or(name);
        let node = self.decided.as_ref().map(|decided| decided.node.digest().to_string()).unwrap_or_default();
        let by_node = digits.len() >= MIN_DIGITS && node.starts_with(digits);
        by_node || self.placed.gate_id == name || self.placed.to_string() == name
    }
}

/// Fewer digits name nothing.
const MIN_DIGITS: usize = 4;

impl Decided {
    /// Whether the task may go on as far as this gate is concerned.
    #[must_use]
    pub fn lets_pass(&self) -> bool {
        self.overridden || self.verdict == GateVerdict::Allow
    }
}

impl Question {
    /// Whether it waits for its answer.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open
    }
}
