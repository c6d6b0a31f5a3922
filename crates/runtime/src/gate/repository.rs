//! What the workspace's own repository holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::git::Git;

/// Files by their place: mode, kind and name of the content, as git lists them.
pub(super) type Entries = BTreeMap<String, String>;

/// The tree of the last commit, of this directory alone. `None` where nothing can be committed: there is no
/// repository, or it ignores the directory.
pub(super) async fn head_tree(directory: &Path) -> Option<String> {
    let git = || Git::new().within(directory);
    git().args(["rev-parse", "--git-dir"]).run().await.ok()?;
    match git().args(["rev-parse", "--verify", "--quiet", "HEAD:./"]).run().await {
        Ok(tree) => Some(tree),
        Err(_) if git().args(["check-ignore", "--quiet", "."]).run().await.is_ok() => None,
        // Before the first commit, and in a directory of which nothing is committed yet.
        Err(_) => git().args(["hash-object", "-t", "tree", "/dev/null"]).run().await.ok(),
    }
}

/// The files that differ between two trees of the repository that `directory` is in.
pub(super) async fn changed(directory: &Path, from: &str, to: &str) -> Result<BTreeSet<String>, String> {
    let list = Git::new().within(directory).args(["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to]);
    let list = list.bytes().await?;
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// What a tree has at these places.
pub(super) async fn entries(git: Git, tree: &str, paths: &BTreeSet<String>) -> Result<Entries, String> {
    let list = git.args(["ls-tree", "-r", "-z", "--full-tree", tree]).bytes().await?;
    let entry = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (what, path) = line.split_once('\t')?;
        paths.contains(path).then(|| (path.to_owned(), what.to_owned()))
    };
    Ok(list.split(|byte| *byte == 0).filter_map(entry).collect())
}
