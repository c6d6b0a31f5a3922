//! Strings: how RFC 8785 sorts and spells them.

use std::cmp::Ordering;

/// The order of object keys: that of UTF-16 code units.
pub(crate) fn cmp_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// Appends `text` in quotes.
pub(crate) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(needs_escape) {
        out.push_str(&rest[..at]);
        push_escape(out, rest.as_bytes()[at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// How many bytes [`write_text`] appends.
pub(crate) fn escaped_len(text: &str) -> usize {
    let extra: usize = text.bytes().filter(|byte| needs_escape(*byte)).map(|byte| escape_len(byte) - 1).sum();
    text.len() + extra + 2
}

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

const fn escape_len(byte: u8) -> usize {
    if short_escape(byte).is_some() { 2 } else { 6 }
}

const fn short_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' => '"',
        b'\\' => '\\',
        0x08 => 'b',
        0x09 => 't',
        0x0a => 'n',
        0x0c => 'f',
        0x0d => 'r',
        _ => return None,
    })
}

fn push_escape(out: &mut String, byte: u8) {
    out.push('\\');
    match short_escape(byte) {
        Some(letter) => out.push(letter),
        None => {
            out.push_str("u00");
            out.push_str(&r1_event::id::to_hex(&[byte]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_rfc_8785_says_and_their_length_is_known_before() {
        for (text, expected) in [
            ("plain €", "\"plain €\""),
            (
                "\u{0}\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}",
                "\"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}\"",
            ),
        ] {
            let mut out = String::new();
            write_text(&mut out, text);
            assert_eq!(out, expected);
            assert_eq!(escaped_len(text), out.len());
        }
    }

    #[test]
    fn keys_are_ordered_by_utf16() {
        assert_eq!(cmp_utf16("\u{10000}", "\u{e000}"), Ordering::Less);
        assert_eq!(cmp_utf16("a", "b"), Ordering::Less);
        assert_eq!(cmp_utf16("a", "a\u{1}"), Ordering::Less);
    }
}
