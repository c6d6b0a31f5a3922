//! How much room there is.

use std::io::IsTerminal as _;

/// Less is taken for a mistake: nothing could be shown.
const LEAST: usize = 40;

/// The columns of the terminal that standard output is; `None` if it is none, so that lines must not be broken.
pub(crate) fn width() -> Option<usize> {
    let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    size.map(|(terminal_size::Width(columns), _)| usize::from(columns).max(LEAST))
}
