//! Text from logs, made safe to print: a log may hold anything, also bytes that drive a terminal.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The text with control characters spelled out.
pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let hidden = c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let spelled = if hidden { c.escape_default().to_string() } else { c.to_string() };
            spelled.chars().collect::<Vec<_>>()
        })
        .collect()
}

/// The text in one line of at most `max` columns.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    cut(&visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")), max)
}

/// As much of the text as fits into so many columns.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

/// The text in lines of at most so many columns, broken between words. A longer word has a line of its own.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, and spaces up to so many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// `1 event`, `2 events`.
pub(crate) fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two three four-and-more five", 8), ["one two", "three", "four-and-more", "five"]);
    }

    #[test]
    fn nothing_in_a_log_can_drive_the_terminal() {
        assert_eq!(visible("a\x1b[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
        assert_eq!(one_line("two\n lines\tof text", 9), "two line…");
        assert_eq!(one_line("漢字漢字", 7), "漢字漢…");
    }
}
