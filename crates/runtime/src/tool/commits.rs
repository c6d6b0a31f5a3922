//! Commits that a program made. Git keeps a journal of what HEAD was set to and why; what a program added to it
//! is looked at when it has ended.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use r1_protocol::data::{ArtifactKind, Object};
use rustix::fs::{Mode, OFlags};

use super::output::line;
use super::work::{blocking, lost};
use super::{ToolCall, ToolContext, ToolError};
use crate::artifact::NewArtifact;
use crate::sandbox::CommandRequest;

/// How many commits of one call are kept; the newest count.
const MOST: usize = 64;

/// How much of the journal is read.
const MOST_JOURNAL: u64 = 1 << 20;

/// The longest commit that is kept, without the files that it names.
const MOST_BYTES: usize = 1 << 20;

/// How long reading one may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the journal held before a program was started.
pub(super) struct Watch {
    journal: Option<(u64, PathBuf)>,
}

impl Watch {
    /// Looks at the repository that the workspace is in, if it is in one.
    pub(super) fn begin(context: &ToolContext) -> Self {
        let path = journal(context.workspace.root());
        let length = |path: &PathBuf| fs::metadata(path).map_or(0, |facts| facts.len());
        Self { journal: path.map(|path| (length(&path), path)) }
    }

    /// Keeps the commits that were made since as artifacts of the call.
    pub(super) async fn keep(self, call: &ToolCall, context: &ToolContext) -> Result<(), ToolError> {
        let root = context.workspace.root().to_owned();
        for commit in blocking(move || Ok(self.made(&root))).await? {
            let Some(content) = content(&commit, context).await else { continue };
            let mut metadata = Object::new();
            metadata.insert("commit".into(), commit.id.clone().into());
            let new = NewArtifact {
                kind: ArtifactKind::Commit,
                summary: line(&format!("commit {} {}", &commit.id[..12], commit.subject)),
                created_by_event_id: call.event_id.clone(),
                tool_call_id: Some(call.call_id.clone()),
                mime: Some("text/x-git-commit".into()),
                metadata,
                ..Default::default()
            };
            context.artifacts.put(new, content).await.map_err(lost)?;
        }
        Ok(())
    }

    /// A journal that cannot be read tells of nothing.
    fn made(self, root: &Path) -> Vec<Commit> {
        let Some(path) = journal(root) else { return Vec::new() };
        let before = self.journal.filter(|(_, known)| *known == path).map_or(0, |(length, _)| length);
        let added = read_from(&path, before).unwrap_or_default();
        let mut made: Vec<_> = added.lines().filter_map(Commit::read).collect();
        made.drain(..made.len().saturating_sub(MOST));
        made
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Commit {
    id: String,
    subject: String,
}

impl Commit {
    /// Reads an entry of the journal; `None` if it tells of something else, such as another branch.
    fn read(entry: &str) -> Option<Self> {
        let (places, reason) = entry.split_once('\t')?;
        let id = places.split(' ').nth(1)?;
        let (action, subject) = reason.split_once(": ")?;
        let is_commit = matches!(action.split(' ').next(), Some("commit" | "cherry-pick" | "revert"))
            || (action.starts_with("merge ") && subject.starts_with("Merge made"));
        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_commit && is_id).then(|| Self { id: id.to_owned(), subject: subject.to_owned() })
    }
}

/// Where git notes what HEAD is set to; there need be none yet.
fn journal(root: &Path) -> Option<PathBuf> {
    let (top, entry) = root.ancestors().find_map(|top| Some((top, fs::metadata(top.join(".git")).ok()?)))?;
    let entry_path = top.join(".git");
    let directory = if entry.is_dir() {
        entry_path
    } else {
        // A second working tree of a repository has a file that names its part of it.
        let text = read_from(&entry_path, 0)?;
        top.join(text.strip_prefix("gitdir: ")?.trim_end())
    };
    Some(directory.join("logs/HEAD"))
}

/// A program of an agent may have put anything there: only a regular file is read, and nothing waits for it.
fn read_from(path: &Path, offset: u64) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_JOURNAL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The commit as git keeps it. Reading it may start programs that the repository names, so it is done where the
/// agent's own programs run.
async fn content(commit: &Commit, context: &ToolContext) -> Option<Vec<u8>> {
    let request = CommandRequest {
        argv: ["git", "--no-replace-objects", "cat-file", "commit", &commit.id].map(Into::into).into(),
        timeout: Some(TIMEOUT),
        ..Default::default()
    };
    let captured = context.sandbox.capture(request, &context.cancel, MOST_BYTES).await.ok()?;
    (captured.finished.success() && !captured.truncated).then_some(captured.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_tells_commits_from_other_moves() {
        let id = "5b2c9a1f0e4d7c6b8a39281706f5e4d3c2b1a098";
        let entry = |reason: &str| format!("{:040} {id} Ada <ada@example.com> 1777000000 +0000\t{reason}", 0);
        for made in [
            "commit: Greet: the world",
            "commit (initial): first",
            "commit (amend): again",
            "cherry-pick: that one too",
            "revert: Revert \"it\"",
            "merge side: Merge made by the 'ort' strategy.",
        ] {
            assert_eq!(Commit::read(&entry(made)).unwrap().id, id, "{made}");
        }
        assert_eq!(Commit::read(&entry("commit: Greet: the world")).unwrap().subject, "Greet: the world");
        for other in [
            "checkout: moving from main to side",
            "merge side: Fast-forward",
            "pull: Fast-forward",
            "reset: moving to HEAD~1",
            "clone: from /somewhere",
        ] {
            assert_eq!(Commit::read(&entry(other)), None, "{other}");
        }
        assert_eq!(Commit::read("0 ../../etc/passwd x\tcommit: no"), None);
    }
}
