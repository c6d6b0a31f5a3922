//! Workspaces as they were, kept in git's own object format beside the store.
//!
//! Each workspace has a bare repository of R1's own, so its files are saved whether or not it is under
//! version control itself, and its own repository is never touched.

use std::path::{Path, PathBuf};

use crate::git::Git;

/// Saved workspaces.
#[derive(Clone, Debug)]
pub struct Snapshots {
    root: PathBuf,
}

/// A saved workspace cannot be brought back.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// No such snapshot here.
    #[error("there is no snapshot `{revision}`")]
    Unknown {
        /// What was asked for.
        revision: String,
    },
    /// git failed.
    #[error("git could not restore the workspace: {message}")]
    Git {
        /// What it said.
        message: String,
    },
    /// The directory cannot be made.
    #[error("cannot create the workspace")]
    Io(#[from] std::io::Error),
}

/// The files that R1 itself writes into a project, as git ignores them: they are no work of an agent.
pub(crate) const OWN_FILES: &str = "/.stoke/ledger/\n/.stoke/r1.session*.json\n";

/// Says that a revision is a tree in R1's own repositories.
const PREFIX: &str = "r1tree:";

impl Snapshots {
    /// Kept in this directory, which need not exist yet.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Saves a workspace, without what its `.gitignore` names and what R1 writes there. `None` if git is not
    /// there or cannot: a run goes on without snapshots.
    pub async fn save(&self, workspace: &Path) -> Option<String> {
        let (key, _, tree) = self.save_tree(workspace).await?;
        Some(format!("{PREFIX}{key}/{tree}"))
    }

    /// Saves a workspace together with something to know about it that its files do not tell.
    pub(crate) async fn save_noted(&self, workspace: &Path, note: &str) -> Option<String> {
        let (key, repository, tree) = self.save_tree(workspace).await?;
        let file = tempfile::NamedTempFile::new_in(&self.root).ok()?;
        std::fs::write(file.path(), note).ok()?;
        let hash = bare(&repository).args(["hash-object", "-w", "--no-filters", "--"]).arg(file.path());
        let note = hash.run().await.ok()?;
        let kept = format!("refs/r1-notes/{note}");
        bare(&repository).args(["update-ref", &kept, &note]).run().await.ok()?;
        Some(format!("{PREFIX}{key}/{tree}/{note}"))
    }

    /// The name of the repository, the repository, and the workspace's tree in it.
    async fn save_tree(&self, workspace: &Path) -> Option<(String, PathBuf, String)> {
        let repository = self.repository(workspace);
        if !repository.join("HEAD").exists() {
            std::fs::create_dir_all(&self.root).ok()?;
            init(&repository).run().await.ok()?;
        }
        std::fs::create_dir_all(repository.join("info")).ok()?;
        std::fs::write(repository.join("info/exclude"), OWN_FILES).ok()?;
        git(&repository, workspace).args(["add", "--all", "--ignore-errors", "."]).run().await.ok()?;
        let tree = git(&repository, workspace).args(["write-tree"]).run().await.ok()?;
        keep(&repository, &tree).await.ok()?;
        let key = repository.file_stem()?.to_str()?.to_owned();
        Some((key, repository, tree))
    }

    /// Brings a saved workspace back, into an empty directory.
    pub async fn restore(&self, revision: &str, into: &Path) -> Result<(), SnapshotError> {
        let Located { repository, tree, .. } = self.locate(revision)?;
        std::fs::create_dir_all(into)?;
        let index = into.join(".r1-restore-index");
        let failed = |message| SnapshotError::Git { message };
        let restore = async {
            git(&repository, into).env("GIT_INDEX_FILE", &index).args(["read-tree", &tree]).run().await?;
            git(&repository, into)
                .env("GIT_INDEX_FILE", &index)
                .args(["checkout-index", "--all", "--force"])
                .run()
                .await
        };
        let restored = restore.await.map_err(failed);
        let _ = std::fs::remove_file(&index);
        restored.map(drop)
    }

    /// Where a saved workspace is.
    pub(crate) fn locate(&self, revision: &str) -> Result<Located, SnapshotError> {
        let unknown = || SnapshotError::Unknown { revision: revision.into() };
        let mut parts = revision.strip_prefix(PREFIX).ok_or_else(unknown)?.split('/');
        let (Some(key), Some(tree), note, None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(unknown());
        };
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if ![Some(key), Some(tree), note].into_iter().flatten().all(is_hex) {
            return Err(unknown());
        }
        let repository = self.root.join(format!("{key}.git"));
        if !repository.exists() {
            return Err(unknown());
        }
        Ok(Located { repository, tree: tree.to_owned(), note: note.map(Into::into) })
    }

    fn repository(&self, workspace: &Path) -> PathBuf {
        let name = blake3::hash(workspace.as_os_str().as_encoded_bytes());
        self.root.join(format!("{}.git", &name.to_hex()[..32]))
    }
}

/// A saved workspace.
pub(crate) struct Located {
    /// The repository that it is in.
    pub(crate) repository: PathBuf,
    /// Its files there.
    pub(crate) tree: String,
    note: Option<String>,
}

impl Located {
    /// What was noted when it was saved.
    pub(crate) async fn note(&self) -> Option<String> {
        bare(&self.repository).args(["cat-file", "blob"]).arg(self.note.as_ref()?).run().await.ok()
    }

    /// All trees that are kept beside it.
    pub(crate) async fn kept(&self) -> Result<Vec<String>, String> {
        let list = bare(&self.repository).args(["for-each-ref", "--format=%(objectname)", "refs/r1/"]).run().await?;
        Ok(list.lines().map(Into::into).collect())
    }
}

/// Keeps a tree that is in the repository from being collected.
pub(crate) async fn keep(repository: &Path, tree: &str) -> Result<(), String> {
    let kept = format!("refs/r1/{tree}");
    bare(repository).args(["update-ref", &kept, tree]).run().await.map(drop)
}

/// Makes a repository of R1's own.
fn init(repository: &Path) -> Git {
    Git::new().args(["init", "--quiet", "--bare"]).arg(repository)
}

/// A git command that sees R1's repository alone.
fn bare(repository: &Path) -> Git {
    Git::new().env("GIT_DIR", repository).within(repository)
}

/// A git command that sees R1's repository and the workspace.
fn git(repository: &Path, workspace: &Path) -> Git {
    Git::new().env("GIT_DIR", repository).env("GIT_WORK_TREE", workspace).within(workspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_workspace_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, snapshots) = (dir.path().join("w"), Snapshots::at(dir.path().join("s")));
        std::fs::create_dir_all(workspace.join("src")).unwrap();
        std::fs::write(workspace.join("src/a.txt"), "one\r\n").unwrap();
        std::fs::create_dir_all(workspace.join(".stoke/ledger")).unwrap();
        std::fs::write(workspace.join(".stoke/ledger/node"), "R1's own").unwrap();
        let first = snapshots.save(&workspace).await.unwrap();
        std::fs::write(workspace.join("src/a.txt"), "two").unwrap();
        std::fs::write(workspace.join("b.txt"), "new").unwrap();
        let second = snapshots.save(&workspace).await.unwrap();
        assert_ne!(first, second);
        snapshots.restore(&first, &dir.path().join("r")).await.unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("r/src/a.txt")).unwrap(), "one\r\n");
        assert!(!dir.path().join("r/b.txt").exists());
        assert!(!dir.path().join("r/.stoke").exists());
        assert!(!dir.path().join("r/.r1-restore-index").exists());
    }

    #[tokio::test]
    async fn a_note_stays_with_the_workspace_that_it_is_about() {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, snapshots) = (dir.path().join("w"), Snapshots::at(dir.path().join("s")));
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::write(workspace.join("a.txt"), "a").unwrap();
        let plain = snapshots.save(&workspace).await.unwrap();
        let noted = snapshots.save_noted(&workspace, "{\"of\":\"it\"}").await.unwrap();
        let (plain, located) = (snapshots.locate(&plain).unwrap(), snapshots.locate(&noted).unwrap());
        assert_eq!(plain.note().await, None);
        assert_eq!(located.note().await.as_deref(), Some("{\"of\":\"it\"}"));
        assert_eq!(located.kept().await.unwrap(), [plain.tree], "a note is no workspace");
        snapshots.restore(&noted, &dir.path().join("r")).await.unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("r/a.txt")).unwrap(), "a");
    }

    #[tokio::test]
    async fn what_r1_itself_writes_is_not_saved() {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, snapshots) = (dir.path().join("w"), Snapshots::at(dir.path().join("s")));
        std::fs::create_dir_all(workspace.join(".stoke/ledger/nodes")).unwrap();
        for name in ["gates.yaml", "r1.session.json", "ledger/nodes/node.json"] {
            std::fs::write(workspace.join(".stoke").join(name), "{}").unwrap();
        }
        let saved = snapshots.save(&workspace).await.unwrap();
        snapshots.restore(&saved, &dir.path().join("r")).await.unwrap();
        let names = std::fs::read_dir(dir.path().join("r/.stoke")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["gates.yaml"]);
    }

    #[tokio::test]
    async fn an_unknown_revision_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::at(dir.path().join("s"));
        for revision in ["r1tree:../../etc/0123", "r1tree:00/zz", "r1tree:00/00/../x", "r1tree:00/00/00/00", "other"] {
            let refused = snapshots.restore(revision, &dir.path().join("r")).await;
            assert!(matches!(refused, Err(SnapshotError::Unknown { .. })), "{revision}");
        }
    }
}
