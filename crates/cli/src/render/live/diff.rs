//! A unified diff in colour.

use super::page::Page;
use crate::output::{BOLD, DIM, GOOD, NAME, REMOVED};
use crate::render::text::count;

/// Lines of a diff as they are printed, beside `taken` columns. Nothing is left out unless `max` says so.
pub(super) fn lines(diff: &str, page: &Page, taken: usize, max: usize) -> Vec<String> {
    let all: Vec<&str> = diff.lines().filter(|line| !is_bookkeeping(line)).collect();
    let mut shown: Vec<String> = all
        .iter()
        .take(max)
        .flat_map(|line| page.fold(line, taken).into_iter().map(|part| coloured(line, &part)))
        .collect();
    if all.len() > max {
        let more = count((all.len() - max) as u64, "more line");
        shown.push(format!("{DIM}… {more}{DIM:#}"));
    }
    shown
}

/// Header lines that say nothing to a reader.
fn is_bookkeeping(line: &str) -> bool {
    line.starts_with("diff --git ") || line.starts_with("index ")
}

fn coloured(line: &str, part: &str) -> String {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => BOLD,
        [b'+', ..] => GOOD,
        [b'-', ..] => REMOVED,
        [b'@', b'@', ..] => NAME,
        [b' ', ..] | [] => return part.to_owned(),
        _ => DIM,
    };
    format!("{style}{part}{style:#}")
}
