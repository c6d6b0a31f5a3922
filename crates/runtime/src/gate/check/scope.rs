//! Are only those files changed that may be?

use super::{Found, Judgement, Question, committed, share};
use crate::gate::outcome::Reason;
use crate::gate::pattern::{matcher, matches};
use crate::gate::phase::{Boundary, Phase, Side};
use crate::gate::start::Start;

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    let context = question.context;
    let mut evidence = String::new();
    if is(question.boundary, Phase::Commit) {
        match committed::check(question).await? {
            Ok(said) => evidence.push_str(&said),
            Err(why) => return Ok(Found::block(Reason::TreeChanged, why)),
        }
    }
    let paths: Vec<String> = match is(question.boundary, Phase::Plan) {
        true => context.declared.iter().map(|path| path.trim_start_matches("./").to_owned()).collect(),
        false => question.tree.changes.iter().map(|change| change.path.clone()).collect(),
    };
    let scope = &context.preset.scope;
    let protected = matcher(&scope.protected)?;
    let touched: Vec<_> = paths.iter().filter(|path| matches(&protected, path)).collect();
    let mut unseen = match is(question.boundary, Phase::Plan) {
        true => Vec::new(),
        false => changed_beside_git(question).await?,
    };
    unseen.retain(|path| !touched.contains(&path));
    if !touched.is_empty() || !unseen.is_empty() {
        touched.iter().for_each(|path| evidence.push_str(&format!("protected: {path}\n")));
        unseen.iter().for_each(|path| evidence.push_str(&format!("protected, though git does not see it: {path}\n")));
        return Ok(Found::block(Reason::ProtectedPath, evidence));
    }
    // Without a list of the preset's own, what the plan declared is the list.
    let allow = if scope.allow.is_empty() { exactly(&context.declared) } else { scope.allow.clone() };
    if allow.is_empty() {
        evidence.push_str(&format!("{} files, none protected; no list says which may be changed\n", paths.len()));
        return Ok(Found::new(Judgement::NothingToCheck, evidence));
    }
    let allow = matcher(&allow)?;
    let outside: Vec<_> = paths.iter().filter(|path| !matches(&allow, path)).collect();
    evidence.push_str(&format!("{} of {} files in scope\n", paths.len() - outside.len(), paths.len()));
    outside.iter().for_each(|path| evidence.push_str(&format!("out of scope: {path}\n")));
    let score = if paths.is_empty() { 1000 } else { share(paths.len() - outside.len(), paths.len()) };
    Ok(Found::score(score, Reason::OutOfScope, evidence))
}

/// Protected files that changed since the task began, whether git sees them or not.
async fn changed_beside_git(question: &Question<'_>) -> Result<Vec<String>, String> {
    let context = question.context;
    match Start::of(&context.base).await.and_then(|start| start.protected) {
        Some(before) => before.changed(&context.workspace, &context.preset.scope.protected).await,
        None => Ok(Vec::new()),
    }
}

fn is(boundary: Boundary, phase: Phase) -> bool {
    boundary.phase() == phase && boundary.side() == Side::Exit
}

/// Patterns that mean these files and no others.
fn exactly(paths: &[String]) -> Vec<String> {
    let escaped = |path: &String| {
        let special = |char: char| matches!(char, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ');
        let path = path.trim_start_matches("./").chars();
        path.flat_map(|char| special(char).then_some('\\').into_iter().chain([char])).collect::<String>()
    };
    paths.iter().map(|path| format!("/{}", escaped(path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_file_is_itself_only() {
        let list = matcher(&exactly(&["./a[1].rs".into(), "src/x y.rs".into()])).unwrap();
        assert!(matches(&list, "a[1].rs") && matches(&list, "src/x y.rs"));
        assert!(!matches(&list, "a1.rs") && !matches(&list, "lib/src/x y.rs"));
    }
}
