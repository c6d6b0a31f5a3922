//! A gate of the project's own: its command decides.

use super::{Found, Question, commands};
use crate::gate::outcome::Reason;

/// With this exit code a command asks for a person.
const ASKS: i32 = 10;

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    let line = question.rule.command.as_deref().ok_or("the gate has no command to run")?;
    let (ran, code) = match commands::run(question, line).await {
        Ok(ran) => ran,
        Err(found) => return Ok(found),
    };
    let found = match code {
        0 => Found::score(1000, Reason::BelowThreshold, ran.evidence()),
        ASKS => Found::escalate(Reason::AskByPolicy, ran.evidence()),
        // It says no; whoever wants advice only lets the command say yes.
        _ => Found::block(Reason::BelowThreshold, ran.evidence()).scored(0),
    };
    Ok(found.after(&ran))
}
