//! Looking at text that may not be complete yet.

/// How far behind its beginning a secret is looked at before it is decided; what is kept back of a
/// stream is never more.
pub(super) const REACH: usize = 8 << 10;

/// How much of a value decides whether it is a secret. Without this bound, text made of nothing but
/// beginnings of values would be read to the end for each of them.
pub(super) const JUDGED: usize = 160;

/// How far before an anchor its surroundings are looked at.
pub(super) const LOOK_BACK: usize = 64;

/// The answer depends on text that has not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeedMore;

/// Characters that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits.
    Alphanumeric,
    /// Capitals and digits.
    Capital,
    /// Lower-case hexadecimal digits.
    Hex,
    /// Letters, digits, `_` and `-`.
    Url64,
    /// Those and `.`.
    Dotted,
    /// Letters, digits and what else occurs in base64.
    Base64,
    /// What a name consists of.
    Name,
    /// A value without quotes: ends at white space, quotes and brackets.
    Bare,
    /// A value in a shell or `.env` file: ends at white space, quotes and what a shell reads.
    ShellWord,
    /// Until this quote, or the end of the line.
    Quoted(u8),
    /// Inside quotes that are themselves escaped: until the next backslash.
    Escaped,
    /// Until any quote, or the end of the line.
    Line,
    /// Until white space or any quote.
    Word,
    /// Between `://` and `@`.
    UserInfo,
    /// What stands inside a PEM block, also where line ends are escaped.
    Pem,
}

impl Class {
    pub(super) const fn contains(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Url64 => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted | Self::Name => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
            Self::Bare => {
                !byte.is_ascii_whitespace()
                    && !matches!(
                        byte,
                        b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'|' | b'<' | b'>' | b')' | b'}' | b']' | b'\\'
                    )
            }
            Self::ShellWord => {
                !byte.is_ascii_whitespace()
                    && !matches!(byte, b'"' | b'\'' | b'`' | b';' | b'&' | b'|' | b'<' | b'>' | b'\\')
            }
            Self::Quoted(quote) => byte != quote && byte != b'\n',
            Self::Escaped => !matches!(byte, b'\\' | b'"' | b'\n'),
            Self::Line => !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\'),
            Self::Word => !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\'),
            Self::UserInfo => {
                !byte.is_ascii_whitespace()
                    && !matches!(
                        byte,
                        b'/' | b'?' | b'#' | b'@' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'{' | b'$'
                    )
            }
            Self::Pem => {
                byte.is_ascii_alphanumeric()
                    || byte.is_ascii_whitespace()
                    || matches!(byte, b'+' | b'/' | b'=' | b'-' | b':' | b',' | b'\\')
            }
        }
    }
}

/// A cursor that never looks beyond [`REACH`], and says so when it would have to look beyond what is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    bytes: &'a [u8],
    at: usize,
    limit: usize,
    complete: bool,
}

impl<'a> Look<'a> {
    /// Looks at `bytes` from `anchor` on; nothing follows them if they are `complete`.
    pub(super) const fn new(bytes: &'a [u8], anchor: usize, complete: bool) -> Self {
        Self { bytes, at: anchor, limit: anchor + REACH, complete }
    }

    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// The next byte; none at the end of the text, or of what may be looked at.
    pub(super) fn peek(&self) -> Result<Option<u8>, NeedMore> {
        if self.at >= self.limit {
            return Ok(None);
        }
        match self.bytes.get(self.at) {
            Some(byte) => Ok(Some(*byte)),
            None if self.complete => Ok(None),
            None => Err(NeedMore),
        }
    }

    pub(super) const fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Takes `byte` if it is next.
    pub(super) fn take(&mut self, byte: u8) -> Result<bool, NeedMore> {
        let found = self.peek()? == Some(byte);
        self.at += usize::from(found);
        Ok(found)
    }

    /// Takes `literal` if it is next, in this very case.
    pub(super) fn literal(&mut self, literal: &[u8]) -> Result<bool, NeedMore> {
        let mut ahead = *self;
        for byte in literal {
            if !ahead.take(*byte)? {
                return Ok(false);
            }
        }
        *self = ahead;
        Ok(true)
    }

    /// Takes what is of `class`, at most `most`.
    pub(super) fn run(&mut self, class: Class, most: usize) -> Result<&'a [u8], NeedMore> {
        let start = self.at;
        while self.at - start < most {
            match self.peek()? {
                Some(byte) if class.contains(byte) => self.at += 1,
                _ => break,
            }
        }
        Ok(self.taken(start))
    }

    /// Takes at most `most` blanks of a line.
    pub(super) fn blanks(&mut self, most: usize) -> Result<usize, NeedMore> {
        let mut taken = 0;
        while taken < most && matches!(self.peek()?, Some(b' ' | b'\t')) {
            self.at += 1;
            taken += 1;
        }
        Ok(taken)
    }

    /// Whether it stopped because it may not look further.
    pub(super) const fn is_at_limit(&self) -> bool {
        self.at >= self.limit
    }

    /// What was taken since `start`.
    pub(super) fn taken(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// What stands before `position`, as far as it may be looked at from there.
    pub(super) fn before(&self, position: usize) -> &'a [u8] {
        &self.bytes[position.saturating_sub(LOOK_BACK)..position]
    }

    /// The secret from `start` to here. One that was cut by the limit goes on as long as `class` does.
    pub(super) fn span(&self, start: usize, class: Class) -> Reached {
        Reached { start, end: self.at, goes_on: self.is_at_limit().then_some(class) }
    }
}

/// Where a secret stands, as far as it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) start: usize,
    pub(super) end: usize,
    /// It was cut at [`REACH`]: all that follows and is of this class belongs to it too.
    pub(super) goes_on: Option<Class>,
}

impl Reached {
    pub(super) const fn closed(start: usize, end: usize) -> Self {
        Self { start, end, goes_on: None }
    }
}
