//! Protected files as they are on disk: git does not see those that it is told to ignore.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;
use serde::{Deserialize, Serialize};

use super::pattern::{matcher, matches, matches_directory};
use crate::snapshot::OWN_FILES;

/// So many directory entries are looked at, and so many files remembered.
const MOST_ENTRIES: usize = 100_000;
const MOST_FILES: usize = 1_000;

/// A longer file is known by its size and the time of its last change, not by its content.
const MOST_HASHED: u64 = 8 << 20;

/// The protected files of a workspace, each known by its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Protected {
    files: BTreeMap<String, String>,
    /// Whether there were too many to know them all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_partial: bool,
}

impl Protected {
    /// Looks at the files as they are now.
    pub(super) async fn look(workspace: &Path, patterns: &[String]) -> Result<Self, String> {
        let protects = matcher(patterns)?;
        let own = OWN_FILES.lines().map(Into::into).collect::<Vec<_>>();
        let search = Search { root: workspace.to_owned(), protects, own: matcher(&own)?, entries: 0 };
        tokio::task::spawn_blocking(move || search.run()).await.map_err(|err| err.to_string())
    }

    /// The files that are not as they were, are gone, or are new.
    pub(super) async fn changed(&self, workspace: &Path, patterns: &[String]) -> Result<Vec<String>, String> {
        let now = Self::look(workspace, patterns).await?;
        // What is beyond the bounds now need not have been so then.
        let is_as_it_was = |path: &String, before: &String| match now.files.get(path) {
            Some(fingerprint) => fingerprint == before,
            None if now.is_partial => fingerprint(&workspace.join(path)).as_ref() == Some(before),
            None => false,
        };
        let changed = self.files.iter().filter(|(path, before)| !is_as_it_was(path, before)).map(|(path, _)| path);
        let is_new = |path: &&String| !self.is_partial && !self.files.contains_key(*path);
        let mut paths: Vec<_> = changed.chain(now.files.keys().filter(is_new)).cloned().collect();
        paths.sort_unstable();
        Ok(paths)
    }
}

struct Search {
    root: PathBuf,
    protects: Gitignore,
    own: Gitignore,
    entries: usize,
}

impl Search {
    /// Looks into every directory that is not ignored as a whole: what stands in one that is (packages, builds)
    /// was not put there by hand. A protected directory is looked into in any case.
    fn run(mut self) -> Protected {
        let mut found = Protected::default();
        let mut directories = WalkBuilder::new(&self.root);
        directories.standard_filters(false).git_ignore(true).require_git(false).follow_links(false);
        directories
            .filter_entry(|entry| entry.file_type().is_some_and(|kind| kind.is_dir()) && entry.file_name() != GIT);
        for directory in directories.build().flatten() {
            self.directory(directory.path(), &mut found);
            if found.is_partial {
                break;
            }
        }
        found
    }

    fn directory(&mut self, directory: &Path, found: &mut Protected) {
        for (path, kind) in children(directory) {
            self.entries += 1;
            if self.entries > MOST_ENTRIES || found.files.len() >= MOST_FILES {
                found.is_partial = true;
                return;
            }
            let Some(name) = path.strip_prefix(&self.root).ok().and_then(Path::to_str).map(str::to_owned) else {
                continue;
            };
            if !kind.is_dir() && matches(&self.protects, &name) && !matches(&self.own, &name) {
                found.files.extend(fingerprint(&path).map(|fingerprint| (name, fingerprint)));
            } else if kind.is_dir() && path.file_name() == Some(GIT.as_ref()) {
                // git itself writes there all the time. What it would run is another matter.
                self.directory(&path.join("hooks"), found);
            } else if kind.is_dir() && matches_directory(&self.protects, &name) && !matches_directory(&self.own, &name)
            {
                self.directory(&path, found);
            }
        }
    }
}

const GIT: &str = ".git";

/// In the order of their names; a directory that cannot be read has none.
fn children(directory: &Path) -> Vec<(PathBuf, fs::FileType)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect();
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    entries
}

/// Names what a file holds, and whether it can be run; `None` if there is none.
fn fingerprint(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    if about.is_symlink() {
        return Some(format!("link:{}", fs::read_link(path).ok()?.display()));
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111;
    if about.len() > MOST_HASHED {
        let at = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        return Some(format!("{mode:o}:{}:{at}", about.len()));
    }
    match fs::read(path) {
        Ok(content) => Some(format!("{mode:o}:{}", blake3::hash(&content))),
        Err(err) if err.kind() == io::ErrorKind::NotFound => None,
        // Nobody in here can have read it, or written to it, either.
        Err(_) => Some("unreadable".into()),
    }
}
