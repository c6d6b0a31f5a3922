//! Reading patches between `*** Begin Patch` and `*** End Patch`, a form without line numbers that many
//! models were taught.

use super::hunk::{HunkLine, Tag};
use super::wanted::{ParseError, Piece, Wanted};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// What stands between the marks, with the number of its first line; `None` if this is not the form.
pub(super) fn body(text: &str) -> Option<Body<'_>> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.trim() != BEGIN);
    lines.next()?;
    let inside: Vec<_> = lines.take_while(|(_, line)| line.trim() != END).collect();
    Some(Body { lines: inside })
}

/// Lines and their numbers, from 0.
pub(super) struct Body<'a> {
    lines: Vec<(usize, &'a str)>,
}

/// Everything that a patch asks for.
pub(super) fn parse(body: Body<'_>) -> Result<Vec<Wanted>, ParseError> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for (number, line) in body.lines {
        let problem = |problem| Err(ParseError::Line { line: number + 1, problem });
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            wanted.push(Wanted::Create { path: path.trim().into(), content: Vec::new(), executable: false });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            wanted.push(Wanted::Delete { path: path.trim().into() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let path = path.trim().into();
            wanted.push(Wanted::Update { path, move_to: None, executable: None, pieces: Vec::new() });
        } else {
            match wanted.last_mut() {
                Some(Wanted::Create { content, .. }) => match line.strip_prefix('+') {
                    Some(text) => content.extend_from_slice(format!("{text}\n").as_bytes()),
                    None if line.is_empty() => {}
                    None => return problem("every line of a new file begins with `+`"),
                },
                Some(Wanted::Update { move_to, pieces, .. }) => update(line, number, move_to, pieces)?,
                Some(Wanted::Delete { .. }) if line.is_empty() => {}
                Some(Wanted::Delete { .. }) => return problem("nothing follows a deleted file's name"),
                None if line.is_empty() => {}
                None => return problem("expected `*** Add File: `, `*** Update File: ` or `*** Delete File: `"),
            }
        }
    }
    Ok(wanted)
}

fn update(line: &str, number: usize, move_to: &mut Option<String>, pieces: &mut Vec<Piece>) -> Result<(), ParseError> {
    if let Some(path) = line.strip_prefix("*** Move to: ") {
        *move_to = Some(path.trim().into());
        return Ok(());
    }
    if line == "*** End of File" {
        if let Some(piece) = pieces.last_mut() {
            piece.at_end = true;
        }
        return Ok(());
    }
    if let Some(anchor) = line.strip_prefix("@@") {
        let anchor = Some(anchor.trim()).filter(|anchor| !anchor.is_empty()).map(Into::into);
        pieces.push(Piece { anchor, ..Piece::default() });
        return Ok(());
    }
    let (tag, text) = match line.as_bytes().first() {
        None => (Tag::Context, ""),
        Some(b' ') => (Tag::Context, &line[1..]),
        Some(b'-') => (Tag::Removed, &line[1..]),
        Some(b'+') => (Tag::Added, &line[1..]),
        Some(_) => {
            let problem = "a line of a hunk begins with ` `, `-`, `+` or `@@`";
            return Err(ParseError::Line { line: number + 1, problem });
        }
    };
    // The first piece needs no mark of its own.
    if pieces.is_empty() {
        pieces.push(Piece::default());
    }
    if let Some(piece) = pieces.last_mut() {
        piece.lines.push(HunkLine { tag, text: format!("{text}\n").into_bytes() });
    }
    Ok(())
}
