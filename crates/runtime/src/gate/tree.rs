//! The workspace as git sees it: the name of its tree, and what differs from the base.
//!
//! A scratch repository borrows the objects of the one to compare with, so neither the workspace nor its own
//! repository is touched, and no settings or filters of theirs are heeded.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::context::Base;
use super::repository::{self, Entries};
use crate::git::Git;
use crate::snapshot::{self, Located, OWN_FILES};

/// A workspace, looked at.
pub(super) struct Tree {
    scratch: Scratch,
    base: String,
    /// The name of what is there now.
    pub(super) id: String,
    /// What differs from the base.
    pub(super) changes: Vec<Change>,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Relative to the workspace.
    pub(super) path: String,
    /// Whether it is no longer there.
    pub(super) is_deleted: bool,
}

/// Lines that stand together and are new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) path: String,
    /// Of the first of them, from 1.
    pub(super) line: usize,
    pub(super) text: Vec<u8>,
}

impl Tree {
    /// Looks at the workspace as it is now.
    pub(super) async fn look(workspace: &Path, base: &Base) -> Result<Self, String> {
        Self::look_from(Scratch::beside(workspace, base).await?).await
    }

    /// Looks at it, and keeps what it sees beside the saved workspace that it is compared with, so that the
    /// files can be told apart later. Without one there is no place for it.
    pub(super) async fn look_and_keep(workspace: &Path, base: &Base) -> Result<Self, String> {
        let (mut scratch, base_tree) = Scratch::beside(workspace, base).await?;
        let Base::Snapshot { snapshots, revision } = base else { return Self::look_from((scratch, base_tree)).await };
        let repository = snapshots.locate(revision).map_err(|err| err.to_string())?.repository;
        scratch.objects = Some(repository.join("objects"));
        let tree = Self::look_from((scratch, base_tree)).await?;
        snapshot::keep(&repository, &tree.id).await?;
        Ok(tree)
    }

    async fn look_from((scratch, base): (Scratch, String)) -> Result<Self, String> {
        let id = scratch.write_tree().await?;
        let changes = scratch.changes(&base, &id).await?;
        Ok(Self { scratch, base, id, changes })
    }

    /// The name of what is there by now.
    pub(super) async fn id_now(&self) -> Result<String, String> {
        self.scratch.write_tree().await
    }

    /// The tree of the last commit of the workspace's own repository, of the same directory that this tree is
    /// of; `None` if it has no repository.
    pub(super) async fn committed(&self) -> Option<String> {
        repository::head_tree(&self.scratch.top).await
    }

    /// The files that differ between the base and another tree that is kept beside it.
    pub(super) async fn changed_in(&self, tree: &str) -> Result<BTreeSet<String>, String> {
        let changes = self.scratch.changes(&self.base, tree).await?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    }

    /// What a tree that is kept beside the base has at these places.
    pub(super) async fn entries(&self, tree: &str, paths: &BTreeSet<String>) -> Result<Entries, String> {
        repository::entries(self.scratch.git(), tree, paths).await
    }

    /// What differs, for people and models.
    pub(super) async fn diff(&self) -> Result<String, String> {
        self.scratch.diff(&self.base, &self.id, &["-U3"]).await.map(|bytes| String::from_utf8_lossy(&bytes).into())
    }

    /// Everything that is new, also in files that are no text.
    pub(super) async fn added(&self) -> Result<Vec<Added>, String> {
        let diff = self.scratch.diff(&self.base, &self.id, &["-U0", "--text"]).await?;
        Ok(added_lines(&diff))
    }

    /// The files that differ and are there.
    pub(super) fn present(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().filter(|change| !change.is_deleted).map(|change| change.path.as_str())
    }
}

struct Scratch {
    workspace: PathBuf,
    /// The directory that trees are of: the workspace, or one above it.
    top: PathBuf,
    /// The workspace below it; empty, or with a slash at its end.
    prefix: String,
    directory: TempDir,
    /// Where objects go, if not into the scratch repository.
    objects: Option<PathBuf>,
}

impl Scratch {
    /// A repository that has what `base` names, and the name of its tree.
    async fn beside(workspace: &Path, base: &Base) -> Result<(Self, String), String> {
        let failed = |err: std::io::Error| format!("cannot make a place to look from: {err}");
        let directory = tempfile::Builder::new().prefix("r1-gate-").tempdir().map_err(failed)?;
        let mut scratch = Self {
            workspace: workspace.to_owned(),
            top: workspace.to_owned(),
            prefix: String::new(),
            directory,
            objects: None,
        };
        let tree = match base {
            Base::Revision(revision) => scratch.borrow_own(revision).await?,
            Base::Snapshot { snapshots, revision } => {
                let Located { repository, tree, .. } = snapshots.locate(revision).map_err(|err| err.to_string())?;
                scratch.init("sha1").await?;
                scratch.borrow(&repository.join("objects"), &repository.join("index"), None).map_err(failed)?;
                Some(tree)
            }
            Base::Empty => {
                scratch.init("sha1").await?;
                scratch.borrow_nothing().map_err(failed)?;
                None
            }
        };
        let tree = match tree {
            Some(tree) => tree,
            None => scratch.git().args(["hash-object", "-t", "tree", "-w", "/dev/null"]).run().await?,
        };
        Ok((scratch, tree))
    }

    /// Borrows from the workspace's own repository; `None` if the revision is that of a repository without
    /// commits.
    async fn borrow_own(&mut self, revision: &str) -> Result<Option<String>, String> {
        let own = |args: [&str; 2]| {
            let git = Git::new().within(&self.workspace).args(["rev-parse", "--path-format=absolute"]);
            git.arg(args[0]).arg(args[1])
        };
        let none = |why: String| format!("{} is under no version control: {why}", self.workspace.display());
        let objects = PathBuf::from(own(["--git-path", "objects"]).run().await.map_err(none)?);
        let index = PathBuf::from(own(["--git-path", "index"]).run().await?);
        let exclude = PathBuf::from(own(["--git-path", "info/exclude"]).run().await?);
        let ask = |what: &'static str| Git::new().within(&self.workspace).args(["rev-parse", what]).run();
        let (format, top, prefix) =
            (ask("--show-object-format").await?, ask("--show-toplevel").await?, ask("--show-prefix").await?);
        let verify = format!("{revision}^{{tree}}");
        let tree = Git::new().within(&self.workspace).args(["rev-parse", "--verify", "--end-of-options", &verify]);
        let tree = match tree.run().await {
            Ok(tree) => Some(tree),
            Err(_) if revision == "HEAD" => None,
            Err(why) => return Err(format!("there is no revision `{revision}`: {why}")),
        };
        (self.top, self.prefix) = (PathBuf::from(top), prefix);
        self.init(&format).await?;
        let borrowed = self.borrow(&objects, &index, Some(&exclude));
        borrowed.map_err(|err| format!("cannot read the repository of {}: {err}", self.workspace.display()))?;
        Ok(tree)
    }

    async fn init(&self, format: &str) -> Result<(), String> {
        let format = format!("--object-format={format}");
        Git::new().args(["init", "--quiet", "--bare", &format]).arg(self.repository()).run().await.map(drop)
    }

    fn borrow(&self, objects: &Path, index: &Path, exclude: Option<&Path>) -> std::io::Result<()> {
        let info = self.repository().join("objects/info");
        fs::create_dir_all(&info)?;
        fs::write(info.join("alternates"), [objects.as_os_str().as_encoded_bytes(), b"\n"].concat())?;
        // With the index git need not read again what has not changed. Without, it reads all.
        match fs::copy(index, self.index()) {
            Ok(_) => {}
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
        let excluded = match exclude.map(fs::read) {
            Some(Ok(excluded)) => excluded,
            Some(Err(err)) if err.kind() != std::io::ErrorKind::NotFound => return Err(err),
            Some(Err(_)) | None => Vec::new(),
        };
        self.exclude(excluded)
    }

    fn borrow_nothing(&self) -> std::io::Result<()> {
        self.exclude(Vec::new())
    }

    fn exclude(&self, mut patterns: Vec<u8>) -> std::io::Result<()> {
        patterns.extend_from_slice(b"\n");
        patterns.extend_from_slice(OWN_FILES.as_bytes());
        let info = self.repository().join("info");
        fs::create_dir_all(&info)?;
        fs::write(info.join("exclude"), patterns)
    }

    async fn write_tree(&self) -> Result<String, String> {
        self.git().args(["add", "--all", "."]).run().await?;
        self.git().args(["write-tree"]).run().await
    }

    async fn changes(&self, base: &str, tree: &str) -> Result<Vec<Change>, String> {
        let relative = format!("--relative={}", self.prefix);
        let list = self.git().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status", &relative, base, tree]);
        let list = list.bytes().await?;
        let mut fields = list.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
        let mut changes = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            changes.push(Change { path, is_deleted: status == "D" });
        }
        Ok(changes)
    }

    async fn diff(&self, base: &str, tree: &str, options: &[&str]) -> Result<Vec<u8>, String> {
        let relative = format!("--relative={}", self.prefix);
        let mut git = self.git().args(["-c", "core.quotePath=false", "diff-tree", "-r", "-p", "--no-renames"]);
        git = git.args(["--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"]);
        for option in options {
            git = git.arg(option);
        }
        git.arg(relative).arg(base).arg(tree).bytes().await
    }

    fn git(&self) -> Git {
        let git = Git::new()
            .env("GIT_DIR", &self.repository())
            .env("GIT_WORK_TREE", &self.top)
            .env("GIT_INDEX_FILE", &self.index())
            .within(&self.top);
        match &self.objects {
            Some(objects) => git.env("GIT_OBJECT_DIRECTORY", objects),
            None => git,
        }
    }

    fn repository(&self) -> PathBuf {
        self.directory.path().join("repository.git")
    }

    fn index(&self) -> PathBuf {
        self.directory.path().join("index")
    }
}

/// The new lines of a diff without context.
fn added_lines(diff: &[u8]) -> Vec<Added> {
    let mut added: Vec<Added> = Vec::new();
    let mut path = String::new();
    // How many lines of the current hunk are still to come: what they say is not taken for more than a line.
    let (mut old, mut new, mut line) = (0, 0, 0);
    for text in diff.split_inclusive(|byte| *byte == b'\n') {
        match text.first() {
            Some(b'-') if old > 0 => old -= 1,
            Some(b'+') if new > 0 => {
                new -= 1;
                match added.last_mut() {
                    Some(last) if last.path == path && last.line == line => last.text.extend_from_slice(&text[1..]),
                    _ => added.push(Added { path: path.clone(), line, text: text[1..].to_vec() }),
                }
            }
            _ => {
                if let Some(name) = text.strip_prefix(b"+++ ") {
                    path = file_name(name);
                } else if let Some((removed, (first, count))) = hunk(text) {
                    (old, line, new) = (removed, first, count);
                }
            }
        }
    }
    added
}

/// The name in `+++ b/name`; git quotes it where it must.
fn file_name(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let name = name.trim_end_matches(['\n', '\r', '\t']);
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    name.strip_prefix("b/").unwrap_or(name).to_owned()
}

/// `@@ -1,2 +3,4 @@`: how many lines are gone; the first new one, and how many.
fn hunk(line: &[u8]) -> Option<(usize, (usize, usize))> {
    let line = std::str::from_utf8(line.get(..line.len().min(64))?).unwrap_or_default();
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let range = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (_, removed) = range(parts.next()?)?;
    Some((removed, range(parts.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_look_like_headers_are_only_lines() {
        let diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n--- old\n+++ b/y\n+@@ -1 +9,9 @@\n+end\n@@ -9,0 +12 @@\n+last\n\\ No newline at end of file\n";
        let found: Vec<_> = added_lines(diff).into_iter().map(|added| (added.path, added.line, added.text)).collect();
        let first = b"++ b/y\n@@ -1 +9,9 @@\nend\n".to_vec();
        assert_eq!(found, [("x".into(), 1, first), ("x".into(), 12, b"last\n".to_vec())]);
    }

    #[tokio::test]
    async fn a_workspace_is_compared_with_a_revision_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = Git::new().within(dir.path()).args(["-c", "user.name=t", "-c", "user.email=t@example"]);
            for arg in args {
                git = git.arg(arg);
            }
            git.run()
        };
        git(&["init", "--quiet"]).await.unwrap();
        fs::write(dir.path().join("kept.txt"), "kept\n").unwrap();
        fs::write(dir.path().join("gone.txt"), "gone\n").unwrap();
        fs::create_dir_all(dir.path().join(".stoke")).unwrap();
        git(&["add", "--all"]).await.unwrap();
        git(&["commit", "--quiet", "-m", "first"]).await.unwrap();
        let head = Base::Revision("HEAD".into());
        let tree = Tree::look(dir.path(), &head).await.unwrap();
        assert_eq!((tree.changes.len(), Some(tree.id.clone())), (0, tree.committed().await));

        fs::remove_file(dir.path().join("gone.txt")).unwrap();
        fs::write(dir.path().join("new ä.txt"), "one\ntwo\n").unwrap();
        fs::write(dir.path().join(".stoke/r1.session.json"), "{}").unwrap();
        let tree = Tree::look(dir.path(), &head).await.unwrap();
        let changes: Vec<_> = tree.changes.iter().map(|change| (change.path.as_str(), change.is_deleted)).collect();
        assert_eq!(changes, [("gone.txt", true), ("new ä.txt", false)]);
        let added = tree.added().await.unwrap();
        assert_eq!(added, [Added { path: "new ä.txt".into(), line: 1, text: b"one\ntwo\n".to_vec() }]);
        assert!(tree.diff().await.unwrap().contains("-gone"));
        assert_eq!(git(&["diff", "--cached", "--name-only"]).await.unwrap(), "");

        assert_eq!(tree.id_now().await.unwrap(), tree.id);
        fs::write(dir.path().join("later.txt"), "x").unwrap();
        assert_ne!(tree.id_now().await.unwrap(), tree.id);
    }

    #[tokio::test]
    async fn only_the_workspace_counts_in_a_repository_that_is_larger() {
        let dir = tempfile::tempdir().unwrap();
        Git::new().within(dir.path()).args(["init", "--quiet"]).run().await.unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(dir.path().join("outside.txt"), "x").unwrap();
        fs::write(inner.join("inside.txt"), "x").unwrap();
        let tree = Tree::look(&inner, &Base::Revision("HEAD".into())).await.unwrap();
        assert_eq!(tree.present().collect::<Vec<_>>(), ["inside.txt"]);
        let nothing = Tree::look(&inner, &Base::Revision("HEAD~3".into())).await;
        assert!(nothing.is_err());
    }
}
