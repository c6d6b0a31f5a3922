//! Files as lines.

/// How much of a file is looked at to tell text from other content; git does the same.
const LOOKED_AT: usize = 8000;

/// Whether content is not text: it has a NUL near its beginning.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0)
}

/// The lines, each with its end; the last may have none.
pub(super) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A line without its end.
pub(super) fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// How most lines of a file end.
pub(super) fn line_end(lines: &[&[u8]]) -> &'static [u8] {
    let crlf = lines.iter().filter(|line| line.ends_with(b"\r\n")).count();
    let lf = lines.iter().filter(|line| line.ends_with(b"\n")).count() - crlf;
    if crlf > lf { b"\r\n" } else { b"\n" }
}
