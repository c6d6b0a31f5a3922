//! The operator's own regular expressions.

use regex::bytes::{Regex, RegexBuilder};

use super::RedactorError;
use super::look::{REACH, Reached};

/// Expressions that are matched line by line.
///
/// An expression may look arbitrarily far; a stream may not wait that long. So a text is cut in the same
/// places whether it comes whole or in pieces: behind each line end, and in lines that are too long to be
/// kept back, near the last blank or mark.
#[derive(Debug, Default)]
pub(super) struct Custom(Vec<Regex>);

impl Custom {
    pub(super) fn new(patterns: &[String]) -> Result<Self, RedactorError> {
        let compile = |pattern: &String| {
            let built = RegexBuilder::new(pattern).size_limit(1 << 20).build();
            built.map_err(|source| RedactorError::Pattern { pattern: pattern.clone(), source })
        };
        patterns.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks through the lines of `bytes` from `from`, where a line begins. Returns where the first line
    /// begins that is not complete.
    pub(super) fn scan(&self, bytes: &[u8], from: usize, complete: bool, mut found: impl FnMut(Reached)) -> usize {
        if self.is_empty() {
            return bytes.len();
        }
        let mut start = from;
        while start < bytes.len() {
            let Some(end) = line_end(bytes, start, complete) else { break };
            for regex in &self.0 {
                let matches = regex.find_iter(&bytes[start..end]).filter(|found| !found.is_empty());
                matches.for_each(|hit| found(Reached::closed(start + hit.start(), start + hit.end())));
            }
            start = end;
        }
        start
    }
}

/// Where the line that begins at `start` ends or is cut; `None` if that cannot be told yet.
fn line_end(bytes: &[u8], start: usize, complete: bool) -> Option<usize> {
    let window = &bytes[start..bytes.len().min(start + REACH)];
    if let Some(newline) = window.iter().position(|byte| *byte == b'\n') {
        return Some(start + newline + 1);
    }
    if window.len() == REACH {
        let mark = window.iter().rposition(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric());
        return Some(start + mark.filter(|mark| *mark >= REACH / 2).unwrap_or(REACH - 1) + 1);
    }
    complete.then_some(bytes.len())
}
