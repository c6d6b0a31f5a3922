//! Logs as files.

use std::io::{self, Write};

use r1_event::exchange::{Encoder, Format, Item};

use crate::source::{Log, Progress, SourceError};

/// Writes a log in an exchange format: every event, then what is kept beside it. Blocks.
pub fn export(log: &Log, encoder: &mut Encoder, out: &mut dyn Write, progress: &Progress) -> Result<(), ExportError> {
    let mut buffer = Vec::new();
    let mut flush = |buffer: &mut Vec<u8>| {
        let written = out.write_all(buffer);
        buffer.clear();
        written.map_err(ExportError::Output)
    };
    for page in log.pages() {
        let page = page?;
        progress.add(page.len());
        for record in page {
            encoder.item(&Item::Event(record), &mut buffer);
        }
        flush(&mut buffer)?;
    }
    for record in log.side_records() {
        encoder.item(&Item::Side(record.clone()), &mut buffer);
    }
    flush(&mut buffer)
}

/// Writes what closes the file.
pub fn finish(encoder: Encoder, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut buffer = Vec::new();
    encoder.finish(&mut buffer);
    out.write_all(&buffer).and_then(|()| out.flush()).map_err(ExportError::Output)
}

/// The file name that an export of a run gets when nobody says otherwise.
#[must_use]
pub fn file_name(run_id: &str, format: Format) -> String {
    format!("{}.{format}", safe_name(run_id))
}

/// A run's id as part of a file name: `namespace/ULID` must not become a path.
pub(crate) fn safe_name(run_id: &str) -> String {
    run_id.chars().map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect()
}

/// A log was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The output cannot be written.
    #[error("cannot write the output")]
    Output(#[source] io::Error),
}
