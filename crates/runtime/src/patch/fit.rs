//! Fitting a model's patch into a file. Models count badly and cannot see line ends, so positions are
//! hints and ends are the file's own; but a place is taken only if there is no doubt about it.

use super::hunk::{HunkLine, Tag};
use super::lines::{content, line_end, lines};
use super::wanted::Piece;

/// A patch has no clear place in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The lines are not there.
    #[error("hunk {piece} does not fit: the file has no such lines{after}; read it again. Looked for:\n{lines}",
        after = if *.after_line > 0 { format!(" after line {after_line}") } else { String::new() })]
    NotThere {
        /// Which, from 1.
        piece: usize,
        /// Where the hunk before it ended.
        after_line: usize,
        /// What was looked for.
        lines: String,
    },
    /// There are several places.
    #[error("hunk {piece} fits in {places} places; give more lines around it")]
    Ambiguous {
        /// Which, from 1.
        piece: usize,
        /// How many.
        places: usize,
    },
    /// The line above it is not there.
    #[error("hunk {piece}: the file has no line `{anchor}` there")]
    NoAnchor {
        /// Which, from 1.
        piece: usize,
        /// What was looked for.
        anchor: String,
    },
}

/// The file with all pieces in their places.
pub(super) fn fit(file: &[u8], pieces: &[Piece]) -> Result<Vec<u8>, FitError> {
    let old = lines(file);
    let end = line_end(&old);
    let mut result: Vec<u8> = Vec::with_capacity(file.len());
    let mut done = 0;
    let mut final_newline = file.is_empty() || file.ends_with(b"\n");
    for (index, piece) in pieces.iter().enumerate() {
        let at = place(&old, piece, index + 1, done)?;
        old[done..at].iter().for_each(|line| push(&mut result, line, end));
        done = at;
        for line in &piece.lines {
            match line.tag {
                Tag::Context => {
                    push(&mut result, old[done], end);
                    done += 1;
                }
                Tag::Removed => done += 1,
                Tag::Added => add(&mut result, &line.text, end),
            }
        }
        final_newline = piece.final_newline.filter(|_| done == old.len()).unwrap_or(final_newline);
    }
    old[done..].iter().for_each(|line| push(&mut result, line, end));
    if !final_newline && !pieces.is_empty() {
        result.truncate(content(&result).len());
    }
    Ok(result)
}

/// Takes a line of the file as it is; only one without an end gets one, in case that others follow.
fn push(result: &mut Vec<u8>, line: &[u8], end: &[u8]) {
    result.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        result.extend_from_slice(end);
    }
}

/// Takes a new line, with the end that the file's lines have.
fn add(result: &mut Vec<u8>, text: &[u8], end: &[u8]) {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    result.extend_from_slice(text);
    result.extend_from_slice(if text.ends_with(b"\r") { b"\n" } else { end });
}

/// Where a piece goes: in no line before `done`.
fn place(old: &[&[u8]], piece: &Piece, number: usize, done: usize) -> Result<usize, FitError> {
    let start = match &piece.anchor {
        Some(anchor) => {
            let found = old[done..].iter().position(|line| content(line).trim_ascii() == anchor.trim().as_bytes());
            let at = found.ok_or_else(|| FitError::NoAnchor { piece: number, anchor: anchor.clone() })?;
            done + at + 1
        }
        None => done,
    };
    let expected: Vec<&HunkLine> = piece.lines.iter().filter(|line| line.tag != Tag::Added).collect();
    if expected.is_empty() {
        return Ok(match (&piece.anchor, piece.hint) {
            (Some(_), _) => start,
            (None, Some(hint)) => hint.clamp(done, old.len()),
            (None, None) => old.len(),
        });
    }
    let exact = candidates(old, start, &expected, content);
    // Blanks at the ends of lines are what models most often get wrong, and rarely mean anything.
    let mut found = if exact.is_empty() { candidates(old, start, &expected, visible) } else { exact };
    if piece.at_end {
        found.retain(|at| at + expected.len() == old.len());
    }
    match (found.as_slice(), piece.hint) {
        (&[only], _) => Ok(only),
        ([], _) => Err(FitError::NotThere { piece: number, after_line: start, lines: shown(&expected) }),
        (several, Some(hint)) if several.contains(&hint) => Ok(hint),
        (&[first, ..], None) if piece.anchor.is_some() => Ok(first),
        (several, _) => Err(FitError::Ambiguous { piece: number, places: several.len() }),
    }
}

fn candidates(old: &[&[u8]], start: usize, expected: &[&HunkLine], part: fn(&[u8]) -> &[u8]) -> Vec<usize> {
    let Some(rest) = old.get(start..) else { return Vec::new() };
    let expected: Vec<_> = expected.iter().map(|line| part(&line.text)).collect();
    let fits = |window: &[&[u8]]| window.iter().zip(&expected).all(|(line, expected)| part(line) == *expected);
    rest.windows(expected.len()).enumerate().filter(|(_, window)| fits(window)).map(|(at, _)| start + at).collect()
}

fn visible(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

/// The lines for an error: enough to recognise them.
fn shown(expected: &[&HunkLine]) -> String {
    let mut text = String::new();
    for line in expected.iter().take(8) {
        text.push_str(&String::from_utf8_lossy(content(&line.text)));
        text.push('\n');
    }
    if expected.len() > 8 {
        text.push_str("…\n");
    }
    text
}
