//! Strings as RFC 8785 spells them.

/// The escapes of control characters.
const CONTROLS: [&str; 0x20] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t", "\\n",
    "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015",
    "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];

/// Appends `text` in quotes.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.push(b'"');
    loop {
        let (plain, behind) = rest.split_at(plain_len(rest));
        out.extend_from_slice(plain);
        let Some((special, behind)) = behind.split_first() else { break };
        out.extend_from_slice(escape(*special).as_bytes());
        rest = behind;
    }
    out.push(b'"');
}

/// How many bytes of a string come before the first that needs an escape: a control character, `"` or `\`.
#[must_use]
pub fn plain_len(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let special = special_in(u64::from_le_bytes(*word));
        if special != 0 {
            return 8 * index + special.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len() + tail.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

/// The escape of a byte that [`plain_len`] stops at.
#[must_use]
pub fn escape(byte: u8) -> &'static str {
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        control => CONTROLS.get(usize::from(control)).copied().unwrap_or_default(),
    }
}

/// Eight bytes at once: the lowest bit that is set lies in the first byte that needs an escape.
///
/// What is subtracted from a byte borrows from its neighbour if the byte is smaller: that sets its top bit,
/// and only bytes behind it can be mistaken.
const fn special_in(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let control = word.wrapping_sub(EACH * 0x20) & !word;
    let quote = word ^ (EACH * b'"' as u64);
    let quote = quote.wrapping_sub(EACH) & !quote;
    let backslash = word ^ (EACH * b'\\' as u64);
    let backslash = backslash.wrapping_sub(EACH) & !backslash;
    (control | quote | backslash) & (EACH << 7)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agrees(text: &str) {
        let mut written = Vec::new();
        write_text(&mut written, text);
        assert_eq!(String::from_utf8_lossy(&written), serde_json::to_string(text).unwrap());
    }

    #[test]
    fn every_character_is_spelled_as_serde_json_spells_it_wherever_it_stands() {
        for character in ('\0'..='\u{17f}').chain(['€', '\u{10000}']) {
            (0..18).for_each(|before| agrees(&format!("{}{character}{character}0123456789", "x".repeat(before))));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_spelled_as_serde_json_spells_it(text in "[\\x00-\\x24Z-^\\x7e-\\xff€]{0,60}") {
            agrees(&text);
        }
    }
}
