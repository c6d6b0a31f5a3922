//! Workspaces that a run has for itself: a clone, a worktree, or an empty directory.
//!
//! They are made by the worker that first takes the run, beside their place, and moved there whole. So one
//! that is in its place is complete, and what a crash left half made is thrown away by the next worker.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use r1_event::RunId;
use r1_protocol::data::WorkspaceMode;

use crate::agent::WorkspaceSource;
use crate::control::check::blocking;
use crate::git::Git;
use crate::home::create_private_dir;

/// Why a workspace could not be made, for people.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnWorkspaceError {
    /// git refused.
    #[error("git could not make the workspace: {message}")]
    Git {
        /// What it said.
        message: String,
    },
    /// A directory could not be read or written.
    #[error("the workspace could not be made: {0}")]
    Io(#[from] io::Error),
    /// A worktree needs a repository.
    #[error("{path} is no git repository, so there is no worktree of it; use a clone")]
    NoRepository {
        /// The directory.
        path: String,
    },
}

/// Makes the workspace of a run, unless it is there.
pub(crate) async fn make(
    run: &RunId,
    mode: &WorkspaceMode,
    source: Option<&WorkspaceSource>,
    place: &Path,
) -> Result<(), OwnWorkspaceError> {
    if place.exists() {
        return Ok(());
    }
    let part = beside(place);
    let (part_, parent) = (part.clone(), place.parent().map(Path::to_owned));
    blocking(move || {
        if part_.exists() {
            fs::remove_dir_all(&part_)?;
        }
        parent.map_or(Ok(()), |parent| create_private_dir(&parent).map_err(|err| err.source))
    })
    .await?;
    match (mode, source) {
        (WorkspaceMode::Worktree, Some(source)) => return worktree(run, source, &part, place).await,
        (WorkspaceMode::Clone, Some(source)) => clone(source, &part).await?,
        _ => fs::create_dir(&part)?,
    }
    Ok(fs::rename(&part, place)?)
}

fn beside(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    place.with_file_name(name)
}

async fn clone(source: &WorkspaceSource, part: &Path) -> Result<(), OwnWorkspaceError> {
    let from = PathBuf::from(&source.path);
    if !from.join(".git").exists() {
        let into = part.to_owned();
        return Ok(blocking(move || copy(&from, &into)).await?);
    }
    // Nothing is shared with the original: what the run does to its objects stays with the run.
    git(Git::new().args(["clone", "--quiet", "--local", "--no-hardlinks", "--"]).arg(&from).arg(part)).await?;
    match &source.base {
        Some(base) => {
            let revision = revision(&from, base).await?;
            git(Git::new().within(part).args(["checkout", "--quiet", "--detach"]).arg(revision)).await
        }
        None => Ok(()),
    }
}

async fn worktree(run: &RunId, source: &WorkspaceSource, part: &Path, place: &Path) -> Result<(), OwnWorkspaceError> {
    let repository = Path::new(&source.path);
    if !repository.join(".git").exists() {
        return Err(OwnWorkspaceError::NoRepository { path: source.path.clone() });
    }
    let revision = revision(repository, source.base.as_deref().unwrap_or("HEAD")).await?;
    let here = || Git::new().within(repository);
    // What an earlier attempt left behind is in the way otherwise.
    git(here().args(["worktree", "prune"])).await?;
    let branch = format!("r1/{run}");
    git(here().args(["worktree", "add", "--quiet", "-B", &branch]).arg(part).arg(revision)).await?;
    git(here().args(["worktree", "move"]).arg(part).arg(place)).await
}

/// The commit that a name stands for in the original.
async fn revision(repository: &Path, name: &str) -> Result<String, OwnWorkspaceError> {
    let commit = format!("{name}^{{commit}}");
    let found = Git::new().within(repository).args(["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
    let failed = |_| OwnWorkspaceError::Git { message: format!("there is no revision `{name}`") };
    found.run().await.map_err(failed)
}

async fn git(command: Git) -> Result<(), OwnWorkspaceError> {
    command.run().await.map(drop).map_err(|message| OwnWorkspaceError::Git { message })
}

/// Copies a directory; links stay links.
fn copy(from: &Path, into: &Path) -> io::Result<()> {
    fs::create_dir(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target, kind) = (entry.path(), into.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    fs::set_permissions(into, fs::metadata(from)?.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        "run_01J00000000000000000000000".parse().unwrap()
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A repository with two commits, the first tagged `one`.
    async fn repository(at: &Path) -> WorkspaceSource {
        write(&at.join("a.txt"), "one");
        let here = || Git::new().within(at).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        here().args(["init", "--quiet"]).run().await.unwrap();
        for (text, tag) in [("one", "one"), ("two", "two")] {
            write(&at.join("a.txt"), text);
            here().args(["add", "."]).run().await.unwrap();
            here().args(["commit", "--quiet", "-m", tag]).run().await.unwrap();
            here().args(["tag", tag]).run().await.unwrap();
        }
        WorkspaceSource { path: at.to_string_lossy().into_owned(), base: None }
    }

    fn text(path: PathBuf) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[tokio::test]
    async fn a_clone_begins_at_its_base_and_shares_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let source = repository(&dir.path().join("origin")).await;
        let based = WorkspaceSource { base: Some("one".into()), ..source.clone() };
        for (name, source, content) in [("x", &source, "two"), ("y", &based, "one")] {
            let place = dir.path().join("ws").join(name);
            make(&run(), &WorkspaceMode::Clone, Some(source), &place).await.unwrap();
            assert_eq!(text(place.join("a.txt")), content);
            write(&place.join("a.txt"), "changed");
        }
        assert_eq!(text(dir.path().join("origin/a.txt")), "two");
    }

    #[tokio::test]
    async fn a_directory_without_git_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        let origin = dir.path().join("origin");
        write(&origin.join("sub/a.txt"), "one");
        std::os::unix::fs::symlink("sub/a.txt", origin.join("link")).unwrap();
        let source = WorkspaceSource { path: origin.to_string_lossy().into_owned(), base: None };
        let place = dir.path().join("ws/x");
        make(&run(), &WorkspaceMode::Clone, Some(&source), &place).await.unwrap();
        assert_eq!(text(place.join("link")), "one");
        assert!(place.join("link").is_symlink());
        let refused = make(&run(), &WorkspaceMode::Worktree, Some(&source), &dir.path().join("ws/y")).await;
        assert!(matches!(refused, Err(OwnWorkspaceError::NoRepository { .. })));
    }

    #[tokio::test]
    async fn a_worktree_has_a_branch_of_the_run_and_survives_a_half_made_one() {
        let dir = tempfile::tempdir().unwrap();
        let source = repository(&dir.path().join("origin")).await;
        let place = dir.path().join("ws/x");
        write(&dir.path().join("ws/x.part/left"), "by a crash");
        make(&run(), &WorkspaceMode::Worktree, Some(&source), &place).await.unwrap();
        let branch = Git::new().within(&place).args(["branch", "--show-current"]).run().await.unwrap();
        assert_eq!(branch, format!("r1/{}", run()));
        assert_eq!(text(place.join("a.txt")), "two");
        assert!(!place.join("left").exists());
        make(&run(), &WorkspaceMode::Worktree, Some(&source), &place).await.unwrap();
    }

    #[tokio::test]
    async fn an_unknown_base_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let source = WorkspaceSource { base: Some("nope".into()), ..repository(&dir.path().join("origin")).await };
        let refused = make(&run(), &WorkspaceMode::Clone, Some(&source), &dir.path().join("x")).await.unwrap_err();
        assert!(refused.to_string().contains("`nope`"), "{refused}");
        assert!(!dir.path().join("x").exists());
    }
}
