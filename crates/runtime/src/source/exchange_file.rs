//! Runs in a file of an exchange format.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_event::exchange::{Decoder, ExchangeError, ExchangeProblem, Format, Item};
use r1_event::finding::{Finding, Part};
use r1_event::validate::Findings;
use r1_event::{Record, SideRecord};
use tempfile::TempPath;

use super::SourceError;
use crate::control::view;

/// How much is read from the file at once.
const PIECE: usize = 128 << 10;
/// A page ends once it has so many events or so many bytes.
const PAGE_EVENTS: usize = 512;
const PAGE_BYTES: usize = 1 << 20;

/// One run's log in a file.
#[derive(Clone, Debug)]
pub struct FileRun {
    path: PathBuf,
    format: Format,
    /// Where its first item begins.
    offset: u64,
    items: u64,
    run_id: Option<String>,
    side_records: Vec<SideRecord>,
    damage: Option<ExchangeError>,
    rebuilt: bool,
    /// What only the file's own bytes show.
    findings: Findings,
    /// Holds the copy of a pipe's content until nobody needs it.
    _spool: Option<Arc<TempPath>>,
}

/// Finds the runs in a file. Their events are read again when they are needed; only what stands
/// beside the logs is kept.
pub(super) fn runs(path: &Path, format: Format) -> Result<Vec<FileRun>, SourceError> {
    let mut items = Items::open(path, format, 0)?;
    let mut runs: Vec<FileRun> = Vec::new();
    let new_run = |offset| FileRun::new(path, format, offset);
    loop {
        let offset = items.offset();
        let item = match items.next() {
            None => break,
            Some(Ok(item)) => item,
            Some(Err(ReadError::Io(source))) => return Err(SourceError::Io { path: path.to_owned(), source }),
            Some(Err(ReadError::Damaged(damage))) => {
                if runs.is_empty() && damage.problem != ExchangeProblem::CutOff {
                    return Err(SourceError::NotALog { path: path.to_owned(), source: damage });
                }
                if runs.is_empty() {
                    runs.push(new_run(offset));
                }
                if let Some(run) = runs.last_mut() {
                    run.damage = Some(damage);
                }
                break;
            }
        };
        if !runs.last().is_some_and(|run| run.goes_on_with(&item)) {
            runs.push(new_run(offset));
        }
        if let Some(run) = runs.last_mut() {
            run.take(item);
        }
    }
    if runs.is_empty() { Err(SourceError::Empty { path: path.to_owned() }) } else { Ok(runs) }
}

impl FileRun {
    /// The log of a file in which no event can be read, or none is.
    pub(super) fn without_events(path: &Path, format: Format, damage: Option<ExchangeError>) -> Self {
        Self { damage, ..Self::new(path, format, 0) }
    }

    /// A log without items so far.
    fn new(path: &Path, format: Format, offset: u64) -> Self {
        Self {
            path: path.to_owned(),
            format,
            offset,
            items: 0,
            run_id: None,
            side_records: Vec::new(),
            damage: None,
            rebuilt: false,
            findings: Findings::default(),
            _spool: None,
        }
    }

    /// Keeps a spooled copy alive as long as the log in it.
    pub(super) fn held_by(self, spool: Arc<TempPath>) -> Self {
        Self { _spool: Some(spool), ..self }
    }

    pub(super) fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    pub(super) fn side_records(&self) -> &[SideRecord] {
        &self.side_records
    }

    pub(super) const fn is_rebuilt(&self) -> bool {
        self.rebuilt
    }

    pub(super) const fn findings(&self) -> &Findings {
        &self.findings
    }

    pub(super) const fn damage(&self) -> Option<&ExchangeError> {
        self.damage.as_ref()
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = Result<Vec<Record>, SourceError>> {
        let mut items = Some(Items::open(&self.path, self.format, self.offset));
        let mut left = self.items;
        std::iter::from_fn(move || {
            let mut reader = match items.take()? {
                Ok(reader) => reader,
                Err(err) => return Some(Err(err)),
            };
            let (mut page, mut bytes) = (Vec::new(), 0);
            while left > 0 && page.len() < PAGE_EVENTS && bytes < PAGE_BYTES {
                left -= 1;
                match reader.next() {
                    Some(Ok(Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record))) => {
                        bytes += record.size();
                        page.push(record);
                    }
                    Some(Ok(Item::Side(_))) => {}
                    Some(Err(ReadError::Io(source))) => {
                        return Some(Err(SourceError::Io { path: self.path.clone(), source }));
                    }
                    // All these items could be read a moment ago.
                    Some(Err(ReadError::Damaged(_))) | None => {
                        return Some(Err(SourceError::Changed { path: self.path.clone() }));
                    }
                }
            }
            items = Some(Ok(reader));
            (!page.is_empty()).then_some(Ok(page))
        })
    }

    /// Whether an item belongs to this run, and not to the next one in the file. In doubt it does:
    /// an event of another run inside a log is for the check to find.
    fn goes_on_with(&self, item: &Item) -> bool {
        match item {
            Item::Side(_) => true,
            Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record) => {
                let Some(place) = view::place(record) else { return true };
                let other = self.run_id.as_deref().is_some_and(|run| run != place.run_id);
                !(other && (place.seq == 1 || !self.side_records.is_empty()))
            }
        }
    }

    fn take(&mut self, item: Item) {
        self.items += 1;
        self.rebuilt |= matches!(item, Item::Rebuilt(_));
        if let Item::Respelled(record) = &item {
            let message = "the envelope is not as Starling writes it; the hashes are over what it would write";
            let seq = view::place(record).map(|place| place.seq);
            self.findings.push(Finding::new(Part::Notice, "envelope_not_canonical", seq, message));
        }
        match item {
            Item::Side(record) => self.side_records.push(record),
            Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record) => {
                if self.run_id.is_none() {
                    // An event of no run tells nothing of what belongs together.
                    self.run_id = view::place(&record).map(|place| place.run_id).filter(|run| !run.is_empty());
                }
            }
        }
    }
}

/// The items of a file from some offset on.
struct Items {
    file: File,
    piece: Vec<u8>,
    decoder: Decoder,
    start: u64,
    ended: bool,
}

enum ReadError {
    Io(io::Error),
    Damaged(ExchangeError),
}

impl Items {
    fn open(path: &Path, format: Format, offset: u64) -> Result<Self, SourceError> {
        let opened = File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(offset)).map(|_| file));
        let file = opened.map_err(|source| SourceError::Io { path: path.to_owned(), source })?;
        let decoder = if offset == 0 { Decoder::new(format) } else { Decoder::after_an_item(format) };
        Ok(Self { file, piece: vec![0; PIECE], decoder, start: offset, ended: false })
    }

    /// Offset in the file of the next item.
    const fn offset(&self) -> u64 {
        self.start + self.decoder.offset()
    }

    fn next(&mut self) -> Option<Result<Item, ReadError>> {
        loop {
            match self.decoder.next_item() {
                Ok(Some(item)) => return Some(Ok(item)),
                Ok(None) if self.ended => return None,
                Ok(None) => match self.file.read(&mut self.piece) {
                    Ok(0) => {
                        self.ended = true;
                        self.decoder.end();
                    }
                    Ok(read) => self.decoder.push(&self.piece[..read]),
                    Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                    Err(err) => return Some(Err(ReadError::Io(err))),
                },
                Err(damage) => {
                    let offset = self.start + damage.offset;
                    return Some(Err(ReadError::Damaged(ExchangeError { offset, ..damage })));
                }
            }
        }
    }
}
