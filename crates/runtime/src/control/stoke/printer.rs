//! Prints runs as lines until they end.

use std::collections::HashSet;

use futures_util::FutureExt as _;
use futures_util::future::select_all;
use r1_event::{RunId, Seq};
use r1_protocol::stoke::process::dropped;
use r1_protocol::stoke::{LineKind, Options};
use r1_store::SharedStore;

use super::family::Child;
use super::{Outlet, OutletError, Pressure, Reader, moment};
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
    /// Nobody reads any more, or what is written to is broken.
    #[error(transparent)]
    Outlet(#[from] OutletError),
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
    /// The run itself comes first.
    streams: Vec<Stream>,
    /// Child runs that were told of and have no event yet.
    unborn: Vec<Child>,
    known: HashSet<RunId>,
}

struct Stream {
    reader: Reader,
    pressure: Pressure,
    /// Whether only questions are printed.
    questions_only: bool,
    after_seq: u64,
    /// Where the log ended when it was opened, if that is far enough.
    until: Option<Seq>,
    ended: bool,
}

impl Printer {
    /// A printer of this run.
    pub async fn open(store: SharedStore, run: RunId, wanted: Wanted) -> Result<Self, EventsError> {
        let known = HashSet::from([run.clone()]);
        let mut printer = Self { store, wanted, streams: Vec::new(), unborn: Vec::new(), known };
        let options = printer.wanted.options.clone();
        let stream = printer.stream(run, options).await?;
        printer.streams.push(Stream { after_seq: printer.wanted.after_seq, questions_only: false, ..stream });
        Ok(printer)
    }

    /// The session that its lines name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.streams.first().map_or("", |stream| stream.reader.session_id())
    }

    /// Prints until the run has no more to come. Child runs that are not over then are left where they are.
    pub async fn print(mut self, outlet: &Outlet) -> Result<(), PrintError> {
        loop {
            let progressed = self.advance(outlet).await?;
            if progressed {
                continue;
            }
            let is_over = self.streams.first().is_none_or(|run| run.ended);
            if is_over || !self.wait().await {
                return Ok(());
            }
        }
    }

    /// Prints what is there; whether there was anything.
    async fn advance(&mut self, outlet: &Outlet) -> Result<bool, PrintError> {
        let mut progressed = false;
        for child in std::mem::take(&mut self.unborn) {
            self.follow(child).await?;
        }
        let mut index = 0;
        while let Some(stream) = self.streams.get_mut(index) {
            let (seen, children) = stream.advance(outlet, self.wanted.pace).await?;
            progressed |= seen;
            for child in children {
                if (self.wanted.children || self.wanted.pace == Pace::Live) && self.known.insert(child.run.clone()) {
                    self.follow(child).await?;
                }
            }
            index += 1;
        }
        Ok(progressed)
    }

    /// Waits until there may be something new; false if the store was closed.
    async fn wait(&mut self) -> bool {
        let running = self.streams.iter_mut().filter(|stream| !stream.ended);
        let waits = running.map(|stream| stream.reader.wait().boxed());
        let births = self.unborn.iter().map(|child| {
            let mut watch = self.store.watch(&child.run);
            async move { watch.grown(Seq::FIRST).await }.boxed()
        });
        let (is_open, ..) = select_all(waits.chain(births)).await;
        is_open
    }

    async fn follow(&mut self, child: Child) -> Result<(), PrintError> {
        let options = Options { parent_call: child.call.clone(), ..self.wanted.options.clone() };
        match self.stream(child.run.clone(), options).await {
            Ok(stream) => self.streams.push(stream),
            // It is about to begin, or kept elsewhere: its parent's log tells of it in any case.
            Err(EventsError::NoRun { .. }) => self.unborn.push(child),
            Err(err) => return Err(err.into()),
        }
        Ok(())
    }

    /// The lines of a child run, from its beginning.
    async fn stream(&self, run: RunId, options: Options) -> Result<Stream, EventsError> {
        let until = match self.wanted.pace {
            Pace::ToTheEnd => self.store.head(&run).await?.map(|head| head.next),
            Pace::Follow | Pace::Live => None,
        };
        let reader = Reader::open(self.store.clone(), run, options).await?;
        let questions_only = !self.wanted.children;
        Ok(Stream { reader, pressure: Pressure::default(), questions_only, after_seq: 0, until, ended: false })
    }
}

impl Stream {
    /// Prints what is there: whether there was anything, and the children that began.
    async fn advance(&mut self, outlet: &Outlet, pace: Pace) -> Result<(bool, Vec<Child>), PrintError> {
        if self.ended {
            return Ok((false, Vec::new()));
        }
        let look = self.reader.look().await?;
        let mut children = Vec::new();
        let mut out = Vec::new();
        let seen = !look.events.is_empty();
        self.ended = look.ended || self.until.is_some_and(|until| self.reader.next() >= until);
        for (record, lines) in look.events {
            children.extend(Child::of(&record));
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
        if self.ended {
            out.extend(self.dropped()?);
        }
        outlet.print(out).await?;
        Ok((seen, children))
    }

    fn dropped(&mut self) -> Result<Option<Vec<u8>>, NoRandomness> {
        let Some(lost) = self.pressure.take() else { return Ok(None) };
        let moment = moment(Some(self.reader.session_id().to_owned()))?;
        Ok(Some(dropped(moment, lost.count, lost.first_seq, lost.last_seq)))
    }
}
