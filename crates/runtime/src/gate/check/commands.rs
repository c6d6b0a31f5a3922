//! What the end of a command means.

use super::{Found, Question};
use crate::gate::command::{self, End, Ran};
use crate::gate::outcome::Reason;

impl Found {
    /// With the command that was run.
    pub(super) fn after(mut self, ran: &Ran) -> Self {
        self.command = Some(ran.line.clone());
        self.exit_code = ran.exit_code();
        self
    }
}

/// Runs the command of a gate of R1's. One that broke or took too long has said nothing about what it was to
/// judge: then this is the answer.
pub(super) async fn run(question: &Question<'_>, line: &str) -> Result<(Ran, i32), Found> {
    let ran = command::run(question.context, line, question.rule.timeout()).await;
    match ran.end {
        End::Exited(code) => Ok((ran, code)),
        End::Broken(_) | End::TimedOut | End::Crashed(_) => {
            Err(Found::escalate(Reason::GateError, ran.evidence()).after(&ran))
        }
    }
}
