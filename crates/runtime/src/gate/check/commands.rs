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

/// Runs the command of a gate. What did not end by itself has said nothing: then this is the answer.
pub(super) async fn run(question: &Question<'_>, line: &str) -> Result<(Ran, i32), Found> {
    let ran = command::run(question.context, line, question.rule.timeout()).await;
    match ran.end {
        End::Exited(code) => Ok((ran, code)),
        End::TimedOut => Err(Found::block(Reason::Timeout, ran.evidence()).after(&ran)),
        End::Crashed(_) => Err(Found::escalate(Reason::GateError, ran.evidence()).after(&ran)),
    }
}
