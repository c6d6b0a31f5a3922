//! The runs of one task.

use std::time::Duration;

use r1_event::{RunId, Seq, Version};
use r1_protocol::json;
use r1_store::{Lease, LeaseError, PageLimit, RunFilter, SharedStore, StoreError};

use crate::agent::{Budget, RunSpec};
use crate::control::operator::{self, OPERATOR};
use crate::history::load;
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
        let mut runs = Vec::new();
        let mut after = None;
        loop {
            let page = store.list(RunFilter { after, limit: 1000, ..RunFilter::default() }).await?;
            for summary in page.runs.iter().filter(|summary| summary.version == Version::V2) {
                let first = store.read(&summary.run_id, Seq::FIRST, PageLimit::ONE).await?;
                let Some(started) = first.first().and_then(operator::run_started) else { continue };
                let kind = started.run_kind.as_deref().unwrap_or_default();
                if started.task_id.as_deref() != Some(task_id) || started.parent.is_some() || kind == OPERATOR {
                    continue;
                }
                runs.push(Relative {
                    run: summary.run_id.clone(),
                    number: started.number.unwrap_or(1),
                    is_open: summary.head.terminal.is_none(),
                });
            }
            match page.next {
                Some(next) if !page.runs.is_empty() => after = Some(next),
                _ => return Ok(Self { runs }),
            }
        }
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

/// What a task may use up, as its last run and what was said since tell.
pub(super) async fn budget(store: &SharedStore, run: &RunId) -> Result<Budget, StoreError> {
    let mut budget = match load(store, run).await {
        Ok(state) => state.spec.budget.clone(),
        Err(_) => RunSpec::default().budget,
    };
    for about in operator::about(store, run).await? {
        for record in store.read(&about, Seq::FIRST, PageLimit::default()).await? {
            let Ok((_, payload)) = crate::agent::RunState::read(&record) else { continue };
            if let r1_event::Payload::Typed(typed) = &payload
                && typed.r#type == "task.updated"
                && let Some(said) = json::from_raw(&typed.data).get("budget")
                && let Ok(said) = serde_json::from_value(said.clone())
            {
                budget = said;
            }
        }
    }
    Ok(budget)
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
