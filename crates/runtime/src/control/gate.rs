//! Gates outside of a run: a project is prepared for them, and its files are held against them. Nothing is recorded.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use r1_protocol::data::GateVerdict;

use crate::gate::{
    Boundary, Earlier, GateContext, GateRule, Outcome, Phase, Placed, Preset, Side, Transition, evaluate, gate_id,
};
use crate::session_file::IGNORED;

/// A file that a project needs for its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it was written, and not there before.
    pub is_new: bool,
}

/// A project cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct PrepareError {
    /// What.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Makes `.stoke/` with a preset to edit. What is there stays as it is.
pub fn prepare(project: &Path, preset: &str) -> Result<Vec<Prepared>, PrepareError> {
    let directory = project.join(Preset::DIRECTORY);
    fs::create_dir_all(&directory).map_err(|source| PrepareError { path: directory.clone(), source })?;
    let template = Preset::template(preset).unwrap_or_default();
    [(Preset::CHOSEN, template.as_str()), (".gitignore", IGNORED)]
        .into_iter()
        .map(|(name, text)| {
            let path = directory.join(name);
            // A link that leads nowhere is there too: `create_new` does not follow it.
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => match file.write_all(text.as_bytes()) {
                    Ok(()) => Ok(Prepared { path, is_new: true }),
                    Err(source) => Err(PrepareError { path, source }),
                },
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(Prepared { path, is_new: false }),
                Err(source) => Err(PrepareError { path, source }),
            }
        })
        .collect()
}

/// A gate that was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which, and for which border.
    pub placed: Placed,
    /// What it demands.
    pub rule: GateRule,
    /// What it said.
    pub outcome: Outcome,
}

/// A gate that the preset does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the preset `{preset}` has no gate `{name}`; it has {}", known.join(", "))]
pub struct NoGate {
    /// Which.
    pub name: String,
    /// The preset.
    pub preset: String,
    /// The gates that it has.
    pub known: Vec<String>,
}

/// The gates of these names, or all of them; the composite last, because it counts what the others say.
pub fn chosen(preset: &Preset, names: &[String]) -> Result<Vec<GateRule>, NoGate> {
    let rules = preset.rules();
    let known = || rules.iter().map(|rule| rule.id.clone()).collect();
    if let Some(name) = names.iter().find(|name| !rules.iter().any(|rule| rule.id == **name)) {
        return Err(NoGate { name: name.clone(), preset: preset.name.clone(), known: known() });
    }
    Ok(rules.into_iter().filter(|rule| names.is_empty() || names.contains(&rule.id)).collect())
}

/// The files cannot be held against what they began as, so no gate could say anything about them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the files in {} cannot be compared with `{base}`: {why}", workspace.display())]
pub struct NoComparison {
    /// Where they are.
    pub workspace: PathBuf,
    /// What they were to be compared with.
    pub base: String,
    /// What is in the way.
    pub why: String,
}

/// Sees to it that the gates have something to look at: what each of them would stumble over is said once.
pub async fn look(context: &GateContext, base: &str) -> Result<(), NoComparison> {
    let refused = |why| NoComparison { workspace: context.workspace.clone(), base: base.to_owned(), why };
    crate::gate::look(context).await.map_err(refused)
}

/// Asks one gate about the files as they are, and adds what it said to the context for the next.
pub async fn ask(rule: GateRule, context: &mut GateContext) -> Asked {
    let (boundary, transition) = place(&rule);
    let outcome = evaluate(&rule, boundary, transition, context).await;
    context.earlier.push(Earlier {
        gate_id: rule.id.clone(),
        score: outcome.score,
        said: format!("{} {}", outcome.verdict, outcome.reason),
        evidence: outcome.evidence.clone(),
    });
    Asked { placed: Placed { boundary, gate_id: rule.id.clone() }, rule, outcome }
}

/// The worst that was said.
#[must_use]
pub fn verdict(asked: &[Asked]) -> GateVerdict {
    let any = |verdict: GateVerdict| asked.iter().any(|asked| asked.outcome.verdict == verdict);
    if any(GateVerdict::Block) {
        GateVerdict::Block
    } else if any(GateVerdict::Escalate) {
        GateVerdict::Escalate
    } else {
        GateVerdict::Allow
    }
}

/// The last border where the gate stands. Scope is asked about what was changed: there is neither a plan nor a
/// commit to hold it against.
fn place(rule: &GateRule) -> (Boundary, Transition) {
    let executed = Boundary::ALL.into_iter().find(|at| at.phase() == Phase::Execute && at.side() == Side::Exit);
    let last = rule.at.iter().max().copied();
    let boundary = if rule.id == gate_id::SCOPE { executed } else { last.or(executed) };
    let boundary = boundary.unwrap_or(Boundary::ALL[0]);
    let crossing = Transition::ALL.into_iter().find(|step| step.boundaries().contains(&boundary));
    (boundary, crossing.unwrap_or(Transition::ALL[0]))
}
