//! Taking a line for a POSIX shell apart into the commands that it would run.
//!
//! This is no shell: it only has to know what it does not understand. Whatever it cannot follow makes a
//! line opaque, and an opaque line is never allowed by a rule. Commands inside of substitutions are found
//! too, so that a rule which denies them applies.

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without quotes and escapes; what a shell would put into it is left out.
    pub(super) text: String,
    /// Whether a shell would put something into it.
    pub(super) is_dynamic: bool,
}

/// What a line would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The commands, with those inside of substitutions.
    pub(super) commands: Vec<Vec<Word>>,
    /// Files that it reads and writes by redirection.
    pub(super) redirects: Vec<Word>,
    /// Whether it does things that are not followed here.
    pub(super) is_opaque: bool,
}

/// Takes a line apart.
pub(super) fn parse(script: &str) -> Line {
    parse_nested(script, 0)
}

/// Deeper lines are nobody's work.
const MAX_DEPTH: usize = 16;

fn parse_nested(script: &str, depth: usize) -> Line {
    let mut parser = Parser { chars: script.chars().collect(), at: 0, depth, line: Line::default() };
    while parser.commands(None) {
        // A `)` that closes nothing.
        parser.line.is_opaque = true;
    }
    parser.line
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    line: Line,
}

/// A command that is being read.
#[derive(Default)]
struct Open {
    words: Vec<Word>,
    word: Option<Word>,
    /// The next word is a file, not an argument.
    redirects: bool,
}

impl Open {
    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }
}

impl Parser {
    /// Reads commands until the end, or until a `)`, and says whether it was that. `close` is what ends
    /// this level.
    fn commands(&mut self, close: Option<char>) -> bool {
        let mut open = Open::default();
        while let Some(char) = self.next() {
            match char {
                ' ' | '\t' => self.end_word(&mut open),
                '&' if self.peek() == Some('>') => {}
                '\n' | '\r' | ';' | '&' | '|' => self.end_command(&mut open),
                ')' => {
                    self.end_command(&mut open);
                    return true;
                }
                '(' => {
                    // A group, or a function.
                    self.line.is_opaque = true;
                    self.end_command(&mut open);
                    self.nested(')');
                }
                '\\' if self.peek() == Some('\n') => self.at += 1,
                '#' if open.word.is_none() => self.comment(),
                '<' | '>' => self.redirect(char, &mut open),
                _ => self.word_part(char, open.word()),
            }
        }
        self.end_command(&mut open);
        if close.is_some() {
            self.line.is_opaque = true;
        }
        false
    }

    fn word_part(&mut self, char: char, word: &mut Word) {
        match char {
            '\\' => match self.next() {
                Some('\n') => {}
                Some(escaped) => word.text.push(escaped),
                None => self.line.is_opaque = true,
            },
            '\'' => self.single_quoted(word),
            '"' => self.double_quoted(word),
            '$' => self.expansion(word),
            '`' => self.backquoted(word),
            char => word.text.push(char),
        }
    }

    fn single_quoted(&mut self, word: &mut Word) {
        loop {
            match self.next() {
                Some('\'') => return,
                Some(char) => word.text.push(char),
                None => {
                    self.line.is_opaque = true;
                    return;
                }
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) {
        loop {
            match self.next() {
                Some('"') => return,
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => word.text.push(escaped),
                    Some(other) => word.text.extend(['\\', other]),
                    None => {
                        self.line.is_opaque = true;
                        return;
                    }
                },
                Some('$') => self.expansion(word),
                Some('`') => self.backquoted(word),
                Some(char) => word.text.push(char),
                None => {
                    self.line.is_opaque = true;
                    return;
                }
            }
        }
    }

    /// Behind a `$`.
    fn expansion(&mut self, word: &mut Word) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.line.is_opaque = true;
                word.is_dynamic = true;
                self.nested(')');
            }
            Some('{') => {
                // What stands inside may substitute, too: it is not looked at.
                self.line.is_opaque = true;
                word.is_dynamic = true;
            }
            Some('\'' | '"') => {
                // Escapes of their own: the word may be anything.
                self.line.is_opaque = true;
                word.is_dynamic = true;
            }
            Some(char) if char.is_alphanumeric() || "_@*#?-$!".contains(char) => {
                word.is_dynamic = true;
                self.at += 1;
                while self.peek().is_some_and(|char| char.is_alphanumeric() || char == '_') {
                    self.at += 1;
                }
            }
            _ => word.text.push('$'),
        }
    }

    fn backquoted(&mut self, word: &mut Word) {
        self.line.is_opaque = true;
        word.is_dynamic = true;
        let mut inner = String::new();
        loop {
            match self.next() {
                Some('`') | None => break,
                Some('\\') => inner.extend(self.next()),
                Some(char) => inner.push(char),
            }
        }
        if self.depth < MAX_DEPTH {
            let Line { commands, redirects, is_opaque: _ } = parse_nested(&inner, self.depth + 1);
            self.line.commands.extend(commands);
            self.line.redirects.extend(redirects);
        }
    }

    fn nested(&mut self, close: char) {
        self.depth += 1;
        if self.depth < MAX_DEPTH {
            self.commands(Some(close));
        } else {
            self.at = self.chars.len();
        }
        self.depth -= 1;
    }

    fn redirect(&mut self, char: char, open: &mut Open) {
        // The number before it names a stream.
        if open.word.as_ref().is_some_and(|word| word.text.chars().all(|char| char.is_ascii_digit())) {
            open.word = None;
        }
        self.end_word(open);
        match (char, self.peek()) {
            (_, Some('(')) => {
                self.at += 1;
                self.line.is_opaque = true;
                self.nested(')');
                return;
            }
            ('<', Some('<')) => {
                // A text that follows: it is read as commands, which denies too much rather than too little.
                self.line.is_opaque = true;
                self.at += 1;
                self.skip_if('<');
                self.skip_if('-');
            }
            ('>', Some('>' | '|')) | ('<', Some('>')) => self.at += 1,
            (_, Some('&')) => {
                self.at += 1;
                if self.peek().is_some_and(|char| char.is_ascii_digit() || char == '-') {
                    self.at += 1;
                    return;
                }
            }
            _ => {}
        }
        open.redirects = true;
    }

    fn end_word(&mut self, open: &mut Open) {
        let Some(word) = open.word.take() else { return };
        if std::mem::take(&mut open.redirects) {
            self.line.redirects.push(word);
        } else {
            open.words.push(word);
        }
    }

    fn end_command(&mut self, open: &mut Open) {
        self.end_word(open);
        if std::mem::take(&mut open.redirects) {
            self.line.is_opaque = true;
        }
        let mut words = std::mem::take(&mut open.words);
        let keywords = words.iter().take_while(|word| KEYWORDS.contains(&word.text.as_str())).count();
        words.drain(..keywords);
        let Some(first) = words.first() else { return };
        self.line.is_opaque |= COMPOUND.contains(&first.text.as_str());
        self.line.commands.push(words);
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|char| char != '\n') {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += 1;
        Some(char)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip_if(&mut self, char: char) {
        self.at += usize::from(self.peek() == Some(char));
    }
}

/// Words before a command that change when it runs, not what it is.
const KEYWORDS: [&str; 14] =
    ["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time", "esac"];

/// Words that begin something which is not a command.
const COMPOUND: [&str; 6] = ["for", "case", "select", "function", "[[", "coproc"];
