//! Values that a name, a header or a URL gives away.

use super::entropy;
use super::look::{Class, JUDGED, Look, NeedMore, Reached};
use super::name::{self, Strength};
use super::plausible::{Form, is_plausible};

/// Words that names of secrets contain.
pub(super) const NAME_ANCHORS: [&str; 6] = ["key", "token", "secret", "pass", "pwd", "credential"];

/// The longest name, on either side of its anchor.
const NAME_REACH: usize = 40;

/// A name around the anchor that `look` stands at.
pub(super) struct Named<'a> {
    name: &'a [u8],
    /// Behind the name.
    look: Look<'a>,
    start: usize,
}

/// What a name gives away.
pub(super) enum GivenAway {
    /// The value that it is given.
    Value(Reached),
    /// Random text beside it.
    Nearby(Reached),
}

impl<'a> Named<'a> {
    /// The name around an anchor of `anchor` bytes.
    pub(super) fn around(mut look: Look<'a>, anchor: usize) -> Result<Self, NeedMore> {
        let before = look.before(look.position());
        let head = before.iter().rev().take(NAME_REACH).take_while(|byte| Class::Name.contains(**byte)).count();
        let start = look.position() - head;
        look.advance(anchor);
        look.run(Class::Name, NAME_REACH)?;
        Ok(Self { name: look.taken(start), look, start })
    }

    /// What it gives away, if it is a secret's name. Most words with an anchor in them are not, and most
    /// that are stand alone: what is cheap to see is looked at first.
    pub(super) fn find(&self) -> Result<Option<GivenAway>, NeedMore> {
        match self.look_behind() {
            // What follows an ordinary name does not matter.
            Err(NeedMore) if name::strength(self.name).is_none() => Ok(None),
            found => found,
        }
    }

    fn look_behind(&self) -> Result<Option<GivenAway>, NeedMore> {
        let mut look = self.look;
        if let Some(given) = self.separator(&mut look)? {
            let Some(strength) = name::strength(self.name) else { return Ok(None) };
            if let Some(value) = self.value(look, given, strength)? {
                return Ok(Some(GivenAway::Value(value)));
            }
        }
        let nearby = entropy::find(self.look)?.filter(|_| name::strength(self.name).is_some());
        Ok(nearby.map(GivenAway::Nearby))
    }

    /// The value that is given to it: `NAME=value`, `name: value`, `"name": "value"`, `--name value`,
    /// `<name>value`.
    fn value(&self, mut look: Look<'a>, given: Given, strength: Strength) -> Result<Option<Reached>, NeedMore> {
        // The prefix letters of Python and Rust strings belong to the quote.
        let mut ahead = look;
        if matches!(ahead.peek()?, Some(b'b' | b'r' | b'f' | b'u')) {
            ahead.advance(1);
            if matches!(ahead.peek()?, Some(b'"' | b'\'')) {
                look = ahead;
            }
        }
        match look.peek()? {
            Some(quote @ (b'"' | b'\'' | b'`')) => {
                look.advance(1);
                quoted(look, quote, strength)
            }
            Some(b'\\') => {
                look.advance(1);
                if matches!(look.peek()?, Some(b'"' | b'\'')) {
                    look.advance(1);
                    bare(look, Class::Escaped, strength, Form::Quoted)
                } else {
                    Ok(None)
                }
            }
            _ => match given {
                Given::Tight if self.is_in_capitals() => bare(look, Class::ShellWord, strength, Form::Setting),
                Given::Tight => bare(look, Class::Bare, strength, Form::Tight),
                Given::Flag => bare(look, Class::ShellWord, strength, Form::Setting),
                Given::Loose => bare(look, Class::Bare, strength, Form::Loose),
            },
        }
    }

    /// Moves `look` to the value, if one is given.
    fn separator(&self, look: &mut Look<'a>) -> Result<Option<Given>, NeedMore> {
        let mut ahead = *look;
        if ahead.take(b'\\')? && !matches!(ahead.peek()?, Some(b'"' | b'\'')) {
            return Ok(None);
        }
        let was_quoted = matches!(ahead.peek()?, Some(b'"' | b'\'' | b'`'));
        if was_quoted {
            ahead.advance(1);
            ahead.take(b']')?;
        }
        let blanks = ahead.blanks(4)?;
        let given = match ahead.peek()? {
            Some(b'=') => {
                ahead.advance(1);
                match ahead.peek()? {
                    Some(b'=' | b'~') => return Ok(None),
                    Some(b'>') => ahead.advance(1),
                    _ => {}
                }
                if blanks + ahead.blanks(4)? == 0 && !was_quoted { Given::Tight } else { Given::Loose }
            }
            Some(b':') => {
                ahead.advance(1);
                if ahead.take(b':')? {
                    return Ok(None);
                }
                ahead.take(b'=')?;
                ahead.blanks(4)?;
                Given::Loose
            }
            Some(b'>') if self.follows(b'<') => {
                ahead.advance(1);
                Given::Tight
            }
            Some(next) if self.name.starts_with(b"-") && blanks > 0 && next != b'-' => Given::Flag,
            _ => return Ok(None),
        };
        *look = ahead;
        Ok(Some(given))
    }

    fn follows(&self, byte: u8) -> bool {
        self.look.before(self.start).last() == Some(&byte)
    }

    /// The way of the environment.
    fn is_in_capitals(&self) -> bool {
        self.name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
    }
}

fn quoted(mut look: Look<'_>, quote: u8, strength: Strength) -> Result<Option<Reached>, NeedMore> {
    let start = look.position();
    take_quoted(&mut look, quote, JUDGED)?;
    if !is_plausible(look.taken(start), strength, Form::Quoted) {
        return Ok(None);
    }
    take_quoted(&mut look, quote, usize::MAX)?;
    Ok(Some(look.span(start, Class::Quoted(quote))))
}

fn bare(mut look: Look<'_>, class: Class, strength: Strength, form: Form) -> Result<Option<Reached>, NeedMore> {
    let start = look.position();
    if !is_plausible(look.run(class, JUDGED)?, strength, form) {
        return Ok(None);
    }
    look.run(class, usize::MAX)?;
    Ok(Some(look.span(start, class)))
}

/// Takes about `most` bytes up to the closing quote; an escaped one does not close.
fn take_quoted(look: &mut Look<'_>, quote: u8, most: usize) -> Result<(), NeedMore> {
    let start = look.position();
    while look.position() - start < most {
        match look.peek()? {
            Some(b'\\') => {
                look.advance(1);
                if look.peek()?.is_some_and(|escaped| escaped != b'\n') {
                    look.advance(1);
                }
            }
            Some(byte) if Class::Quoted(quote).contains(byte) => look.advance(1),
            _ => break,
        }
    }
    Ok(())
}

/// How a name was given its value.
enum Given {
    /// `name=value`.
    Tight,
    /// `name = value`, `name: value`.
    Loose,
    /// `--name value`.
    Flag,
}

/// The header whose values are credentials.
pub(super) const AUTHORIZATION: &str = "authorization";

/// The credentials of an `Authorization` header, without its scheme.
pub(super) fn find_authorization(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    look.advance(AUTHORIZATION.len());
    if !header_value(&mut look)? {
        return Ok(None);
    }
    let start = look.position();
    let scheme = look.run(Class::Url64, 32)?;
    let is_scheme = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes())) && look.blanks(4)? > 0;
    if is_scheme {
        let start = look.position();
        let credentials = look.run(Class::Word, usize::MAX)?;
        return Ok((credentials.len() >= 4 && !is_placeholder(credentials)).then(|| look.span(start, Class::Word)));
    }
    look.run(Class::Word, JUDGED)?;
    if !is_plausible(look.taken(start), Strength::Made, Form::Quoted) {
        return Ok(None);
    }
    look.run(Class::Word, usize::MAX)?;
    Ok(Some(look.span(start, Class::Word)))
}

const SCHEMES: [&str; 8] = ["basic", "bearer", "digest", "token", "negotiate", "apikey", "api-key", "aws4-hmac-sha256"];

/// How credentials are introduced outside of a header.
pub(super) const BEARER: &str = "bearer ";

/// The token behind the word `Bearer`.
pub(super) fn find_bearer(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    look.advance(BEARER.len());
    let start = look.position();
    let token = look.run(Class::Word, usize::MAX)?;
    let is_made = token.len() >= 16 && token.iter().any(u8::is_ascii_digit) && !is_placeholder(token);
    Ok(is_made.then(|| look.span(start, Class::Word)))
}

/// The header whose values are sessions.
pub(super) const COOKIE: &str = "cookie";

/// The value of a `Cookie` or `Set-Cookie` header.
pub(super) fn find_cookie(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    look.advance(COOKIE.len());
    if !header_value(&mut look)? {
        return Ok(None);
    }
    let start = look.position();
    let beginning = look.run(Class::Line, JUDGED)?;
    if !beginning.contains(&b'=') || is_placeholder(beginning) {
        return Ok(None);
    }
    look.run(Class::Line, usize::MAX)?;
    Ok(Some(look.span(start, Class::Line)))
}

/// What stands before the host of a URL.
pub(super) const SCHEME_END: &str = "://";

/// User and password in a URL.
pub(super) fn find_userinfo(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    look.advance(SCHEME_END.len());
    let start = look.position();
    let userinfo = look.run(Class::UserInfo, 1024)?;
    if look.peek()? != Some(b'@') || userinfo.starts_with(MARKER_START) {
        return Ok(None);
    }
    // A name alone (`ssh://git@host`) is an address; a long one is a token.
    let has_password = userinfo.iter().position(|byte| *byte == b':').is_some_and(|colon| colon + 1 < userinfo.len());
    Ok((has_password || userinfo.len() >= 20).then(|| Reached::closed(start, look.position())))
}

/// Moves behind `: `, `": "` or `=`; false if no value follows.
fn header_value(look: &mut Look<'_>) -> Result<bool, NeedMore> {
    look.take(b'\\')?;
    if matches!(look.peek()?, Some(b'"' | b'\'')) {
        look.advance(1);
    }
    look.blanks(4)?;
    if !look.take(b':')? {
        return Ok(false);
    }
    look.blanks(4)?;
    look.take(b'\\')?;
    if matches!(look.peek()?, Some(b'"' | b'\'')) {
        look.advance(1);
    }
    Ok(true)
}

/// How the mark of a secret that is already gone begins.
pub(super) const MARKER_START: &[u8] = b"[redacted:";

/// Whether something else will be put in this place, or already was.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let first = value.first().copied().unwrap_or(b'$');
    matches!(first, b'$' | b'<' | b'{' | b'%')
        || value.starts_with(MARKER_START)
        || value.iter().all(|byte| *byte == first)
        || value.starts_with(b"...")
}
