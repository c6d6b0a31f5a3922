//! Logs as files.

use std::io::{self, Write};

use r1_event::SideRecord;
use r1_event::exchange::{Encoder, Format, Item, Shown};

use super::view::Viewer;
use crate::source::{Log, Progress, SourceError};

/// Writes a log in an exchange format: every event, then what is kept beside it. Formats for people also say what
/// each event is served as. Blocks.
pub fn export(log: &Log, encoder: &mut Encoder, out: &mut dyn Write, progress: &Progress) -> Result<(), ExportError> {
    let mut buffer = Vec::new();
    let mut flush = |buffer: &mut Vec<u8>| {
        let written = out.write_all(buffer);
        buffer.clear();
        written.map_err(ExportError::Output)
    };
    let mut viewer = None;
    for page in log.pages() {
        let page = page?;
        progress.add(page.len());
        for record in page {
            let envelope = encoder.is_for_people().then(|| {
                let viewer = viewer.get_or_insert_with(|| Viewer::new(Some(&record), log.side_records()));
                viewer.envelope(&record)
            });
            let envelope = envelope.flatten();
            let shown = envelope.as_ref().map(|served| Shown { type_name: &served.type_name, data: &served.data });
            encoder.item_shown(&Item::Event(record), shown, &mut buffer);
        }
        flush(&mut buffer)?;
    }
    // What cannot be read ends a file for its readers, so it comes last.
    let (damaged, readable): (Vec<_>, Vec<_>) =
        log.side_records().iter().partition(|record| matches!(record, SideRecord::Damaged(_)));
    for record in readable.into_iter().chain(damaged) {
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
