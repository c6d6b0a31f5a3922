//! A task on its way through its phases: START, PLAN, EXECUTE, VERIFY, COMMIT, END.
//!
//! - [`PhasePlan`]: what of it is settled in the run's first event.
//! - [`Phases`]: how far it is, folded from the log like all else.
//! - [`Attempt`]: one attempt at a step to another phase, and what its gates said.
//! - `next`: what the loop writes. The one place where `phase.transition` is made is there, and it is made
//!   only when every gate of the round let the task pass or a person overrode it.
//! - `brief`: what the model is told; `answer`: what of its answers counts for the phases.

mod answer;
mod attempt;
mod brief;
mod fold;
mod next;
mod plan;

use std::collections::BTreeMap;

use r1_receipt::graph::{Graph, Notes};

pub use attempt::{Attempt, Decided, Question, Standing};
pub(super) use next::{Next, is_retry};
pub use plan::{PhasePlan, ReviewerSpec};

use self::attempt::Answer;
use crate::gate::{Earlier, Phase, Placed, Preset, Transition, Verified};
use crate::tool::Subject;

/// After so many rounds in which a gate blocked, a person decides.
const MAX_BLOCKED: u64 = 3;

/// How far a task is.
#[derive(Clone, Debug)]
pub struct Phases {
    phase: Phase,
    preset_hash: String,
    /// Rounds that were begun.
    rounds: u64,
    /// The attempt that is under way.
    attempt: Option<Attempt>,
    /// Rounds of each step in which a gate blocked, since it was last made.
    blocked: BTreeMap<Transition, u64>,
    /// What gates said so far.
    earlier: Vec<Earlier>,
    /// Whether the model gave an answer since it was last told something.
    answered: bool,
    /// Whether the model is to be told where it is.
    must_brief: bool,
    /// What stood in the way of the last step that was refused.
    objections: Option<String>,
    /// Why a person, or nobody at all, let it go no further.
    given_up: Option<GivenUp>,
    /// Where the model wants to go back to.
    back_to: Option<Phase>,
    declared: Vec<String>,
    commit_message: Option<String>,
    base: Saved,
    verified: Option<Verified>,
    /// Names the decisions.
    graph: Graph,
}

/// Why a task goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GivenUp {
    /// The run's `error_type`.
    code: &'static str,
    message: String,
}

/// The workspace as it was before the task.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Saved {
    /// It is to be saved.
    Due,
    /// As this, or not at all: a machine without git has no snapshots.
    Done(Option<String>),
}

impl Phases {
    fn new(preset: &Preset) -> Self {
        Self {
            phase: Phase::Start,
            preset_hash: preset.hash(),
            rounds: 0,
            attempt: None,
            blocked: BTreeMap::new(),
            earlier: Vec::new(),
            answered: false,
            must_brief: false,
            objections: None,
            given_up: None,
            back_to: None,
            declared: Vec::new(),
            commit_message: None,
            base: Saved::Due,
            verified: None,
            graph: Graph::new(Notes::default()),
        }
    }

    /// Where it is.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The preset, by its hash.
    #[must_use]
    pub fn preset_hash(&self) -> &str {
        &self.preset_hash
    }

    /// The attempt that is under way.
    #[must_use]
    pub const fn attempt(&self) -> Option<&Attempt> {
        self.attempt.as_ref()
    }

    /// What gates said of this task so far, oldest first.
    #[must_use]
    pub fn earlier(&self) -> &[Earlier] {
        &self.earlier
    }

    /// The files that the plan names.
    #[must_use]
    pub fn declared(&self) -> &[String] {
        &self.declared
    }

    /// The message of the commit that is to be made.
    #[must_use]
    pub fn commit_message(&self) -> Option<&str> {
        self.commit_message.as_deref()
    }

    /// The workspace as it was before the task, if it could be saved.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        match &self.base {
            Saved::Due => None,
            Saved::Done(revision) => revision.as_deref(),
        }
    }

    /// A decision about what is committed.
    #[must_use]
    pub const fn verified(&self) -> Option<&Verified> {
        self.verified.as_ref()
    }

    /// Whether the workspace has to be saved before anything else is done.
    pub(crate) fn must_save(&self) -> bool {
        self.base == Saved::Due
    }

    /// Whether a gate has told what it saw and not yet what it says: nothing comes between the two.
    pub(super) fn hears_a_gate(&self) -> bool {
        self.attempt.iter().flat_map(|attempt| &attempt.standing).any(|standing| standing.is_paid)
    }

    /// The gate that is to look now, and in which round.
    pub(super) fn gate_to_ask(&self) -> Option<(u64, &Placed)> {
        let attempt = self.attempt.as_ref().filter(|_| !self.must_save())?;
        attempt.undecided().map(|standing| (attempt.round, &standing.placed))
    }

    /// Requests for approval that wait, and the decisions they are about.
    pub(crate) fn questions(&self) -> impl Iterator<Item = (&Question, &Standing)> {
        let standing = self.attempt.iter().flat_map(|attempt| &attempt.standing);
        standing.filter_map(|standing| Some((standing.question.as_ref().filter(|asked| asked.is_open())?, standing)))
    }

    /// Why a call does not fit into the phase. Files are changed in EXECUTE and nowhere else: what is planned
    /// is not done yet, and what is verified and committed stays as it was looked at.
    pub(super) fn refuses(&self, subject: &Subject) -> Option<&'static str> {
        match (subject, self.phase) {
            (Subject::Edit { .. }, Phase::Start | Phase::Plan) => {
                Some("files are not changed in the PLAN phase; answer with the plan first")
            }
            (Subject::Edit { .. }, Phase::Verify) => Some(
                "files are not changed in the VERIFY phase; to go back, end your answer with a `phase` block that \
                 says EXECUTE",
            ),
            (Subject::Edit { .. }, Phase::Commit | Phase::End) => {
                Some("files are not changed in the COMMIT phase; commit what was verified")
            }
            (Subject::Edit { .. }, Phase::Execute)
            | (
                Subject::Internal
                | Subject::Read { .. }
                | Subject::Command { .. }
                | Subject::Network { .. }
                | Subject::Mcp { .. },
                _,
            ) => None,
        }
    }

    /// Whether a person must decide about the attempt: nobody else can, or nobody else could three times.
    fn must_ask(&self, attempt: &Attempt) -> bool {
        let blocked = self.blocked.get(&attempt.transition).copied().unwrap_or(0);
        // What an agent can still mend is not put before a person.
        attempt.transition.from() == Phase::Start || !attempt.is_blocked() || blocked + 1 >= MAX_BLOCKED
    }

    fn begin(&mut self, transition: Transition, preset: &Preset) {
        self.rounds += 1;
        self.answered = false;
        self.attempt = Some(Attempt::new(transition, self.rounds, preset));
    }

    fn give_up(&mut self, answer: &Answer) {
        self.given_up = match answer {
            Answer::Retry => None,
            Answer::Refused(message) => Some(GivenUp { code: "gate_refused", message: message.clone() }),
            Answer::Nobody(message) => Some(GivenUp { code: "gate_failed", message: message.clone() }),
        };
    }
}
