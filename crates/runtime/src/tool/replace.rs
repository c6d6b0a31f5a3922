//! Replacing one text by another in a file.

use serde::Deserialize;

/// What to replace.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Replacement {
    /// The text that is there, exactly.
    pub(super) old_string: String,
    /// The text instead.
    pub(super) new_string: String,
    /// Whether every place is meant.
    #[serde(default)]
    pub(super) replace_all: bool,
}

/// A text cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReplaceError {
    /// Every place fits.
    #[error("`old_string` is empty; give the text to replace, or write the whole file with `file_write`")]
    Empty,
    /// Nothing would change.
    #[error("`old_string` and `new_string` are the same")]
    Same,
    /// There is no such place.
    #[error(
        "`old_string` does not occur in the file (0 matches); it must match exactly, blanks and line breaks included"
    )]
    NotThere,
    /// Only one may be meant.
    #[error("`old_string` occurs {0} times; give more of the text around it, or set `replace_all`")]
    Several(usize),
}

/// The file with the text replaced.
pub(super) fn replace(file: &[u8], replacement: &Replacement) -> Result<Vec<u8>, ReplaceError> {
    let Replacement { old_string, new_string, replace_all } = replacement;
    if old_string.is_empty() {
        return Err(ReplaceError::Empty);
    }
    if old_string == new_string {
        return Err(ReplaceError::Same);
    }
    let (mut old, mut new) = (old_string.clone(), new_string.clone());
    let mut places = find(file, &old);
    // What models see of a file has no carriage returns; what they write of it has none either.
    if places.is_empty() && old.contains('\n') && !old.contains('\r') {
        (old, new) = (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
        places = find(file, &old);
    }
    match places.len() {
        0 => return Err(ReplaceError::NotThere),
        1 => {}
        several if !replace_all => return Err(ReplaceError::Several(several)),
        _ => {}
    }
    if has_only_crlf(file) && !new.contains('\r') {
        new = new.replace('\n', "\r\n");
    }
    let mut result = Vec::with_capacity(file.len() + new.len());
    let mut done = 0;
    for at in places {
        result.extend_from_slice(&file[done..at]);
        result.extend_from_slice(new.as_bytes());
        done = at + old.len();
    }
    result.extend_from_slice(&file[done..]);
    Ok(result)
}

/// Whether every line, of one at least, ends with a carriage return and a line feed.
fn has_only_crlf(file: &[u8]) -> bool {
    let mut ends = file.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).peekable();
    ends.peek().is_some() && ends.all(|line| line.ends_with(b"\r\n"))
}

/// Where `text` begins, without overlaps.
fn find(file: &[u8], text: &str) -> Vec<usize> {
    if let Ok(file) = std::str::from_utf8(file) {
        return file.match_indices(text).map(|(at, _)| at).collect();
    }
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = file[from..].windows(text.len()).position(|window| window == text.as_bytes()) {
        places.push(from + at);
        from += at + text.len();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(file: &str, old: &str, new: &str, all: bool) -> Result<String, ReplaceError> {
        let replacement = Replacement { old_string: old.into(), new_string: new.into(), replace_all: all };
        replace(file.as_bytes(), &replacement).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_text_is_replaced_only_if_it_is_clear_where() {
        assert_eq!(replaced("a.b", ".", "-", false).unwrap(), "a-b");
        assert_eq!(replaced("aXbXc", "X", "Y", false), Err(ReplaceError::Several(2)));
        assert_eq!(replaced("aXbXc", "X", "Y", true).unwrap(), "aYbYc");
        assert_eq!(replaced("abc", "x", "y", true), Err(ReplaceError::NotThere));
        assert_eq!(replaced("abc", "", "y", true), Err(ReplaceError::Empty));
        assert_eq!(replaced("abc", "a", "a", true), Err(ReplaceError::Same));
        assert_eq!(replaced("aaa", "aa", "b", true).unwrap(), "ba");
    }

    #[test]
    fn line_ends_stay_as_the_file_has_them() {
        assert_eq!(replaced("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", false).unwrap(), "x\r\ny\r\nc\r\n");
        assert_eq!(replaced("a\r\nb\r\n", "a", "x\ny", false).unwrap(), "x\r\ny\r\nb\r\n");
        assert_eq!(replaced("a\nb\r\n", "a", "x\ny", false).unwrap(), "x\ny\nb\r\n");
    }
}
