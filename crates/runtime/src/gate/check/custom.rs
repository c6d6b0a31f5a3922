//! A gate of the project's own: its command decides.

use super::{Found, Question};
use crate::gate::command::{self, End};
use crate::gate::outcome::Reason;

/// With this exit code a command asks for a person.
const ASKS: i32 = 10;

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    let line = question.rule.command.as_deref().ok_or("the gate has no command to run")?;
    let ran = command::run(question.context, line, question.rule.timeout()).await;
    let found = match ran.end {
        End::Exited(0) => Found::score(1000, Reason::BelowThreshold, ran.evidence()),
        End::Exited(ASKS) => Found::escalate(Reason::AskByPolicy, ran.evidence()),
        // It says no; whoever wants advice only lets the command say yes.
        End::Exited(_) | End::Broken(_) => Found::block(Reason::BelowThreshold, ran.evidence()).scored(0),
        End::TimedOut => Found::block(Reason::Timeout, ran.evidence()),
        End::Crashed(_) => Found::escalate(Reason::GateError, ran.evidence()),
    };
    Ok(found.after(&ran))
}
