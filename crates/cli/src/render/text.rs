//! Text from logs, made safe to print: a log may hold anything, also bytes that drive a terminal.

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

/// The text in one line of at most `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.chars().count() <= max {
        return line;
    }
    let mut cut: String = line.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// `1 event`, `2 events`.
pub(crate) fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_log_can_drive_the_terminal() {
        assert_eq!(visible("a\x1b[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
        assert_eq!(one_line("two\n lines\tof text", 9), "two line…");
    }
}
