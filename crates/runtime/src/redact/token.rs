//! Credentials that can be told by their shape alone.

use super::look::{Class, JUDGED, Look, NeedMore, Reached};

/// How one provider's credentials look.
#[derive(Debug)]
pub(super) struct Shape {
    /// How they begin.
    pub(super) prefix: &'static str,
    /// What follows.
    class: Class,
    /// How much of it at least.
    least: usize,
    /// Whether it is only one where a word begins: the prefix also occurs inside of words.
    at_word: bool,
}

/// Provider tokens; names and lengths as their makers document them.
pub(super) const SHAPES: &[Shape] = &[
    // Clouds.
    at_word("AKIA", Class::Capital, 16),
    at_word("ASIA", Class::Capital, 16),
    at_word("ABIA", Class::Capital, 16),
    at_word("ACCA", Class::Capital, 16),
    at_word("AIza", Class::Url64, 35),
    at_word("ya29.", Class::Dotted, 20),
    anywhere("GOCSPX-", Class::Url64, 20),
    anywhere("dop_v1_", Class::Hex, 64),
    anywhere("doo_v1_", Class::Hex, 64),
    anywhere("dor_v1_", Class::Hex, 64),
    at_word("dapi", Class::Hex, 32),
    at_word("hvs.", Class::Url64, 20),
    at_word("hvb.", Class::Url64, 20),
    at_word("hvr.", Class::Url64, 20),
    anywhere("fm2_", Class::Base64, 40),
    anywhere("HRKU-", Class::Url64, 36),
    // Models.
    at_word("sk-", Class::Url64, 20),
    at_word("gsk_", Class::Alphanumeric, 20),
    at_word("xai-", Class::Alphanumeric, 20),
    at_word("hf_", Class::Alphanumeric, 20),
    at_word("r8_", Class::Alphanumeric, 20),
    at_word("pplx-", Class::Alphanumeric, 20),
    at_word("nvapi-", Class::Url64, 20),
    // Forges and registries.
    anywhere("ghp_", Class::Alphanumeric, 30),
    anywhere("gho_", Class::Alphanumeric, 30),
    anywhere("ghu_", Class::Alphanumeric, 30),
    anywhere("ghs_", Class::Alphanumeric, 30),
    anywhere("ghr_", Class::Alphanumeric, 30),
    anywhere("github_pat_", Class::Url64, 22),
    anywhere("glpat-", Class::Dotted, 20),
    anywhere("gldt-", Class::Url64, 20),
    anywhere("glrt-", Class::Dotted, 20),
    anywhere("glptt-", Class::Url64, 20),
    anywhere("ATBB", Class::Alphanumeric, 28),
    anywhere("ATATT3", Class::Base64, 40),
    at_word("npm_", Class::Alphanumeric, 30),
    anywhere("pypi-AgE", Class::Url64, 40),
    at_word("cio", Class::Alphanumeric, 32),
    anywhere("dckr_pat_", Class::Url64, 20),
    anywhere("rubygems_", Class::Hex, 48),
    // Chats, mail, money.
    anywhere("xoxa-", Class::Url64, 10),
    anywhere("xoxb-", Class::Url64, 10),
    anywhere("xoxe-", Class::Url64, 10),
    anywhere("xoxp-", Class::Url64, 10),
    anywhere("xoxr-", Class::Url64, 10),
    anywhere("xoxs-", Class::Url64, 10),
    anywhere("xapp-", Class::Url64, 20),
    anywhere("hooks.slack.com/services/", Class::Base64, 20),
    anywhere("discord.com/api/webhooks/", Class::Base64, 20),
    anywhere("discordapp.com/api/webhooks/", Class::Base64, 20),
    at_word("SG.", Class::Dotted, 60),
    anywhere("sk_live_", Class::Alphanumeric, 16),
    anywhere("sk_test_", Class::Alphanumeric, 16),
    anywhere("rk_live_", Class::Alphanumeric, 16),
    anywhere("rk_test_", Class::Alphanumeric, 16),
    anywhere("whsec_", Class::Base64, 24),
    anywhere("shpat_", Class::Hex, 32),
    anywhere("lin_api_", Class::Alphanumeric, 30),
    anywhere("ntn_", Class::Alphanumeric, 40),
    // Keys in files.
    anywhere("AGE-SECRET-KEY-1", Class::Capital, 40),
];

const fn anywhere(prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape { prefix, class, least, at_word: false }
}

const fn at_word(prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape { prefix, class, least, at_word: true }
}

impl Shape {
    /// Whether it is one wherever it stands.
    pub(super) const fn is_context_free(&self) -> bool {
        !self.at_word
    }

    /// The credential at `look`, if there is one.
    pub(super) fn find(&self, mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
        let start = look.position();
        if !look.literal(self.prefix.as_bytes())? || (self.at_word && !begins_word(look.before(start))) {
            return Ok(None);
        }
        let tail = look.run(self.class, JUDGED)?;
        // Words in plain text have no digits; what a machine draws at this length nearly always has.
        if tail.len() < self.least || !tail.iter().any(u8::is_ascii_digit) {
            return Ok(None);
        }
        look.run(self.class, usize::MAX)?;
        Ok(Some(look.span(start, self.class)))
    }
}

/// How the header of every JSON Web Token begins: base64 of `{"`.
pub(super) const JWT: &str = "eyJ";

/// Headers may name certificates; none is longer.
const LONGEST_JWT_HEADER: usize = 512;

/// A JSON Web Token: three parts (five if encrypted) of base64 with dots between.
pub(super) fn find_jwt(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    let start = look.position();
    if !look.literal(JWT.as_bytes())? || !begins_word(look.before(start)) {
        return Ok(None);
    }
    if look.run(Class::Url64, LONGEST_JWT_HEADER)?.len() < 8 || look.peek()? != Some(b'.') {
        return Ok(None);
    }
    let rest = look.position();
    look.run(Class::Dotted, usize::MAX)?;
    let parts: Vec<_> = look.taken(rest).split(|byte| *byte == b'.').collect();
    let is_jwt = match parts.as_slice() {
        [[], claims, signature, ..] => claims.len() >= 8 && signature.len() >= 8,
        [[], claims] => claims.len() >= 8 && look.is_at_limit(),
        _ => false,
    };
    Ok(is_jwt.then(|| look.span(start, Class::Dotted)))
}

/// How a PEM block begins.
pub(super) const PEM: &str = "-----BEGIN";

/// A private key in PEM.
pub(super) fn find_pem(mut look: Look<'_>) -> Result<Option<Reached>, NeedMore> {
    let start = look.position();
    if !look.literal(PEM.as_bytes())? {
        return Ok(None);
    }
    let label = pem_label(&mut look)?;
    if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
        return Ok(None);
    }
    let body = look.position();
    loop {
        if look.literal(b"-----END")? {
            let end_of_body = look.position();
            pem_label(&mut look)?;
            let is_key = end_of_body - body >= LEAST_PEM_BODY;
            return Ok(is_key.then(|| Reached::closed(start, look.position())));
        }
        match look.peek()? {
            Some(byte) if Class::Pem.contains(byte) => look.advance(1),
            _ => break,
        }
    }
    // No end: cut off, or longer than any usual key.
    Ok((look.position() - body >= LEAST_PEM_BODY).then(|| look.span(start, Class::Pem)))
}

/// Less than this between the two lines is an example or a piece of code.
const LEAST_PEM_BODY: usize = 40;

/// Takes ` RSA PRIVATE KEY-----` and gives the words.
fn pem_label<'a>(look: &mut Look<'a>) -> Result<&'a [u8], NeedMore> {
    let start = look.position();
    while let Some(b'A'..=b'Z' | b'0'..=b'9' | b' ') = look.peek()? {
        look.advance(1);
    }
    let label = look.taken(start);
    Ok(if look.literal(b"-----")? { label } else { &[] })
}

/// Whether a word begins behind `before`. An escaped line end or percent escape is no part of a word.
pub(super) fn begins_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric() && *last != b'_',
        [] => true,
    }
}
