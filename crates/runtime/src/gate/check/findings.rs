//! The files that a linter complains about, told from what linters print.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

struct Patterns {
    colours: Regex,
    /// `src/lib.rs:3:5: warning`, also behind an arrow.
    place: Regex,
    /// `  3:5  error  …`, below a line with the name of the file.
    below: Regex,
}

#[expect(clippy::expect_used, reason = "the expressions are constants, and tests use them")]
static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let regex = |text: &str| Regex::new(text).expect("a sound expression");
    Patterns {
        colours: regex("\x1b\\[[0-9;]*[A-Za-z]"),
        place: regex(r"^\s*(?:-->\s+)?([^\s:][^:]*):\d+(?::\d+)?(?::|\s|$)"),
        below: regex(r"^\s+\d+:\d+\s+\S"),
    }
});

/// The files of the workspace that are named with a line in what a linter printed.
pub(super) fn files(workspace: &Path, output: &str) -> BTreeSet<String> {
    let patterns = &*PATTERNS;
    let output = patterns.colours.replace_all(output, "");
    let mut files = BTreeSet::new();
    let mut heading = None;
    for line in output.lines() {
        if let Some(found) = patterns.place.captures(line) {
            files.extend(inside(workspace, &found[1]));
        } else if patterns.below.is_match(line) {
            files.extend(heading.clone());
        } else {
            heading = inside(workspace, line.trim());
        }
    }
    files
}

/// The file that a linter means, relative to the workspace.
fn inside(workspace: &Path, name: &str) -> Option<String> {
    let name = Path::new(name);
    let relative = if name.is_absolute() { name.strip_prefix(workspace).ok()? } else { name };
    let relative = relative.strip_prefix(".").unwrap_or(relative);
    let is_file = !relative.as_os_str().is_empty() && workspace.join(relative).is_file();
    is_file.then(|| relative.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linters_print_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        for name in ["src/a.rs", "src/b.js", "c.py"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = |output: &str| files(dir.path(), output).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(found("src/a.rs:3:5: warning: unused\nwarning: 1 warning emitted\n"), "src/a.rs");
        assert_eq!(found("error[E0001]: no\n  --> src/a.rs:3:5\n   |\n"), "src/a.rs");
        assert_eq!(found("./c.py:1: E501 too long\n"), "c.py");
        assert_eq!(
            found(&format!("{}/src/b.js\n  3:5  error  no  rule\n\n✖ 1 problem\n", dir.path().display())),
            "src/b.js"
        );
        assert_eq!(found("other.rs:3:5: warning\nhttp://example:80/ is down\n12:30:05 start\n"), "");
        assert_eq!(found("checking src/a.rs\nc.py\nall good\n"), "");
    }
}
