//! Tasks as the index keeps them.

use r1_protocol::api::{RunStatus, Task};
use r1_protocol::data::{Object, TaskUpdated};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drawer::{Entry, facet};
use super::run::{LISTED, Opening, RunEntry, STATUS};
use crate::agent::Budget;

/// A task, folded from its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskEntry {
    id: String,
    /// The oldest of its own runs, and what that says of the task.
    first: Option<First>,
    /// What was changed since.
    title: Option<String>,
    priority: Option<String>,
    tags: Option<Object>,
    /// The newest word on what it may use up, and when that was said.
    budget: Option<(i64, Budget)>,
    latest: Option<Latest>,
    pub(super) run_count: u64,
    cost_micros_usd: u64,
    updated_at: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct First {
    created_at: i64,
    title: String,
    kind: String,
    priority: String,
    tags: Object,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Latest {
    created_at: i64,
    stored_id: String,
    served_id: String,
    status: RunStatus,
    is_imported: bool,
}

impl TaskEntry {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Takes the first event of one of its own runs.
    pub(super) fn begin_run(&mut self, entry: &RunEntry, opening: Opening) {
        self.run_count += 1;
        if self.first.as_ref().is_none_or(|first| entry.created_at < first.created_at) {
            self.first = Some(First {
                created_at: entry.created_at,
                title: entry.run.title.clone(),
                kind: entry.run.kind.clone(),
                priority: opening.priority.unwrap_or_else(|| "normal".into()),
                tags: opening.tags.unwrap_or_default(),
            });
        }
        if let Some(budget) = opening.budget {
            self.allow(entry.created_at, budget);
        }
    }

    /// Takes a run as it stands now.
    pub(super) fn count(&mut self, entry: &mut RunEntry) {
        let cost = entry.run.cost_micros_usd;
        self.cost_micros_usd = (self.cost_micros_usd + cost).saturating_sub(entry.counted_cost);
        entry.counted_cost = cost;
        self.updated_at = self.updated_at.max(entry.updated_at);
        let place = |created_at: i64, stored_id: &str| (created_at, stored_id.to_owned());
        let is_newest = self.latest.as_ref().is_none_or(|latest| {
            place(entry.created_at, &entry.stored_id) >= place(latest.created_at, &latest.stored_id)
        });
        if entry.is_own_of_task() && is_newest {
            self.latest = Some(Latest {
                created_at: entry.created_at,
                stored_id: entry.stored_id.clone(),
                served_id: entry.run.id.clone(),
                status: entry.run.status,
                is_imported: entry.is_imported,
            });
        }
    }

    /// Takes a `task.updated`, from whichever log.
    pub(super) fn update(&mut self, at: i64, updated: TaskUpdated) {
        let TaskUpdated { title, priority, budget, tags, .. } = updated;
        self.title = title.or_else(|| self.title.take());
        self.priority = priority.or_else(|| self.priority.take());
        self.tags = tags.or_else(|| self.tags.take());
        if let Some(budget) = budget.and_then(|budget| serde_json::from_value(Value::Object(budget)).ok()) {
            self.allow(at, budget);
        }
    }

    fn allow(&mut self, at: i64, budget: Budget) {
        if self.budget.as_ref().is_none_or(|(known, _)| *known <= at) {
            self.budget = Some((at, budget));
        }
    }

    /// What it is called.
    pub(super) fn title(&self) -> Option<&str> {
        self.title.as_deref().or_else(|| self.first.as_ref().map(|first| first.title.as_str()))
    }

    fn tags(&self) -> Option<&Object> {
        self.tags.as_ref().or_else(|| self.first.as_ref().map(|first| &first.tags))
    }

    /// Its newest run, if another program drives that, so that only its lease tells how it stands.
    pub(super) fn open_elsewhere(&self) -> Option<&str> {
        let latest = self.latest.as_ref().filter(|latest| latest.is_imported && !latest.status.is_final())?;
        Some(&latest.stored_id)
    }

    /// The task as it is served; `None` if no run of its own is known.
    pub(super) fn into_task(self) -> Option<Task> {
        let first = self.first?;
        let latest = self.latest?;
        Some(Task {
            id: self.id,
            title: self.title.unwrap_or(first.title),
            kind: first.kind,
            status: latest.status,
            latest_run_id: latest.served_id,
            run_count: self.run_count,
            priority: self.priority.unwrap_or(first.priority),
            tags: self.tags.unwrap_or(first.tags),
            budget: self.budget.map(|(_, budget)| budget.into()).unwrap_or_default(),
            cost_micros_usd: self.cost_micros_usd,
            created_at: r1_event::UnixNanos(first.created_at).into(),
            updated_at: r1_event::UnixNanos(self.updated_at).into(),
        })
    }
}

impl Entry for TaskEntry {
    const COLLECTION: &'static str = "index.tasks";

    fn rank(&self) -> u64 {
        self.first.as_ref().and_then(|first| u64::try_from(first.created_at).ok()).unwrap_or(0)
    }

    fn facets(&self) -> Vec<(String, String)> {
        let (Some(_), Some(latest)) = (&self.first, &self.latest) else { return Vec::new() };
        let mut facets = vec![facet(LISTED, "true"), facet(STATUS, latest.status.as_str())];
        for (key, value) in self.tags().into_iter().flatten() {
            facets.push(facet(TAG, key));
            if let Some(value) = tag_value(value) {
                facets.push(facet(TAG, &format!("{key}:{value}")));
            }
        }
        facets.sort();
        facets.dedup();
        facets
    }
}

/// The name of the facet that holds `key` and `key:value` of each tag.
pub(super) const TAG: &str = "tag";

/// A tag's value as it is asked for.
fn tag_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
