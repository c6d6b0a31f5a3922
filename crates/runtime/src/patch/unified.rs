//! Reading unified diffs, from git or anyone else.
//!
//! Counts in hunk headers are believed as long as they agree with what follows: models get them wrong.

use std::iter::Peekable;

use super::hunk::{HunkLine, Tag};
use super::wanted::{ParseError, Piece, Wanted};

/// Everything that a diff asks for.
pub(super) fn parse(text: &str) -> Result<Vec<Wanted>, ParseError> {
    let mut reader = Reader { lines: text.split_inclusive('\n').collect(), at: 0 };
    let mut wanted = Vec::new();
    while let Some(file) = reader.file()? {
        wanted.extend(file.wanted()?);
    }
    Ok(wanted)
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

/// What a diff says of one file.
#[derive(Default)]
struct File {
    first_line: usize,
    old: Option<String>,
    new: Option<String>,
    created: bool,
    deleted: bool,
    renamed: bool,
    mode: Option<String>,
    binary: bool,
    pieces: Vec<Piece>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).map(|line| line.trim_end_matches(['\n', '\r']))
    }

    fn next_is_names(&self) -> bool {
        let is =
            |offset: usize, start: &str| self.lines.get(self.at + offset).is_some_and(|line| line.starts_with(start));
        is(0, "--- ") && is(1, "+++ ")
    }

    /// The next file; what stands before it, such as the message of a commit, is passed over.
    fn file(&mut self) -> Result<Option<File>, ParseError> {
        while let Some(line) = self.peek() {
            if line.starts_with("diff --git ") || self.next_is_names() {
                break;
            }
            if line.starts_with("@@ ") {
                return Err(self.problem("a hunk before the names of its file (`---` and `+++` lines)"));
            }
            self.at += 1;
        }
        if self.at >= self.lines.len() {
            return Ok(None);
        }
        let mut file = File { first_line: self.at + 1, ..File::default() };
        if let Some(names) = self.peek().and_then(|line| line.strip_prefix("diff --git ")) {
            (file.old, file.new) = both_names(names);
            self.at += 1;
            self.extended_header(&mut file);
        }
        if self.next_is_names() {
            let [old, new] = [self.lines[self.at], self.lines[self.at + 1]].map(|line| file_name(&line[4..]));
            file.created |= old.is_none();
            file.deleted |= new.is_none();
            (file.old, file.new) = (old.or(file.old), new.or(file.new));
            self.at += 2;
        }
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            file.pieces.push(self.hunk()?);
        }
        Ok(Some(file))
    }

    fn extended_header(&mut self, file: &mut File) {
        while let Some(line) = self.peek() {
            if let Some(mode) = line.strip_prefix("new file mode ") {
                (file.created, file.mode) = (true, Some(mode.into()));
            } else if line.starts_with("deleted file mode ") {
                file.deleted = true;
            } else if let Some(mode) = line.strip_prefix("new mode ") {
                file.mode = Some(mode.into());
            } else if let Some(name) = line.strip_prefix("rename from ") {
                (file.renamed, file.old) = (true, Some(unquoted(name)));
            } else if let Some(name) = line.strip_prefix("rename to ") {
                (file.renamed, file.new) = (true, Some(unquoted(name)));
            } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
                file.binary = true;
            } else if !["index ", "old mode ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|known| line.starts_with(known))
            {
                return;
            }
            self.at += 1;
        }
    }

    fn hunk(&mut self) -> Result<Piece, ParseError> {
        let header = self.peek().unwrap_or_default();
        let Some((start, mut old_left, mut new_left)) = hunk_header(header) else {
            return Err(self.problem("a hunk begins with `@@ -first,count +first,count @@`"));
        };
        self.at += 1;
        // A hunk without old lines names the line before its place.
        let hint = if old_left == 0 { start } else { start.saturating_sub(1) };
        let mut piece = Piece { hint: Some(hint), ..Piece::default() };
        while let Some(line) = self.lines.get(self.at) {
            let counted = old_left + new_left > 0;
            // Beyond the counts, these begin something else.
            if !counted && (self.next_is_names() || *line == "-- \n") {
                break;
            }
            let (tag, text) = match line.as_bytes().first() {
                Some(b' ') => (Tag::Context, &line[1..]),
                Some(b'-') => (Tag::Removed, &line[1..]),
                Some(b'+') => (Tag::Added, &line[1..]),
                Some(b'\\') => {
                    no_newline(&mut piece);
                    self.at += 1;
                    continue;
                }
                // An empty context line that lost its blank on the way.
                Some(b'\n' | b'\r') if counted => (Tag::Context, *line),
                _ => break,
            };
            match tag {
                Tag::Context => (old_left, new_left) = (old_left.saturating_sub(1), new_left.saturating_sub(1)),
                Tag::Removed => old_left = old_left.saturating_sub(1),
                Tag::Added => new_left = new_left.saturating_sub(1),
            }
            piece.lines.push(HunkLine { tag, text: text.into() });
            self.at += 1;
        }
        Ok(piece)
    }

    fn problem(&self, problem: &'static str) -> ParseError {
        ParseError::Line { line: self.at + 1, problem }
    }
}

impl File {
    fn wanted(self) -> Result<Option<Wanted>, ParseError> {
        let Self { first_line, old, new, created, deleted, renamed, mode, binary, pieces } = self;
        if binary {
            return Err(ParseError::Binary { line: first_line });
        }
        let executable = mode.map(|mode| mode.ends_with("755"));
        let (Some(old), Some(new)) = (old.clone().or_else(|| new.clone()), new.or(old)) else {
            return Err(ParseError::Line { line: first_line, problem: "the file has no name" });
        };
        Ok(if created {
            let added = pieces.iter().flat_map(|piece| &piece.lines).filter(|line| line.tag == Tag::Added);
            let mut content = added.map(|line| line.text.as_slice()).collect::<Vec<_>>().concat();
            if pieces.last().is_some_and(|piece| piece.final_newline == Some(false)) {
                content.truncate(content.strip_suffix(b"\n").unwrap_or(&content).len());
            }
            Some(Wanted::Create { path: new, content, executable: executable.unwrap_or(false) })
        } else if deleted {
            Some(Wanted::Delete { path: old })
        } else if pieces.is_empty() && !renamed && executable.is_none() {
            None
        } else {
            let move_to = Some(new).filter(|new| renamed && *new != old);
            Some(Wanted::Update { path: old, move_to, executable, pieces })
        })
    }
}

/// `\ No newline at end of file` speaks of the line before it; the new file's word counts.
fn no_newline(piece: &mut Piece) {
    let Some(line) = piece.lines.last() else { return };
    match line.tag {
        Tag::Context | Tag::Added => piece.final_newline = Some(false),
        Tag::Removed => piece.final_newline = piece.final_newline.or(Some(true)),
    }
}

/// First line and counts of `@@ -1,2 +1,3 @@`.
fn hunk_header(line: &str) -> Option<(usize, usize, usize)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let span = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (first, old) = span(parts.next()?)?;
    let (_, new) = span(parts.next()?.strip_prefix('+')?)?;
    Some((first, old, new))
}

/// Both names of a `diff --git` line. Names with blanks are only clear if both are equal.
fn both_names(names: &str) -> (Option<String>, Option<String>) {
    if names.starts_with('"') {
        let mut rest = names.chars().peekable();
        return (file_name(&quoted_token(&mut rest)), file_name(rest.collect::<String>().trim()));
    }
    let middle = names.len() / 2;
    let equal = names.is_char_boundary(middle)
        && names[middle..].starts_with(' ')
        && names[..middle].strip_prefix("a/") == names[middle + 1..].strip_prefix("b/");
    let (old, new) =
        if equal { (&names[..middle], &names[middle + 1..]) } else { names.split_once(' ').unwrap_or((names, names)) };
    (file_name(old), file_name(new))
}

fn quoted_token(rest: &mut Peekable<std::str::Chars<'_>>) -> String {
    let mut token = String::new();
    while let Some(c) = rest.next() {
        token.push(c);
        match c {
            '\\' => token.extend(rest.next()),
            '"' if token.len() > 1 => break,
            _ => {}
        }
    }
    token
}

/// A name of a `---` or `+++` line, without `a/` or `b/`; `None` for `/dev/null`.
fn file_name(text: &str) -> Option<String> {
    let text = text.trim_end_matches(['\n', '\r']);
    let name = if text.starts_with('"') {
        unquoted(text)
    } else {
        // A tab ends the name: a time may follow.
        text.split('\t').next().unwrap_or(text).to_owned()
    };
    if name == "/dev/null" {
        return None;
    }
    Some(name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).map_or(name.clone(), Into::into))
}

/// A name without git's quotes.
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = digit - b'0';
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|digit| matches!(digit, b'0'..=b'7')) {
                        value = value.wrapping_mul(8).wrapping_add(digit - b'0');
                    }
                }
                bytes.push(value);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
