//! Whether the value under a secret's name is one.
//!
//! Code is full of `token: String` and `password = read_line()?`, and an agent that sees marks instead of
//! code cannot work. So the less a name says, and the more a value looks like code, the more it takes.

use super::assignment::is_placeholder;
use super::name::{self, Strength};

/// How the value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In quotes, or a string of its own.
    Quoted,
    /// `NAME=value` in capitals, or behind a flag: nobody writes code like this.
    Setting,
    /// `name=value`: a query, or an argument in code.
    Tight,
    /// `name: value`, `name = value`: YAML, or code.
    Loose,
}

/// Whether `value` is a secret, if its name says so as strongly as `strength`.
pub(super) fn is_plausible(value: &[u8], strength: Strength, form: Form) -> bool {
    if value.len() < 4 || is_placeholder(value) || is_literal(value) {
        return false;
    }
    let traits = Traits::of(value);
    if traits.blank {
        // Sentences about passwords are not passwords; a phrase with digits may be.
        return strength == Strength::Certain && form == Form::Quoted && traits.digit && !value.ends_with(b".");
    }
    match strength {
        Strength::Certain => match form {
            Form::Quoted => name::strength(value).is_none(),
            Form::Setting => true,
            Form::Tight => !is_expression(value),
            Form::Loose => value.len() >= 6 && traits.digit && !is_expression(value),
        },
        Strength::Made => {
            value.len() >= 8
                && traits.letter
                && match form {
                    Form::Quoted => (traits.digit || value.len() >= 20) && !is_path(value),
                    Form::Setting => true,
                    Form::Tight => traits.digit && !is_expression(value),
                    Form::Loose => value.len() >= 12 && traits.digit && !is_expression(value),
                }
        }
        Strength::Weak => {
            form != Form::Loose
                && value.len() >= 20
                && traits.digit
                && traits.lower
                && traits.upper
                && !is_path(value)
                && !is_digest(value)
        }
    }
}

/// Whether this is a digest, a commit or a UUID: hexadecimal digits and the dashes between them, maybe
/// behind the name of the algorithm.
pub(super) fn is_digest(value: &[u8]) -> bool {
    let digits = value.iter().rposition(|byte| *byte == b':').map_or(value, |colon| &value[colon + 1..]);
    digits.len() >= 8 && digits.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

fn is_literal(value: &[u8]) -> bool {
    const LITERALS: [&str; 22] = [
        "true",
        "false",
        "null",
        "none",
        "some",
        "undefined",
        "string",
        "bytes",
        "number",
        "integer",
        "boolean",
        "object",
        "array",
        "optional",
        "required",
        "hidden",
        "example",
        "changeme",
        "password",
        "secret",
        "token",
        "default",
    ];
    LITERALS.iter().any(|literal| value.eq_ignore_ascii_case(literal.as_bytes()))
}

/// A call, a path to a field, a type: what stands behind a name in code.
fn is_expression(value: &[u8]) -> bool {
    let is_identifier = value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':'));
    value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'?'))
        || value.starts_with(b"&")
        || value.windows(2).any(|pair| pair == b"::")
        || (is_identifier && value.contains(&b'.') && !value.iter().any(u8::is_ascii_digit))
        || (is_identifier && name::strength(value).is_some())
}

fn is_path(value: &[u8]) -> bool {
    matches!(value, [b'/' | b'~' | b'.', ..])
        || value.iter().filter(|byte| **byte == b'/').count() > 2
        || value.windows(3).any(|at| at == b"://")
}

struct Traits {
    digit: bool,
    letter: bool,
    lower: bool,
    upper: bool,
    blank: bool,
}

impl Traits {
    fn of(value: &[u8]) -> Self {
        let any = |test: fn(&u8) -> bool| value.iter().any(test);
        let (lower, upper) = (any(u8::is_ascii_lowercase), any(u8::is_ascii_uppercase));
        Self {
            digit: any(u8::is_ascii_digit),
            letter: lower || upper,
            lower,
            upper,
            blank: any(u8::is_ascii_whitespace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_secrets() {
        for value in [
            "String",
            "&str",
            "read_line()",
            "self.password",
            "config::token",
            "None",
            "[redacted:known:00000000]",
            "${TOKEN}",
            "********",
        ] {
            for form in [Form::Tight, Form::Loose] {
                assert!(!is_plausible(value.as_bytes(), Strength::Certain, form), "{value} {form:?}");
                assert!(!is_plausible(value.as_bytes(), Strength::Made, form), "{value} {form:?}");
            }
        }
        assert!(is_plausible(b"hunter2", Strength::Certain, Form::Loose));
        assert!(is_plausible(b"abcd1234", Strength::Made, Form::Quoted));
        assert!(!is_plausible(b"4096", Strength::Made, Form::Setting));
        assert!(!is_plausible(b"users/by-name", Strength::Weak, Form::Quoted));
    }
}
