//! Strings: how RFC 8785 sorts and spells them.

use std::cmp::Ordering;

use r1_protocol::canonical::{escape, plain_len};

/// The order of object keys: that of UTF-16 code units.
pub(crate) fn cmp_utf16(a: &str, b: &str) -> Ordering {
    // It is that of the bytes, but for characters of four bytes: their surrogates come before U+E000.
    let rank = |byte: u8| if matches!(byte, 0xee | 0xef) { byte + 0x10 } else { byte };
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        Some((a, b)) => rank(a).cmp(&rank(b)),
        None => a.len().cmp(&b.len()),
    }
}

/// Appends `text` in quotes.
pub(crate) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain_len(rest.as_bytes()));
        out.push_str(plain);
        let Some(special) = behind.bytes().next() else { break };
        out.push_str(escape(special));
        rest = &behind[1..];
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_rfc_8785_says() {
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
        }
    }

    #[test]
    fn keys_are_ordered_by_utf16() {
        let parts = ["", "a", "b", "a\u{1}", "\u{7f}", "\u{80}", "é", "\u{d7ff}", "\u{e000}", "\u{efff}", "\u{ffff}"];
        let parts = || parts.into_iter().chain(["\u{10000}", "\u{10001}", "\u{10ffff}"]);
        let keys: Vec<String> = parts().flat_map(|a| parts().map(move |b| format!("{a}{b}"))).collect();
        for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
            assert_eq!(cmp_utf16(a, b), a.encode_utf16().cmp(b.encode_utf16()), "{a:?} {b:?}");
        }
    }
}
