//! A piece of a diff, and where it fits.

use std::ops::Range;

/// What a line of a hunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// It is there before and after.
    Context,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

impl Tag {
    /// The character in front of the line.
    #[must_use]
    pub const fn sign(self) -> u8 {
        match self {
            Self::Context => b' ',
            Self::Removed => b'-',
            Self::Added => b'+',
        }
    }
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine {
    /// What happens to it.
    pub tag: Tag,
    /// The line with its end; without one only at the end of a file that has none.
    pub text: Vec<u8>,
}

/// Lines that change together, with what is around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Lines of the file before it, from 0.
    pub old: Range<usize>,
    /// Lines of the file after it, from 0.
    pub new: Range<usize>,
    /// What it says.
    pub lines: Vec<HunkLine>,
}

impl Hunk {
    /// The lines that a file must have for the hunk to fit.
    pub fn expected(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().filter(|line| line.tag != Tag::Added).map(|line| line.text.as_slice())
    }

    /// Every place in a file where all of the hunk's context and removed lines stand.
    #[must_use]
    pub fn places(&self, file: &[&[u8]]) -> Vec<usize> {
        let expected: Vec<_> = self.expected().collect();
        if expected.is_empty() {
            // A hunk that expects nothing fits an empty file, and says nothing about any other.
            return if file.is_empty() { vec![0] } else { Vec::new() };
        }
        file.windows(expected.len()).enumerate().filter(|(_, window)| *window == expected).map(|(at, _)| at).collect()
    }

    /// The lines instead of the expected ones.
    pub fn replacement(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().filter(|line| line.tag != Tag::Removed).map(|line| line.text.as_slice())
    }
}

/// Puts hunks into a file, each in the one place where it fits; `None` if one of them has no such place or
/// they are no longer in order.
#[must_use]
pub(super) fn put(file: &[&[u8]], hunks: &[Hunk]) -> Option<Vec<u8>> {
    let mut result = Vec::new();
    let mut done = 0;
    for hunk in hunks {
        let &[at] = hunk.places(file).as_slice() else { return None };
        result.extend(file.get(done..at)?.concat());
        result.extend(hunk.replacement().collect::<Vec<_>>().concat());
        done = at + hunk.expected().count();
    }
    result.extend(file[done..].concat());
    // A line without an end inside of a file would run into the next one.
    let torn = hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| !line.text.ends_with(b"\n"));
    if torn && !ends_fit(file, hunks) { None } else { Some(result) }
}

/// Whether a hunk with a line that has no end goes to the end of the file.
fn ends_fit(file: &[&[u8]], hunks: &[Hunk]) -> bool {
    hunks.iter().all(|hunk| {
        let torn = hunk.lines.iter().any(|line| !line.text.ends_with(b"\n"));
        !torn || hunk.places(file).iter().all(|at| at + hunk.expected().count() == file.len())
    })
}
