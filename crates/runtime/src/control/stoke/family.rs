//! A run and the runs that came of it.

use std::collections::{HashSet, VecDeque};

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, SelectAll};
use r1_event::projection::typed_name;
use r1_event::{Kind, Payload, Record, RunId, Seq};
use r1_protocol::data::{EventData as _, RunChildStarted};
use r1_store::{PageLimit, Pages, SharedStore, StoreError};

use crate::agent::command::{Command, Refusal, Resolution};
use crate::control::caller::Caller;
use crate::control::command::{Answer, CommandError, command};
use crate::engine::Engine;
use crate::history::load;

/// A child run that an event tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) run: RunId,
    /// The call that started it.
    pub(super) call: Option<String>,
}

impl Child {
    /// The child run that begins with this event.
    pub(super) fn of(record: &Record) -> Option<Self> {
        let payload = record.payload.as_ref().filter(|payload| typed_name(payload) == Some(RunChildStarted::TYPE))?;
        let Ok(Payload::Typed(typed)) = Payload::decode(Kind::Typed, payload) else { return None };
        let started = RunChildStarted::read(&typed)?;
        Some(Self { run: started.child_run_id.parse().ok()?, call: started.tool_call_id })
    }
}

type Events = BoxStream<'static, (RunId, Result<Record, StoreError>)>;

/// The events of a run and of all that come of it, as they come.
pub struct Family {
    store: SharedStore,
    run: Events,
    children: SelectAll<Events>,
    known: HashSet<RunId>,
}

impl Family {
    /// From the run's first event on.
    #[must_use]
    pub fn of(store: SharedStore, run: RunId) -> Self {
        let events = events(store.clone(), run.clone());
        Self { store, run: events, children: SelectAll::new(), known: HashSet::from([run]) }
    }

    /// The next event, and whose it is; `None` when the run itself is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<(RunId, Result<Record, StoreError>)> {
        let (run, record) = tokio::select! {
            event = self.run.next() => event?,
            Some(event) = self.children.next() => event,
        };
        let child = record.as_ref().ok().and_then(Child::of);
        if let Some(Child { run, .. }) = child.filter(|child| self.known.insert(child.run.clone())) {
            self.children.push(events(self.store.clone(), run));
        }
        Some((run, record))
    }
}

fn events(store: SharedStore, run: RunId) -> Events {
    r1_store::tail(store, run.clone(), Seq::FIRST).map(move |record| (run.clone(), record)).boxed()
}

/// A run and all that came of it so far, itself first.
pub async fn family(store: &SharedStore, run: &RunId) -> Result<Vec<RunId>, StoreError> {
    let mut family = vec![run.clone()];
    let mut unread = VecDeque::from([run.clone()]);
    while let Some(run) = unread.pop_front() {
        let mut pages = Pages::new(&**store, &run, Seq::FIRST, PageLimit::default());
        while let Some(page) = pages.next().await? {
            for Child { run, .. } in page.iter().filter_map(Child::of) {
                if !family.contains(&run) {
                    family.push(run.clone());
                    unread.push_back(run);
                }
            }
        }
    }
    Ok(family)
}

/// The requests for approval that are open in a run or in one that came of it, by their logs.
pub async fn open_approvals(store: &SharedStore, run: &RunId) -> Result<Vec<String>, CommandError> {
    let mut open = Vec::new();
    for run in family(store, run).await? {
        if store.head(&run).await?.is_some() {
            let state = load(store, &run).await?;
            open.extend(state.approvals().map(|(approval_id, _)| approval_id.to_owned()));
        }
    }
    Ok(open)
}

/// Gives an answer to whose request it is: the run, or one that came of it.
pub async fn resolve(
    engine: &Engine,
    run: &RunId,
    resolution: Resolution,
    caller: &Caller,
) -> Result<Answer, CommandError> {
    for run in family(engine.store(), run).await? {
        if engine.store().head(&run).await?.is_none() {
            continue;
        }
        match command(engine, &run, Command::Resolve(resolution.clone()), caller).await {
            // It is none of this run's.
            Err(CommandError::Refused(Refusal::UnknownApproval { .. } | Refusal::Ended)) => {}
            came => return came,
        }
    }
    Err(CommandError::Refused(Refusal::UnknownApproval { approval_id: resolution.approval_id }))
}
