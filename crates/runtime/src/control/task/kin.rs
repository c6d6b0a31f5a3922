//! The runs of one task.

use std::time::Duration;

use r1_event::RunId;
use r1_protocol::api;
use r1_store::{Lease, LeaseError, SharedStore, StoreError};

use crate::agent::Budget;
use crate::index::{Index, IndexError, RunQuery};
use crate::world;

/// How long whoever makes a run may take; then another one may.
const LOCKED: Duration = Duration::from_secs(30);

/// The runs of a task that are its own: no children, and none about another run.
pub(crate) struct Kin {
    /// The newest first.
    runs: Vec<Relative>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Relative {
    pub(crate) run: RunId,
    pub(crate) number: u64,
    pub(crate) is_open: bool,
}

impl Kin {
    pub(crate) async fn of(store: &SharedStore, task_id: &str) -> Result<Self, StoreError> {
        // The newest are enough: what is open is among them, and so is the highest number.
        let query = RunQuery { task_id: Some(task_id.to_owned()), limit: 50, ..RunQuery::default() };
        let found = match Index::new(store.clone()).runs(query).await {
            Ok(found) => found.data,
            Err(IndexError::Store(err)) => return Err(err),
            // No cursor was given.
            Err(IndexError::BadCursor { .. }) => Vec::new(),
        };
        let own = found.into_iter().filter(|run| run.parent_run_id.is_none());
        let relative = |run: api::Run| {
            let is_open = !run.status.is_final();
            Some(Relative { run: run.id.parse().ok()?, number: run.number.unwrap_or(1), is_open })
        };
        Ok(Self { runs: own.filter_map(relative).collect() })
    }

    /// The newest run.
    pub(crate) fn last(&self) -> Option<&Relative> {
        self.runs.first()
    }

    /// The run that is not over.
    pub(crate) fn open(&self) -> Option<&Relative> {
        self.runs.iter().find(|run| run.is_open)
    }

    /// The number that the next run gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.runs.iter().map(|run| run.number).max().unwrap_or(0) + 1
    }
}

/// What a task may use up, over all its runs, and what it has.
pub(crate) struct Standing {
    pub(crate) budget: Budget,
    pub(crate) cost_micros_usd: u64,
}

impl Standing {
    /// `None` if there is no such task.
    pub(crate) async fn of(store: &SharedStore, task_id: &str) -> Result<Option<Self>, StoreError> {
        let task = Index::new(store.clone()).task(task_id).await?;
        Ok(task.map(|task| Self { budget: task.budget.into(), cost_micros_usd: task.cost_micros_usd }))
    }
}

/// Held by whoever makes a further run of a task, so that there is never more than one open.
pub(crate) struct TaskLock {
    store: SharedStore,
    lease: Lease,
}

impl TaskLock {
    /// `None` if someone else makes one right now.
    pub(crate) async fn take(store: &SharedStore, task_id: &str, instance: &str) -> Result<Option<Self>, StoreError> {
        // A lease needs no run: the task's own name serves as well.
        let Ok(name) = task_id.parse::<RunId>() else { return Ok(None) };
        if let Some(lease) = store.lease(&name).await?
            && world::is_dead(&lease.owner)
        {
            // Given back already, or taken by another: either will show below.
            let _ = store.release(&lease).await;
        }
        match store.acquire(&name, &world::lease_owner(instance), LOCKED).await {
            Ok(acquired) => Ok(Some(Self { store: store.clone(), lease: acquired.lease })),
            Err(LeaseError::Held { .. } | LeaseError::Lost { .. }) => Ok(None),
            Err(LeaseError::Store(err)) => Err(err),
        }
    }

    /// Lets others.
    pub(crate) async fn release(self) -> Result<(), StoreError> {
        match self.store.release(&self.lease).await {
            Err(LeaseError::Store(err)) => Err(err),
            Ok(()) | Err(LeaseError::Held { .. } | LeaseError::Lost { .. }) => Ok(()),
        }
    }
}
