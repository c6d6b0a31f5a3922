//! Secrets whose values are known, in every form they are likely to be written in.

use std::fmt::Write as _;

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::key::{Mark, RedactionKey};
use super::look::{Class, Look, NeedMore, Reached};
use super::name;

/// What is known to be secret, and what else shall count as such.
#[derive(Clone, Default)]
pub struct Secrets {
    pub(super) known: Vec<Vec<u8>>,
    pub(super) custom: Vec<String>,
}

/// Shorter values would hide ordinary words.
const LEAST_LEN: usize = 8;

/// Where every shell keeps the directory it is in, under names that elsewhere stand for passwords.
const PLACES: [&str; 2] = ["PWD", "OLDPWD"];

impl Secrets {
    /// A secret by its value, without the white space around it. One of less than 8 bytes would hide
    /// too much and is left out.
    pub fn add(&mut self, value: impl AsRef<[u8]>) {
        let value = value.as_ref().trim_ascii();
        if value.len() >= LEAST_LEN {
            self.known.push(value.to_vec());
        }
    }

    /// The values of those variables whose names tell that they are secret, and of those in `registered`.
    pub fn add_environment<N: AsRef<str>, V: AsRef<str>>(
        &mut self,
        variables: impl IntoIterator<Item = (N, V)>,
        registered: &[String],
    ) {
        for (name, value) in variables {
            let name = name.as_ref();
            let tells = !PLACES.contains(&name) && name::strength(name.as_bytes()).is_some();
            if tells || registered.iter().any(|registered| registered == name) {
                self.add(value.as_ref());
            }
        }
    }

    /// A regular expression of the operator. It is matched line by line.
    pub fn add_pattern(&mut self, pattern: impl Into<String>) {
        self.custom.push(pattern.into());
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("known", &self.known.len()).field("custom", &self.custom).finish()
    }
}

/// One way in which a known secret is written.
pub(super) struct Form {
    pattern: Vec<u8>,
    spelling: Spelling,
    /// Of the secret itself, so that it looks the same in every form.
    pub(super) mark: Mark,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Exact,
    /// Hexadecimal digits in either case.
    AnyCase,
    /// Base64, where one more character holds the last bits.
    OpenEnd,
}

impl Form {
    /// Enough of the pattern's beginning to go and look.
    pub(super) fn anchor(&self) -> &[u8] {
        &self.pattern[..self.pattern.len().min(12)]
    }

    /// Whether the secret stands at `look`.
    pub(super) fn find(&self, mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
        let start = look.position();
        for expected in &self.pattern {
            let Some(byte) = look.peek()? else { return Ok(None) };
            let is_same = match self.spelling {
                Spelling::AnyCase => byte.eq_ignore_ascii_case(expected),
                Spelling::Exact | Spelling::OpenEnd => byte == *expected,
            };
            if !is_same {
                return Ok(None);
            }
            look.advance(1);
        }
        if self.spelling == Spelling::OpenEnd {
            look.run(Class::Base64, 1)?;
            while look.take(b'=')? {}
        }
        Ok(Some(Reached::closed(start, look.position())))
    }
}

/// All forms of all secrets.
pub(super) fn forms(secrets: &[Vec<u8>], key: &RedactionKey) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for piece in secrets.iter().flat_map(|secret| pieces(secret)) {
        let mark = key.mark(piece);
        for (pattern, spelling) in spellings(piece) {
            if forms.iter().all(|known| known.pattern != pattern) {
                forms.push(Form { pattern, spelling, mark });
            }
        }
    }
    forms
}

/// The most that is looked for as one: every form of it must fit into what a stream keeps back.
const PIECE: usize = 2 << 10;
/// Lines of a secret that are too short to be looked for on their own.
const LEAST_LINE: usize = 16;

/// A secret, cut where it is too long, and the lines of one that has several: they may be shown apart.
fn pieces(secret: &[u8]) -> impl Iterator<Item = &[u8]> {
    let has_lines = secret.contains(&b'\n');
    let lines = secret.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(move |line| has_lines && line.len() >= LEAST_LINE).flat_map(|line| line.chunks(PIECE));
    secret.chunks(PIECE).chain(lines).filter(|piece| piece.len() >= LEAST_LEN)
}

fn spellings(secret: &[u8]) -> Vec<(Vec<u8>, Spelling)> {
    let mut spellings = vec![
        (secret.to_vec(), Spelling::Exact),
        (r1_event::id::to_hex(secret).into_bytes(), Spelling::AnyCase),
        (percent_encoded(secret, false), Spelling::AnyCase),
        (percent_encoded(secret, true), Spelling::AnyCase),
    ];
    if let Some(escaped) = json_escaped(secret) {
        spellings.push((escaped, Spelling::Exact));
    }
    for shift in 0..3 {
        spellings.push((base64_inside(secret, shift, &STANDARD_NO_PAD), Spelling::OpenEnd));
        spellings.push((base64_inside(secret, shift, &URL_SAFE_NO_PAD), Spelling::OpenEnd));
    }
    // The plain form has no other case, but stands first among equals.
    spellings.retain(|(pattern, _)| pattern.len() >= LEAST_LEN);
    spellings
}

/// The characters that `secret` has in the base64 of something that has `shift` bytes before it.
fn base64_inside(secret: &[u8], shift: usize, engine: &impl base64::Engine) -> Vec<u8> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(secret);
    let whole_characters = bytes.len() * 8 / 6;
    let encoded = engine.encode(&bytes).into_bytes();
    encoded.get((shift * 8).div_ceil(6)..whole_characters).unwrap_or_default().to_vec()
}

fn percent_encoded(secret: &[u8], is_form: bool) -> Vec<u8> {
    let mut out = String::with_capacity(secret.len());
    for byte in secret {
        match byte {
            b' ' if is_form => out.push('+'),
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(*byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out.into_bytes()
}

/// As it stands inside a JSON string.
fn json_escaped(secret: &[u8]) -> Option<Vec<u8>> {
    let quoted = serde_json::to_string(std::str::from_utf8(secret).ok()?).ok()?;
    Some(quoted.strip_prefix('"')?.strip_suffix('"')?.as_bytes().to_vec())
}
