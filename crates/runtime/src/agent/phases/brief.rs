//! What the model is told when a phase begins, and when a step was refused.

use std::fmt::Write as _;

use super::{Attempt, PhasePlan, Phases, Standing};
use crate::gate::Phase;

impl Phases {
    /// What the model is told now.
    pub(super) fn brief(&self, plan: &PhasePlan) -> String {
        let mut text = String::new();
        if let Some(objections) = &self.objections {
            let _ = write!(text, "{objections}\n\n");
        }
        text.push_str(match self.phase {
            Phase::Start | Phase::Plan => PLAN,
            Phase::Execute => EXECUTE,
            Phase::Verify => VERIFY,
            Phase::Commit | Phase::End if plan.is_git && plan.commits_own_changes => COMMIT,
            Phase::Commit | Phase::End if plan.is_git => COMMIT_ALL,
            Phase::Commit | Phase::End => NOTHING_TO_COMMIT,
        });
        if !plan.criteria.is_empty() && matches!(self.phase, Phase::Plan | Phase::Verify) {
            text.push_str("\n\nThe task is done when these commands succeed:\n");
            for command in &plan.criteria {
                let _ = writeln!(text, "    {command}");
            }
        }
        if let (Phase::Commit, true, Some(message)) = (self.phase, plan.is_git, &self.commit_message) {
            let _ = write!(text, "\n\nUse the message that you gave:\n\n```commit\n{message}\n```");
        }
        text
    }
}

/// What stood in the way of a step, in the words that the model reads.
pub(super) fn objections(attempt: &Attempt) -> String {
    let Attempt { transition, round, .. } = attempt;
    let mut text = format!("The step {transition} was refused (round {round}). What stands in the way:");
    for (standing, _) in attempt.obstacles() {
        let _ = write!(text, "\n- {}", objection(standing));
        if !standing.excerpt.is_empty() {
            let _ = write!(text, "\n\n```output\n{}\n```", standing.excerpt);
        }
    }
    text
}

/// One decision in a line.
pub(super) fn objection(standing: &Standing) -> String {
    let placed = &standing.placed;
    let Some(decided) = &standing.decided else { return placed.to_string() };
    let measured = match decided.score {
        Some(score) => format!(" (score {score}, needs {})", decided.threshold),
        None => String::new(),
    };
    format!("{placed}: {} {}{measured}", decided.verdict, decided.reason_code)
}

const PLAN: &str = "\
Phase PLAN. Look around and make a plan; files are not changed yet. When the plan stands, answer with it, and end \
with a block that names every file you will create, change or delete, one on each line:

```files
src/example.rs
```";

const EXECUTE: &str = "\
Phase EXECUTE. Carry out the plan. When the change is complete, answer in a few sentences. If the plan turns out to \
be wrong, end your answer with this block instead, to go back to it:

```phase
PLAN
```";

const VERIFY: &str = "\
Phase VERIFY. Check the change as someone who did not make it: read the whole diff, run the tests. Files are not \
changed in this phase. If all is well, answer with what you checked, and end with the message for the commit:

```commit
Say in one line what changes

Say why, if that is not plain.
```

If something is wrong, say what, and end with this block instead (or with PLAN in it), to go back:

```phase
EXECUTE
```";

const COMMIT: &str = "\
Phase COMMIT. Commit with the git tool what you changed, exactly as it was verified, and change nothing any more. Leave \
alone what was there before and you did not change, even if it is not committed. Then answer in a few sentences: what \
was wrong, what you did, how you know it works.";

/// What tasks were told before their own changes sufficed; their logs must give the same words again.
const COMMIT_ALL: &str = "\
Phase COMMIT. Commit with the git tool exactly what was verified: no other files, and no further changes. Then answer \
in a few sentences: what was wrong, what you did, how you know it works.";

const NOTHING_TO_COMMIT: &str = "\
Phase COMMIT. The workspace is not a git repository, so there is nothing to commit; change nothing any more. Answer in \
a few sentences: what was wrong, what you did, how you know it works.";
