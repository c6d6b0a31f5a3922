//! A growing page of text: blocks with an empty line between them, and lines that may still be open.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::render::text::{cut, visible};

/// What stands last on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The model speaks.
    Said(u64, u64),
    /// The model thinks.
    Thought,
    /// Tool calls of one turn stand together.
    Calls(u64),
    /// A question to a person and its answer.
    Question(String),
    /// What the gates of a round say.
    Gates(u64),
    /// News of the run itself.
    Notice,
    /// How it ended.
    End,
}

/// Text on its way to the terminal.
#[derive(Debug, Default)]
pub(super) struct Page {
    out: String,
    last: Option<Block>,
    open_line: bool,
    /// Columns, if lines are to be broken.
    pub(super) width: Option<usize>,
}

impl Page {
    pub(super) fn new(width: Option<usize>) -> Self {
        Self { width, ..Self::default() }
    }

    /// Begins or goes on with a block; true if it begins.
    pub(super) fn begin(&mut self, block: Block) -> bool {
        if self.last.as_ref() == Some(&block) {
            return false;
        }
        self.end_line();
        if self.last.is_some() {
            self.out.push('\n');
        }
        self.last = Some(block);
        true
    }

    /// Begins a block that stands right below the last one.
    pub(super) fn join(&mut self, block: Block) {
        self.end_line();
        self.last = Some(block);
    }

    /// A whole line.
    pub(super) fn line(&mut self, text: &str) {
        self.end_line();
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// A part of a line.
    pub(super) fn part(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push_str(text);
            self.open_line = !text.ends_with('\n');
        }
    }

    pub(super) fn end_line(&mut self) {
        if self.open_line {
            self.out.push('\n');
            self.open_line = false;
        }
    }

    /// Goes on as on a new sheet: what was open stands on another one.
    pub(super) const fn turn(&mut self) {
        self.open_line = false;
    }

    /// What was added since the last time.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The text in one line that fits beside `taken` columns.
    pub(super) fn fit(&self, text: &str, taken: usize) -> String {
        let text = printable(text);
        match self.width {
            Some(width) => cut(&text, width.saturating_sub(taken).max(10)),
            None => text,
        }
    }

    /// Short texts, as many in a line as fit; `taken` columns of the first line are in use.
    pub(super) fn gather(&self, texts: &[String], between: &str, taken: usize) -> Vec<String> {
        let room = |taken| self.width.map_or(usize::MAX, |width| width.saturating_sub(taken));
        let mut lines: Vec<String> = Vec::new();
        for text in texts {
            let room = if lines.len() == 1 { room(taken) } else { room(2) };
            match lines.last_mut() {
                Some(line) if line.width() + between.width() + text.width() <= room => {
                    line.push_str(between);
                    line.push_str(text);
                }
                _ => lines.push(text.clone()),
            }
        }
        lines
    }

    /// The text in lines that fit beside `taken` columns; nothing is left out.
    pub(super) fn fold(&self, text: &str, taken: usize) -> Vec<String> {
        let room = self.width.map(|width| width.saturating_sub(taken).max(10));
        text.lines().flat_map(|line| broken(&printable(line), room)).collect()
    }
}

/// One line of text that does nothing to a terminal.
pub(super) fn printable(text: &str) -> String {
    // Progress bars overwrite their line: only what was last there counts.
    let last = text.trim_end_matches(['\r', '\n']).rsplit('\r').next().unwrap_or_default();
    visible(&last.replace('\t', "    "))
}

fn broken(line: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else { return vec![line.to_owned()] };
    let (mut lines, mut used) = (vec![String::new()], 0);
    for c in line.chars() {
        let width = c.width().unwrap_or(0);
        if used + width > room {
            lines.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(last) = lines.last_mut() {
            last.push(c);
        }
    }
    lines
}

/// Prose that streams in, broken between words.
#[derive(Debug)]
pub(super) struct Flow {
    indent: usize,
    column: usize,
    spaces: usize,
    word: String,
    /// Whether the line is still empty.
    fresh: bool,
}

impl Flow {
    /// The first word goes where the cursor is, further lines begin at `indent`.
    pub(super) const fn new(indent: usize) -> Self {
        Self { indent, column: indent, spaces: 0, word: String::new(), fresh: false }
    }

    /// What can be shown of `text` already: its last word may go on.
    pub(super) fn push(&mut self, text: &str, width: Option<usize>) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => {
                    self.flush(&mut out, width);
                    (self.spaces, self.column, self.fresh) = (0, self.indent, true);
                    out.push('\n');
                }
                '\r' => {}
                ' ' | '\t' => {
                    self.flush(&mut out, width);
                    self.spaces += if c == '\t' { 4 } else { 1 };
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// Goes on at the beginning of another line.
    pub(super) const fn restart(&mut self) {
        (self.spaces, self.column, self.fresh) = (0, self.indent, false);
    }

    /// The rest.
    pub(super) fn finish(&mut self, width: Option<usize>) -> String {
        let mut out = String::new();
        self.flush(&mut out, width);
        out
    }

    fn flush(&mut self, out: &mut String, width: Option<usize>) {
        if self.word.is_empty() {
            return;
        }
        let word = visible(&std::mem::take(&mut self.word));
        let needed = self.spaces + word.width();
        // Not before there is a word: an empty line stays empty.
        if std::mem::take(&mut self.fresh) {
            out.push_str(&" ".repeat(self.indent));
        }
        if self.column > self.indent && width.is_some_and(|width| self.column + needed > width) {
            out.push('\n');
            out.push_str(&" ".repeat(self.indent));
            self.column = self.indent + word.width();
        } else {
            out.push_str(&" ".repeat(self.spaces));
            self.column += needed;
        }
        self.spaces = 0;
        out.push_str(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words_however_it_streams_in() {
        let text = "The quick brown fox jumps over\n  the lazy dog, a_word_that_is_longer_than_a_line and on.";
        let whole = {
            let mut flow = Flow::new(2);
            flow.push(text, Some(20)) + &flow.finish(Some(20))
        };
        let mut flow = Flow::new(2);
        let mut pieces: String = text.chars().map(|c| flow.push(&c.to_string(), Some(20))).collect();
        pieces.push_str(&flow.finish(Some(20)));
        assert_eq!(pieces, whole);
        assert!(whole.lines().all(|line| line.width() <= 20 || line.contains("a_word")), "{whole}");
    }

    #[test]
    fn a_line_that_is_folded_loses_nothing_and_one_that_is_fitted_says_so() {
        let page = Page::new(Some(20));
        assert_eq!(page.fold("0123456789abcdefghij", 4), ["0123456789abcdef", "ghij"]);
        assert_eq!(page.fit("0123456789abcdefghij", 4), "0123456789abcde…");
        assert_eq!(page.fit("漢字漢字漢字漢字漢字", 4).width(), 15);
        assert_eq!(page.fit("10%\r100%\n", 0), "100%");
    }
}
