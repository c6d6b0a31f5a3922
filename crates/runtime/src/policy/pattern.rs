//! Patterns with wildcards.

/// Whether all of `text` matches `pattern`: `?` is one character, `*` any number. With a `separator`,
/// both stop at it and only `**` goes on; `**` and the separator behind it also match nothing.
pub(super) fn matches(pattern: &str, text: &str, separator: Option<char>) -> bool {
    let pattern = pieces(pattern, separator);
    let text: Vec<char> = text.chars().collect();
    // reachable[i]: the pieces so far match the first i characters.
    let mut reachable = vec![false; text.len() + 1];
    reachable[0] = true;
    for piece in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match piece {
                Piece::Char(expected) => at > 0 && reachable[at - 1] && text[at - 1] == expected,
                Piece::One => at > 0 && reachable[at - 1] && Some(text[at - 1]) != separator,
                Piece::Any => reachable[at] || (at > 0 && next[at - 1] && Some(text[at - 1]) != separator),
                Piece::Everything => reachable[at] || (at > 0 && next[at - 1]),
                Piece::Directories => {
                    reachable[at] || (at > 0 && Some(text[at - 1]) == separator && reachable[..at].contains(&true))
                }
            };
        }
        reachable = next;
    }
    reachable[text.len()]
}

#[derive(Clone, Copy)]
enum Piece {
    Char(char),
    One,
    Any,
    Everything,
    /// `**/`: nothing, or anything that ends with the separator.
    Directories,
}

fn pieces(pattern: &str, separator: Option<char>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        pieces.push(match char {
            '?' => Piece::One,
            '*' if separator.is_some() && chars.next_if_eq(&'*').is_some() => {
                if chars.next_if(|next| Some(*next) == separator).is_some() {
                    Piece::Directories
                } else {
                    Piece::Everything
                }
            }
            '*' => Piece::Any,
            char => Piece::Char(char),
        });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stop_at_the_separator() {
        let path = |pattern, text| matches(pattern, text, Some('/'));
        assert!(path("src/*.rs", "src/main.rs"));
        assert!(!path("src/*.rs", "src/a/main.rs"));
        assert!(path("src/**", "src/a/main.rs"));
        assert!(path("**/*.rs", "main.rs") && path("**/*.rs", "a/b/main.rs"));
        assert!(path("**/.env", ".env") && path("**/.env", "a/.env") && !path("**/.env", "a.env"));
        assert!(path("a?c", "abc") && !path("a?c", "a/c"));
        assert!(matches("*.example.com", "a.b.example.com", None) && !matches("*.example.com", "example.com", None));
        assert!(matches("*", "", None) && !matches("", "x", None));
    }
}
