//! The agent loop, as a pure function of the log.
//!
//! - [`RunState`]: all that is known of a run, folded from its stored events and from nothing else.
//! - [`RunState::decide`]: the event that the loop itself writes next, if it is the loop's turn.
//! - [`RunState::effects`]: the work that must be under way: a model call, a tool call, a checkpoint.
//! - [`command::respond`]: the events that a control action causes.
//!
//! There is no clock, no chance and no I/O in here. "Now" is the time of the last event, ids are minted
//! from the place in the log, and whatever comes from outside comes as an event. So a live run
//! ([`engine`](crate::engine)), a replay, a resumed run and a fork all are the same fold, and a log says
//! by itself what must come next.

pub mod command;
pub mod conversation;
pub mod prompt;
pub mod spec;

pub(crate) mod answer;
mod budget;
mod call;
mod compact;
mod decide;
mod effect;
mod fold;
mod mint;
mod phases;
mod plan;
pub(crate) mod refused;
mod remember;
mod state;

pub use budget::{Axis, Spent};
pub use call::{Call, Stage};
pub use conversation::Conversation;
pub use decide::Toolset;
pub use effect::Effect;
pub use fold::{FoldError, Place};
pub use phases::{Attempt, Decided, PhasePlan, Phases, Question, ReviewerSpec, Standing};
pub use r1_protocol::review::GATE_EVIDENCE;
pub use spec::{Budget, PlannedCall, RunSpec, SandboxWish, WorkspaceSource};
pub use state::{Asked, Checkpoint, Lease, Origin, Phase, RunState, Turn};

/// Name of the recorded input that says how long to wait before another attempt at a turn.
pub(crate) const RETRY_DELAY: &str = "retry.delay_ms";

/// Name of the recorded input that says what a call would do.
pub(crate) const TOOL_PREPARED: &str = "tool.prepared";
