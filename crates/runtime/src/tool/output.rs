//! Keeping what a model receives within its limit.

use super::MAX_OUTPUT;

/// The longest summary.
const MAX_LINE: usize = 200;

/// How many bytes a text takes as JSON, without the quotes.
pub(super) fn encoded(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        })
        .sum()
}

/// The text from the beginning that fits into `room` bytes of JSON.
pub(super) fn fitting(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += encoded(c.encode_utf8(&mut [0; 4]));
        if used > room {
            return &text[..at];
        }
    }
    text
}

/// A text that grows line by line as long as it fits.
#[derive(Debug)]
pub(super) struct Listing {
    text: String,
    room: usize,
}

impl Listing {
    /// With as much room as a model's output has, and some to spare for a last word.
    pub(super) fn new() -> Self {
        Self { text: String::new(), room: MAX_OUTPUT - 512 }
    }

    /// Adds a line; false if there is no room for it.
    pub(super) fn push(&mut self, line: &str) -> bool {
        let needed = encoded(line) + 2;
        if needed > self.room {
            return false;
        }
        self.room -= needed;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// The text, with a last word for which there is always room.
    pub(super) fn finish(mut self, last: Option<&str>) -> String {
        if let Some(last) = last {
            self.text.push_str(fitting(last, 500));
        }
        self.text
    }
}

/// A summary: one line, not too long.
pub(super) fn line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= MAX_LINE {
        return line.to_owned();
    }
    line.chars().take(MAX_LINE - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_measured_as_it_will_be_written() {
        for text in ["plain", "quo\"te\\", "new\nline\t\r", "\u{0}\u{1f}\u{7f}", "ümläut 🦀"] {
            assert_eq!(encoded(text), serde_json::to_string(text).unwrap().len() - 2, "{text:?}");
        }
        assert_eq!(fitting("ab\"c", 3), "ab");
        assert_eq!(fitting("aé", 2), "a");
    }

    #[test]
    fn a_listing_never_exceeds_the_limit() {
        let mut listing = Listing::new();
        while listing.push("\"\u{1}quoted\"") {}
        let text = listing.finish(Some(&"…".repeat(1000)));
        assert!(serde_json::to_string(&text).unwrap().len() <= MAX_OUTPUT);
    }
}
