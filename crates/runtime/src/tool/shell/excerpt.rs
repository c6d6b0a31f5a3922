//! What a model receives of a long output.

use super::super::output::{encoded, fitting};

/// How many bytes are kept from each end.
const KEPT: usize = 24 << 10;
/// How long each end may be as JSON.
const ROOM: usize = 30 << 10;

/// The beginning and the end of what passes by.
#[derive(Debug, Default)]
pub(super) struct Excerpt {
    head: Vec<u8>,
    tail: Vec<u8>,
    length: u64,
}

impl Excerpt {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Twice as much as needed, so that not every push moves everything.
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    /// The text. If something is left out, a line in its middle says so and where to find it.
    pub(super) fn text(&self) -> String {
        let skipped_by_tail = self.length - (self.head.len() + self.tail.len()) as u64;
        if skipped_by_tail == 0 {
            let whole = String::from_utf8_lossy(&[&*self.head, &*self.tail].concat()).into_owned();
            if whole.len() <= 2 * KEPT && encoded(&whole) <= 2 * ROOM {
                return whole;
            }
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        let head = fitting(&head, ROOM);
        let tail = last_fitting(&tail, KEPT, ROOM);
        format!(
            "{head}\n[… of {} bytes only the beginning and the end are shown; the whole output is kept as an artifact …]\n{tail}",
            self.length
        )
    }
}

/// The text up to the end that is at most `bytes` long and fits into `room` bytes of JSON.
fn last_fitting(text: &str, bytes: usize, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += encoded(c.encode_utf8(&mut [0; 4]));
        if used > room || text.len() - at > bytes {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::MAX_OUTPUT;

    #[test]
    fn a_short_output_is_shown_whole() {
        let mut excerpt = Excerpt::default();
        for _ in 0..1000 {
            excerpt.push(b"a line of text\n");
        }
        assert_eq!(excerpt.text(), "a line of text\n".repeat(1000));
    }

    #[test]
    fn a_long_output_is_shown_from_both_ends_within_the_limit() {
        for line in ["a line of text\n", "\u{0}\u{1}\"", "é🦀\n"] {
            let mut excerpt = Excerpt::default();
            excerpt.push(b"first");
            for _ in 0..50_000 {
                excerpt.push(line.as_bytes());
            }
            excerpt.push(b"last");
            let text = excerpt.text();
            assert!(text.starts_with("first") && text.ends_with("last"));
            assert!(text.contains(&format!("of {} bytes", 9 + 50_000 * line.len())));
            assert!(serde_json::to_string(&text).unwrap().len() < MAX_OUTPUT);
        }
    }
}
