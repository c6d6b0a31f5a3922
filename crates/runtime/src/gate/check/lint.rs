//! Is the linter content with the changed files?

use std::collections::BTreeSet;

use super::findings::files;
use super::{Found, Question, commands, share};
use crate::gate::detect::detected_command;
use crate::gate::outcome::Reason;
use crate::gate::preset::gate_id;

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    let workspace = &question.context.workspace;
    let Some(line) = question.rule.command.clone().or_else(|| detected_command(gate_id::LINT, workspace)) else {
        let why = "there is no linter: set `command` of the gate `lint`";
        return Ok(Found::escalate(Reason::NotConfigured, why));
    };
    let (ran, code) = match commands::run(question, &line).await {
        Ok(ran) => ran,
        Err(found) => return Ok(found),
    };
    let complaints = files(workspace, &format!("{}\n{}", ran.stdout, ran.stderr));
    let changed: BTreeSet<&str> = question.tree.present().collect();
    let clean = changed.iter().filter(|path| !complaints.contains(**path)).count();
    let score = match (code, complaints.is_empty(), changed.is_empty()) {
        (0, true, _) | (0, _, true) => 1000,
        // It failed, and nobody knows with which file; or there is none that it could be counted for.
        (_, true, _) | (_, _, true) => 0,
        (_, false, false) => share(clean, changed.len()),
    };
    let evidence = format!("{}{clean} of {} changed files without findings\n", ran.evidence(), changed.len());
    Ok(Found::score(score, Reason::BelowThreshold, evidence).after(&ran))
}
