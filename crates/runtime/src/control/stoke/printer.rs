//! Prints runs as lines until they end.

use std::collections::HashSet;

use futures_util::future::select_all;
use r1_event::projection::typed_name;
use r1_event::{Kind, Payload, Record, RunId};
use r1_protocol::data::{EventData as _, RunChildStarted};
use r1_protocol::stoke::process::dropped;
use r1_protocol::stoke::{LineKind, Options};
use r1_store::SharedStore;

use super::{Outlet, OutletClosed, Pressure, Reader, moment};
use crate::control::events::EventsError;
use crate::world::NoRandomness;

/// What is printed.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Which lines.
    pub options: Options,
    /// Only lines of events behind this one.
    pub after_seq: u64,
    /// Child runs too, each with a session of its own.
    pub children: bool,
    /// How fast, and how long.
    pub pace: Pace,
}

/// How fast, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// What is there now.
    #[default]
    ToTheEnd,
    /// All, to the run's last event; nothing is left out for a slow reader.
    Follow,
    /// The same, as it happens: for a slow reader pieces of answers are left out, and what child runs ask is
    /// always told.
    Live,
}

/// Runs could not be printed to their end.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// Nobody reads any more.
    #[error(transparent)]
    Closed(#[from] OutletClosed),
    /// The events cannot be read.
    #[error(transparent)]
    Events(#[from] EventsError),
    /// A line of the process could not be named.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// Prints a run, and its child runs where they are wanted.
pub struct Printer {
    store: SharedStore,
    wanted: Wanted,
    streams: Vec<Stream>,
    known: HashSet<RunId>,
}

struct Stream {
    reader: Reader,
    pressure: Pressure,
    /// Whether only questions are printed.
    questions_only: bool,
    after_seq: u64,
}

impl Printer {
    /// A printer of this run.
    pub async fn open(store: SharedStore, run: RunId, wanted: Wanted) -> Result<Self, EventsError> {
        let reader = Reader::open(store.clone(), run.clone(), wanted.options.clone()).await?;
        let stream =
            Stream { reader, pressure: Pressure::default(), questions_only: false, after_seq: wanted.after_seq };
        Ok(Self { store, wanted, streams: vec![stream], known: HashSet::from([run]) })
    }

    /// The session that its lines name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.streams.first().map_or("", |stream| stream.reader.session_id())
    }

    /// Prints until there is no more to come.
    pub async fn print(mut self, outlet: &Outlet) -> Result<(), PrintError> {
        loop {
            let mut progressed = false;
            let mut index = 0;
            while index < self.streams.len() {
                let (seen, ended, children) = self.streams[index].advance(outlet, self.wanted.pace).await?;
                progressed |= seen;
                for (child, call) in children {
                    self.follow(child, call).await?;
                }
                if ended {
                    drop(self.streams.remove(index));
                } else {
                    index += 1;
                }
            }
            if self.streams.is_empty() || !progressed && self.wanted.pace == Pace::ToTheEnd {
                return Ok(());
            }
            if !progressed {
                let waits = self.streams.iter_mut().map(|stream| Box::pin(stream.reader.wait()));
                let (is_open, ..) = select_all(waits).await;
                if !is_open {
                    return Ok(());
                }
            }
        }
    }

    async fn follow(&mut self, child: RunId, call: Option<String>) -> Result<(), PrintError> {
        let is_live = self.wanted.pace == Pace::Live;
        if !(self.wanted.children || is_live) || !self.known.insert(child.clone()) {
            return Ok(());
        }
        let options = Options { parent_call: call, ..self.wanted.options.clone() };
        let reader = match Reader::open(self.store.clone(), child, options).await {
            Ok(reader) => reader,
            // Kept elsewhere, or pruned whole: its parent's log still tells of it.
            Err(EventsError::NoRun { .. }) => return Ok(()),
            Err(err) => return Err(err.into()),
        };
        let questions_only = !self.wanted.children;
        self.streams.push(Stream { reader, pressure: Pressure::default(), questions_only, after_seq: 0 });
        Ok(())
    }
}

impl Stream {
    /// Prints what is there: whether there was anything, whether the run is over, and the children that began.
    async fn advance(
        &mut self,
        outlet: &Outlet,
        pace: Pace,
    ) -> Result<(bool, bool, Vec<(RunId, Option<String>)>), PrintError> {
        let look = self.reader.look().await?;
        let mut children = Vec::new();
        let mut out = Vec::new();
        let seen = !look.events.is_empty();
        for (record, lines) in look.events {
            children.extend(child(&record));
            for line in lines {
                let is_wanted = line.seq > self.after_seq && (!self.questions_only || line.kind == LineKind::Approval);
                let behind = if pace == Pace::Live { look.head.saturating_sub(line.seq) } else { 0 };
                if !is_wanted || !self.pressure.admits(&line, behind) {
                    continue;
                }
                out.extend(self.dropped()?);
                out.push(line.bytes);
            }
        }
        if look.ended {
            out.extend(self.dropped()?);
        }
        outlet.print(out).await?;
        Ok((seen, look.ended, children))
    }

    fn dropped(&mut self) -> Result<Option<Vec<u8>>, NoRandomness> {
        let Some(lost) = self.pressure.take() else { return Ok(None) };
        let moment = moment(Some(self.reader.session_id().to_owned()))?;
        Ok(Some(dropped(moment, lost.count, lost.first_seq, lost.last_seq)))
    }
}

/// The child run that begins with this event, and the call that started it.
fn child(record: &Record) -> Option<(RunId, Option<String>)> {
    let payload = record.payload.as_ref().filter(|payload| typed_name(payload) == Some(RunChildStarted::TYPE))?;
    let Ok(Payload::Typed(typed)) = Payload::decode(Kind::Typed, payload) else { return None };
    let started = RunChildStarted::read(&typed)?;
    Some((started.child_run_id.parse().ok()?, started.tool_call_id))
}
