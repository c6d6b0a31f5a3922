//! Patterns of paths, as `.gitignore` has them.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Why a pattern cannot be used.
pub(super) fn pattern_error(pattern: &str) -> Option<String> {
    matcher(&[pattern.to_owned()]).err()
}

pub(super) fn matcher(patterns: &[String]) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(|err| format!("`{pattern}` is no pattern: {err}"))?;
    }
    builder.build().map_err(|err| err.to_string())
}

/// Whether a file is meant, by itself or with a directory that it is in.
pub(super) fn matches(patterns: &Gitignore, path: &str) -> bool {
    // An absolute path, or one that leaves the workspace, is in no list; the matcher takes relative ones only.
    !path.starts_with('/') && patterns.matched_path_or_any_parents(path, false).is_ignore()
}

/// Whether a directory is meant, by itself or with one that it is in.
pub(super) fn matches_directory(patterns: &Gitignore, path: &str) -> bool {
    patterns.matched_path_or_any_parents(path, true).is_ignore()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_gitignore() {
        let protects = |pattern: &str, path: &str| matches(&matcher(&[pattern.to_owned()]).unwrap(), path);
        assert!(protects(".stoke/", ".stoke/gates.yaml"));
        assert!(protects(".env*", ".env.local") && protects(".env*", "app/.env"));
        assert!(protects("CLAUDE.md", "CLAUDE.md") && !protects("CLAUDE.md", "docs/CLAUDE.md.txt"));
        assert!(protects("src/**", "src/a/b.rs") && protects("/src", "src/a.rs") && !protects("/src", "lib/src/a.rs"));
        assert!(pattern_error("src/[b-a]").is_some() && pattern_error("src/").is_none());
    }
}
