//! Gates: what must hold before a task goes on to its next phase.
//!
//! - [`Phase`], [`Boundary`], [`Transition`]: where gates stand.
//! - [`Preset`]: which gates stand where, and how much they demand.
//! - [`save_start`]: the workspace as a task found it, to compare with.
//! - [`GateContext`]: all that a gate may look at.
//! - [`evaluate`]: one gate looks and says what it found, as an [`Outcome`].
//!
//! A gate never fails to answer: what goes wrong inside of it is an outcome too, and never one that lets a
//! task go on. Nothing here writes events or knows of a run; whoever asks records the answer.

mod check;
mod command;
mod context;
mod detect;
mod outcome;
mod pattern;
mod phase;
mod preset;
mod protected;
mod repository;
mod start;
mod tree;

pub(crate) use check::look;
pub use check::{GATE_VERSION, evaluate};
pub use context::{Base, Criterion, Earlier, GateContext, ModelName, Reviewer, Rules, Verified};
pub use detect::detected_command;
pub use outcome::{Outcome, Reason};
pub use phase::{Boundary, NotAPlace, Phase, Side, Transition};
pub use preset::{
    Composite, GateRule, NotApplicable, Placed, Preset, PresetError, PresetSource, Scope, decimal, gate_id,
};
pub use start::save_start;
