//! Do the tests pass, and is every acceptance criterion met?

use super::counts::{Counts, count};
use super::{Found, Question, share};
use crate::gate::command::{self, End, Ran};
use crate::gate::detect::detected_command;
use crate::gate::outcome::Reason;
use crate::gate::preset::gate_id;

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    let context = question.context;
    let line = question.rule.command.clone().or_else(|| detected_command(gate_id::TESTS, &context.workspace));
    if line.is_none() && context.criteria.is_empty() {
        let why = "there is no test command: set `command` of the gate `tests`, or give acceptance criteria";
        return Ok(Found::escalate(Reason::NotConfigured, why));
    }
    let mut sum = Sum::default();
    if let Some(line) = &line {
        let ran = command::run(context, line, question.rule.timeout()).await;
        match &ran.end {
            End::Exited(code) => sum.add(suite(&ran, *code)),
            End::TimedOut => sum.timed_out = true,
            End::Broken(_) | End::Crashed(_) => sum.crashed = true,
        }
        sum.evidence.push_str(&ran.evidence());
        (sum.command, sum.exit_code) = (Some(line.clone()), ran.exit_code());
    }
    for criterion in &context.criteria {
        let ran = command::run(context, &criterion.command, question.rule.timeout()).await;
        let passed = ran.end == End::Exited(0);
        sum.timed_out |= ran.end == End::TimedOut;
        sum.add(Counts { passed: usize::from(passed), failed: usize::from(!passed) });
        let word = if passed { "met" } else { "not met" };
        sum.evidence.push_str(&format!("\ncriterion {}: {word}\n{}", criterion.id, ran.evidence()));
    }
    Ok(sum.found())
}

/// The tests of a command that ended by itself.
fn suite(ran: &Ran, code: i32) -> Counts {
    let output = format!("{}\n{}", ran.stdout, ran.stderr);
    match (count(&output), code) {
        (Some(counts), 0) => counts,
        // What pytest returns if it found no test.
        (Some(counts), 5) if counts.run() == 0 => counts,
        // Something failed that no test stands for, unless one does.
        (Some(counts), _) => Counts { failed: counts.failed.max(1), ..counts },
        // A runner that is not known counts as one test; one that says nothing has shown none.
        (None, 0) => Counts { passed: usize::from(!output.trim().is_empty()), failed: 0 },
        (None, _) => Counts { passed: 0, failed: 1 },
    }
}

#[derive(Default)]
struct Sum {
    counts: Counts,
    timed_out: bool,
    crashed: bool,
    evidence: String,
    command: Option<String>,
    exit_code: Option<i64>,
}

impl Sum {
    fn add(&mut self, counts: Counts) {
        self.counts.passed += counts.passed;
        self.counts.failed += counts.failed;
    }

    fn found(self) -> Found {
        let Self { counts, timed_out, crashed, mut evidence, command, exit_code } = self;
        evidence.push_str(&format!("\n{} of {} passed\n", counts.passed, counts.run()));
        let found = if timed_out {
            Found::block(Reason::Timeout, evidence)
        } else if crashed {
            Found::escalate(Reason::GateError, evidence)
        } else if counts.run() == 0 {
            Found::escalate(Reason::NoTestsRan, evidence)
        } else {
            Found::score(share(counts.passed, counts.run()), Reason::BelowThreshold, evidence)
        };
        Found { command, exit_code, ..found }
    }
}
