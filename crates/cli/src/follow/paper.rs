//! Standard output for text that comes while a run goes on.

use std::io::{self, Write as _};

use crate::output::{self, Stdout};

/// Takes text until it can be written no longer: from then on it is dropped, and whoever asks is told why.
pub(super) struct Paper {
    out: Stdout,
    lost: Option<io::Error>,
}

impl Paper {
    pub(super) fn new() -> Self {
        Self { out: output::stdout(), lost: None }
    }

    pub(super) fn write(&mut self, text: &str) {
        self.attempt(|out| out.write_all(text.as_bytes()));
    }

    /// Shows what was written.
    pub(super) fn flush(&mut self) {
        self.attempt(io::Write::flush);
    }

    /// Whether nothing can be written any more.
    pub(super) const fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Why nothing could be written any more.
    pub(super) fn into_lost(mut self) -> Option<io::Error> {
        self.flush();
        self.lost.take()
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Stdout) -> io::Result<()>) {
        if self.lost.is_none() {
            self.lost = write(&mut self.out).err();
        }
    }
}
