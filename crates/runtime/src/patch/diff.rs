//! Changes as git shows them.

use std::io::Write as _;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::hunk::{Hunk, HunkLine, Tag};
use super::lines::lines;
use super::{Change, Operation};
use crate::workspace::{Snapshot, WorkspacePath};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// How long the search for a small diff may take; then a larger one, as true, is taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// A change for people and for git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// A git-style unified diff.
    pub text: Vec<u8>,
    /// How much changes.
    pub stats: Stats,
}

/// How much a patch changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    /// Lines that come.
    pub additions: u64,
    /// Lines that go.
    pub deletions: u64,
    /// Hunks.
    pub hunks: u64,
}

/// Shows a change.
#[must_use]
pub fn diff(change: &Change) -> Diff {
    let mut text = Vec::new();
    let mut stats = Stats::default();
    let hunks = hunks(change);
    header(change, &hunks, &mut text);
    for hunk in &hunks {
        stats.hunks += 1;
        // Writing to memory cannot fail.
        let _ = writeln!(text, "@@ -{} +{} @@", span(&hunk.old), span(&hunk.new));
        for line in &hunk.lines {
            match line.tag {
                Tag::Context => {}
                Tag::Removed => stats.deletions += 1,
                Tag::Added => stats.additions += 1,
            }
            text.push(line.tag.sign());
            text.extend_from_slice(&line.text);
            if !line.text.ends_with(b"\n") {
                text.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
    Diff { text, stats }
}

/// The hunks of a change; none if it is binary.
pub(super) fn hunks(change: &Change) -> Vec<Hunk> {
    if change.is_binary() {
        return Vec::new();
    }
    let old = lines(content(change.before.as_ref()));
    let new = lines(content(change.after.as_ref()));
    let operations = capture_diff_slices_deadline(Algorithm::Histogram, &old, &new, Some(Instant::now() + PATIENCE));
    let groups = group_diff_ops(operations, CONTEXT);
    groups.iter().filter(|group| !group.is_empty()).map(|group| hunk(group, &old, &new)).collect()
}

fn content(file: Option<&Snapshot>) -> &[u8] {
    file.map_or(&[], |file| &file.bytes)
}

fn hunk(group: &[DiffOp], old: &[&[u8]], new: &[&[u8]]) -> Hunk {
    let mut lines = Vec::new();
    let mut take = |tag, texts: &[&[u8]]| {
        lines.extend(texts.iter().map(|text| HunkLine { tag, text: text.to_vec() }));
    };
    for operation in group {
        match operation {
            DiffOp::Equal { .. } => take(Tag::Context, &old[operation.old_range()]),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                take(Tag::Removed, &old[operation.old_range()]);
                take(Tag::Added, &new[operation.new_range()]);
            }
        }
    }
    let range = |of: fn(&DiffOp) -> std::ops::Range<usize>| {
        let start = group.first().map_or(0, |first| of(first).start);
        start..group.last().map_or(start, |last| of(last).end)
    };
    Hunk { old: range(DiffOp::old_range), new: range(DiffOp::new_range), lines }
}

/// `12,7`, `12` for a single line, and the line before for none.
fn span(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

fn header(change: &Change, hunks: &[Hunk], text: &mut Vec<u8>) {
    let mut line = |line: String| {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    };
    let (old, new) = (name("a/", change.source()), name("b/", &change.path));
    line(format!("diff --git {old} {new}"));
    match (&change.before, &change.after) {
        (None, Some(after)) => line(format!("new file mode {}", mode(after))),
        (Some(before), None) => line(format!("deleted file mode {}", mode(before))),
        (Some(before), Some(after)) if mode(before) != mode(after) => {
            line(format!("old mode {}", mode(before)));
            line(format!("new mode {}", mode(after)));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    if change.operation() == Operation::Rename {
        line(format!("similarity index {}%", similarity(change, hunks)));
        line(format!("rename from {}", name("", change.source())));
        line(format!("rename to {}", name("", &change.path)));
    }
    let old = if change.before.is_some() { old } else { "/dev/null".into() };
    let new = if change.after.is_some() { new } else { "/dev/null".into() };
    if change.is_binary() {
        if change.before.as_ref().map(|file| &file.bytes) != change.after.as_ref().map(|file| &file.bytes) {
            line(format!("Binary files {old} and {new} differ"));
        }
    } else if !hunks.is_empty() {
        line(format!("--- {old}{}", name_end(&old)));
        line(format!("+++ {new}{}", name_end(&new)));
    }
}

/// git knows two modes of a file.
fn mode(file: &Snapshot) -> &'static str {
    if file.mode & 0o111 == 0 { "100644" } else { "100755" }
}

/// A tab ends a name that has a space in it.
fn name_end(name: &str) -> &'static str {
    if name.contains(' ') { "\t" } else { "" }
}

/// How much of a renamed file stays, in percent of its bytes.
fn similarity(change: &Change, hunks: &[Hunk]) -> usize {
    let (before, after) = (content(change.before.as_ref()), content(change.after.as_ref()));
    if before == after {
        return 100;
    }
    let removed: usize =
        hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.tag == Tag::Removed).map(|l| l.text.len()).sum();
    let kept = if change.is_binary() { 0 } else { before.len().saturating_sub(removed) };
    (kept * 100 / before.len().max(after.len()).max(1)).min(99)
}

/// A path as git writes it: quoted if it could be misread.
fn name(prefix: &str, path: &WorkspacePath) -> String {
    let path = format!("{prefix}{path}");
    if !path.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return path;
    }
    let mut quoted = String::from('"');
    for c in path.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    quoted.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
