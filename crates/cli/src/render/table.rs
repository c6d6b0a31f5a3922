//! Rows with columns that stand below each other.

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::text::{cut, padded};
use crate::output::DIM;

/// Between two columns.
const GAP: &str = "  ";

/// The last column has at least so much room.
const LEAST: usize = 8;

/// Where a column's texts begin or end below each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text, and how it looks.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// The text must be safe to print.
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Self { text: text.into(), style }
    }
}

/// Rows of `N` cells each.
#[derive(Clone, Debug)]
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[Cell; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) const fn new(columns: [(&'static str, Align); N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: [Cell; N]) {
        self.rows.push(row);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The names of the columns, then a line for each row. Columns are as wide as they must be; if there are too few
    /// for all of it, the last one is cut.
    pub(crate) fn lines(&self, width: Option<usize>) -> Vec<String> {
        let head = self.columns.map(|(name, _)| Cell::new(DIM, name));
        let rows = || std::iter::once(&head).chain(&self.rows);
        let widest = |column: usize| rows().map(|row| row[column].text.width()).max().unwrap_or(0);
        let widths: Vec<_> = (0..N).map(widest).collect();
        let taken: usize = widths.iter().take(N - 1).map(|width| width + GAP.len()).sum();
        let room = width.map(|width| width.saturating_sub(taken).max(LEAST));
        rows().map(|row| self.line(row, &widths, room)).collect()
    }

    fn line(&self, row: &[Cell; N], widths: &[usize], room: Option<usize>) -> String {
        let mut line = String::new();
        for (column, (Cell { text, style }, width)) in row.iter().zip(widths).enumerate() {
            let is_last = column + 1 == N;
            let shown = match (self.columns[column].1, is_last) {
                (Align::Right, _) => format!("{}{text}", " ".repeat(width.saturating_sub(text.width()))),
                (Align::Left, false) => padded(text, *width),
                (Align::Left, true) => room.map_or_else(|| text.clone(), |room| cut(text, room)),
            };
            if column > 0 {
                line.push_str(GAP);
            }
            line.push_str(&format!("{style}{shown}{style:#}"));
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be_and_the_last_one_is_cut() {
        let plain = Style::new();
        let mut table = Table::new([("name", Align::Left), ("n", Align::Right), ("what", Align::Left)]);
        table.push(["漢字", "7", "short"].map(|text| Cell::new(plain, text)));
        table.push(["a long name", "1234", "something that has no room here"].map(|text| Cell::new(plain, text)));
        let shown = |width| {
            let lines: Vec<String> = table.lines(width);
            lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect::<Vec<_>>()
        };
        let narrow = ["name            n  what", "漢字            7  short", "a long name  1234  something th…"];
        assert_eq!(shown(Some(32)), narrow);
        assert!(shown(None)[2].ends_with("no room here"));
    }
}
