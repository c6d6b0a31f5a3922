//! Do the rules allow what comes next?
//!
//! The rules are those of the run's tool calls. A gate asks them about the phase itself, which is called
//! `phase.plan`, `phase.execute`, `phase.verify` or `phase.commit` as if it were a tool, and about what the phase
//! is there for: changing the declared files, running the tests, committing. What would merely be asked because
//! no rule speaks of it is asked when it is done; only a rule stops a task here.

use r1_protocol::data::ToolKind;
use serde_json::Value;

use super::{Found, Question};
use crate::gate::detect::detected_command;
use crate::gate::outcome::Reason;
use crate::gate::phase::{Phase, Side};
use crate::gate::preset::gate_id;
use crate::policy::{Grants, Ruling, Situation};
use crate::tool::{Subject, ToolSpec};

pub(super) fn check(question: &Question<'_>) -> Result<Found, String> {
    let rules = &question.context.rules;
    rules.policy.check().map_err(|err| err.to_string())?;
    let situation = Situation {
        mode: rules.mode,
        workspace_mode: rules.workspace_mode.clone(),
        // Whoever must be asked is asked by the gate.
        unattended: false,
        contains_secrets: false,
    };
    let mut evidence = format!("{} by the rules of the run\n", question.transition);
    let (mut denied, mut asked) = (false, false);
    for (tool, subject) in intended(question) {
        let what = subject.summary(&tool);
        let ruling = rules.policy.decide(&named(tool), &subject, &Grants::default(), &situation);
        let (word, why) = match ruling {
            Ruling::Deny { reason, .. } => {
                denied = true;
                ("denied", reason)
            }
            Ruling::Ask { reason, policy_id: Some(_), .. } => {
                asked = true;
                ("asks", reason)
            }
            Ruling::Ask { reason, policy_id: None, .. } => ("allowed, each call is asked", reason),
            Ruling::Allowed { reason, .. } => ("allowed", reason),
            Ruling::Run => ("allowed", "nothing speaks against it".into()),
        };
        evidence.push_str(&format!("{what}: {word} ({why})\n"));
    }
    Ok(match (denied, asked) {
        (true, _) => Found::block(Reason::DeniedByPolicy, evidence).scored(0),
        (false, true) => Found::escalate(Reason::AskByPolicy, evidence).scored(0),
        (false, false) => Found::score(1000, Reason::DeniedByPolicy, evidence),
    })
}

/// The phase that begins, or whose end is guarded, and what it is there for.
fn intended(question: &Question<'_>) -> Vec<(String, Subject)> {
    let phase = match question.boundary.side() {
        Side::Entry => question.boundary.phase(),
        Side::Exit => question.transition.to(),
    };
    let context = question.context;
    let shell = |line: String| {
        let argv = vec!["bash".to_owned(), "-c".to_owned(), line];
        ("shell".to_owned(), Subject::Command { argv, cwd: String::new(), reads_only: false })
    };
    let mut intended = vec![(format!("phase.{}", phase.as_str().to_ascii_lowercase()), Subject::Internal)];
    match phase {
        Phase::Start | Phase::Plan | Phase::End => {}
        Phase::Execute => intended.push(("edit".into(), Subject::Edit { paths: context.declared.clone() })),
        Phase::Verify => {
            let tests = context.preset.rule(gate_id::TESTS).and_then(|rule| rule.command);
            intended.extend(tests.or_else(|| detected_command(gate_id::TESTS, &context.workspace)).map(shell));
            intended.extend(context.criteria.iter().map(|criterion| shell(criterion.command.clone())));
        }
        Phase::Commit => {
            let argv = ["git", "commit"].map(str::to_owned).to_vec();
            intended.push(("git".into(), Subject::Command { argv, cwd: String::new(), reads_only: false }));
        }
    }
    intended
}

/// A tool as far as rules look at it.
fn named(name: String) -> ToolSpec {
    ToolSpec {
        name,
        kind: ToolKind::Builtin,
        description: String::new(),
        input_schema: Value::Null,
        idempotent: true,
        prepares: false,
        mcp: None,
    }
}
