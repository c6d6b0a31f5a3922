//! Making a skill: questions, answers, and the file that follows from them.
//!
//! - [`Question`]: what is asked, and where the answer goes.
//! - [`Wizard`]: the answers so far, each a [`Decision`]; a correction is a new one.
//! - [`Skill`]: what the last answers say together. The same answers make the same bytes.
//!
//! Pure: who asks whom, and where it is written down, is for others.

mod answer;
mod given;
mod question;
mod render;
mod wizard;

pub use answer::BadAnswer;
pub use given::{Given, GivenError};
pub use question::{Question, Stage};
pub use render::Skill;
pub use wizard::{Decision, Mode, Wizard};
