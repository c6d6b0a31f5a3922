//! Is what was verified what is committed?
//!
//! What stood in the workspace before the task is the user's: whether that is committed is not asked. So of
//! all files those count that the task changed, or that were committed since it began; each of them must
//! stand in the last commit as it was verified.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Question, inputs_hash};
use crate::gate::context::{Base, Verified};
use crate::gate::preset::GateRule;
use crate::gate::repository::{self, Entries};
use crate::gate::start::Start;
use crate::git::Git;

/// How many files are named one by one.
const MOST_NAMED: usize = 50;

/// What the evidence says if so, or why not; an error if nobody can tell.
pub(super) async fn check(question: &Question<'_>) -> Result<Result<String, String>, String> {
    let context = question.context;
    let Some(verified) = &context.verified else {
        return Err("nothing says which tree was verified".into());
    };
    let rule = context.preset.rule(&verified.gate_id);
    let rule = rule.ok_or_else(|| format!("the preset has no gate `{}` that verified anything", verified.gate_id))?;
    let is_verified = |tree: &str| inputs_hash(&rule, context, tree) == verified.inputs_hash;
    let Some(committed) = question.tree.committed().await else {
        return Ok(whole(is_verified(&question.tree.id), "the workspace holds", &question.tree.id));
    };
    if is_verified(&committed) {
        return Ok(whole(true, HOLDS, &committed));
    }
    match (Start::of(&context.base).await.and_then(|start| start.head), kept(question, &rule, verified).await?) {
        (Some(before), Some(verified)) => Ok(compare(question, &before, &verified, &committed).await?),
        // A task that began when less was noted is held to all files.
        (None, _) | (_, None) => Ok(whole(false, HOLDS, &committed)),
    }
}

const HOLDS: &str = "the last commit holds";

fn whole(is_verified: bool, holds: &str, tree: &str) -> Result<String, String> {
    if is_verified {
        Ok(format!("{holds} the verified tree {tree}\n"))
    } else {
        let advice = "commit everything that was verified, and nothing else";
        Err(format!("{holds} {tree}, which is not the verified tree; {advice}\n"))
    }
}

/// The verified tree, if it was kept when the gate looked at it: it is the one that gives the decision's hash.
async fn kept(question: &Question<'_>, rule: &GateRule, verified: &Verified) -> Result<Option<String>, String> {
    let Base::Snapshot { snapshots, revision } = &question.context.base else { return Ok(None) };
    let trees = snapshots.locate(revision).map_err(|err| err.to_string())?.kept().await?;
    Ok(trees.into_iter().find(|tree| inputs_hash(rule, question.context, tree) == verified.inputs_hash))
}

async fn compare(
    question: &Question<'_>,
    before: &str,
    verified: &str,
    committed: &str,
) -> Result<Result<String, String>, String> {
    let workspace = &question.context.workspace;
    let by_task = question.tree.changed_in(verified).await?;
    let since = repository::changed(workspace, before, committed).await?;
    let paths: BTreeSet<_> = by_task.union(&since).cloned().collect();
    let verified = question.tree.entries(verified, &paths).await?;
    let committed = repository::entries(Git::new().within(workspace), committed, &paths).await?;
    Ok(Commit { by_task, since, verified, committed }.judge())
}

/// What was changed, and what the files of either list are in the verified tree and in the last commit.
struct Commit {
    by_task: BTreeSet<String>,
    since: BTreeSet<String>,
    verified: Entries,
    committed: Entries,
}

impl Commit {
    fn judge(&self) -> Result<String, String> {
        let differs = |path: &&String| self.verified.get(*path) != self.committed.get(*path);
        let wrong: Vec<_> = self.by_task.union(&self.since).filter(differs).collect();
        if wrong.is_empty() {
            let mut said = format!("{} files that the task changed are committed as verified\n", self.by_task.len());
            name(&mut said, "committed too, though the task did not change it", self.since.difference(&self.by_task));
            return Ok(said);
        }
        let mut why = "the last commit is not what was verified; commit what the task changed, as it was verified, \
                       and nothing else\n"
            .to_owned();
        let (ours, others): (Vec<_>, Vec<_>) = wrong.into_iter().partition(|path| self.by_task.contains(*path));
        let (otherwise, missing): (Vec<_>, Vec<_>) = ours.into_iter().partition(|path| self.since.contains(*path));
        name(&mut why, "not committed", missing);
        name(&mut why, "committed otherwise than verified", otherwise);
        name(&mut why, "committed, but never verified", others);
        Err(why)
    }
}

fn name<'a>(text: &mut String, what: &str, paths: impl IntoIterator<Item = &'a String>) {
    let paths: Vec<_> = paths.into_iter().collect();
    for path in paths.iter().take(MOST_NAMED) {
        let _ = writeln!(text, "{what}: {path}");
    }
    if paths.len() > MOST_NAMED {
        let _ = writeln!(text, "{what}: {} files more", paths.len() - MOST_NAMED);
    }
}
