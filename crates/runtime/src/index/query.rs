//! Asking for objects.

use r1_event::{Digest, RunId};
use r1_protocol::api::{Approval, ApprovalStatus, Artifact, List, Run, RunStatus, Task};
use r1_store::StoreError;

use super::approval::{ApprovalEntry, RUN};
use super::artifact::{ArtifactEntry, CALL, MADE, PATH};
use super::drawer::{facet, load};
use super::find::session_form;
use super::refold::all;
use super::run::{ABOUT, KIND, LISTED, OPEN_ELSEWHERE, PARENT, Prompt, RunEntry, SESSION, SOURCE, STATUS, TASK};
use super::task::{TAG, TaskEntry};
use super::walk::{Page, Walk};
use super::{Index, IndexError};
use crate::artifact::{self, ArtifactError};

/// The longest diff that is served inside of its artifact.
const MAX_DIFF: u64 = 1 << 20;

/// Which runs. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// How they stand.
    pub status: Option<RunStatus>,
    /// What they do; operator and control runs are found by this alone.
    pub kind: Option<String>,
    /// The session, in any form.
    pub session_id: Option<String>,
    /// The run that started them, in any form.
    pub parent_run_id: Option<String>,
    /// The agent that they were recorded from.
    pub source: Option<String>,
    /// The task.
    pub task_id: Option<String>,
    /// What the title, the prompt or the id has somewhere, in capitals or not.
    pub q: Option<String>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// How many; 0 stands for the usual number.
    pub limit: usize,
}

/// Which tasks. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// How they stand.
    pub status: Option<RunStatus>,
    /// A tag's `key`, or its `key:value`.
    pub tag: Option<String>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// How many; 0 stands for the usual number.
    pub limit: usize,
}

/// Which approvals. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalQuery {
    /// What came of them.
    pub status: Option<ApprovalStatus>,
    /// The run that asks, in any form.
    pub run_id: Option<String>,
    /// Its task.
    pub task_id: Option<String>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// How many; 0 stands for the usual number.
    pub limit: usize,
}

/// Which artifacts. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactQuery {
    /// patch, file_snapshot, …
    pub kind: Option<String>,
    /// created, proposed, applied or rejected.
    pub status: Option<String>,
    /// The run that made them, in any form.
    pub run_id: Option<String>,
    /// Its task.
    pub task_id: Option<String>,
    /// The call that made them.
    pub tool_call_id: Option<String>,
    /// The file they are about.
    pub path: Option<String>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// How many; 0 stands for the usual number.
    pub limit: usize,
}

impl Index {
    /// A run by any form of its id.
    pub async fn run(&self, id: &str) -> Result<Option<Run>, StoreError> {
        match self.entry(id).await? {
            Some(entry) => Ok(Some(self.served(entry).await?)),
            None => Ok(None),
        }
    }

    /// Runs, newest first.
    pub async fn runs(&self, query: RunQuery) -> Result<List<Run>, IndexError> {
        let mut facets = Vec::new();
        if let Some(parent) = &query.parent_run_id {
            let Some(parent) = self.find(parent).await? else { return Ok(List::new(Vec::new(), None)) };
            facets.push(facet(PARENT, parent.as_str()));
        } else {
            self.catch_up().await?;
        }
        let session_id = query.session_id.as_deref().map(session_form);
        let named = [(TASK, &query.task_id), (SESSION, &session_id), (SOURCE, &query.source), (KIND, &query.kind)];
        facets.extend(named.into_iter().filter_map(|(name, value)| Some(facet(name, value.as_deref()?))));
        if query.kind.is_none() {
            facets.push(facet(LISTED, "true"));
        }
        let with = |status: &str| [facets.as_slice(), &[facet(STATUS, status)]].concat();
        let selections = match query.status {
            None => vec![facets.clone()],
            Some(status @ (RunStatus::Running | RunStatus::Idle)) => vec![with(status.as_str()), with(OPEN_ELSEWHERE)],
            Some(status) => vec![with(status.as_str())],
        };
        let sought = query.q.as_deref().map(str::to_lowercase);
        let mut walk = Walk::<RunEntry>::new(selections, query.cursor.as_deref())?;
        let mut page = Page::new(query.limit);
        while let Some((place, entry)) = walk.next(&self.store).await? {
            let found = match &sought {
                Some(sought) => self.holds(&entry, sought).await?,
                None => true,
            };
            let run = if found { Some(self.served(entry).await?) } else { None };
            let run = run.filter(|run| query.status.is_none_or(|status| run.status == status));
            if page.take(&walk, place, run) {
                return Ok(page.more::<RunEntry>());
            }
        }
        Ok(page.end())
    }

    /// The runs that a run started as a part of its own work, newest first; at most one large page.
    pub async fn children(&self, run: &str) -> Result<List<Run>, IndexError> {
        self.runs(RunQuery { parent_run_id: Some(run.to_owned()), limit: usize::MAX, ..RunQuery::default() }).await
    }

    /// The operator runs about `run`, the oldest first.
    pub async fn operator_runs_about(&self, run: &RunId) -> Result<Vec<RunId>, StoreError> {
        self.catch_up().await?;
        let mut found = all::<RunEntry>(&self.store, facet(ABOUT, run.as_str())).await?;
        found.sort_by(|a, b| (a.created_at, &a.stored_id).cmp(&(b.created_at, &b.stored_id)));
        Ok(found.into_iter().filter_map(|entry| entry.stored_id.parse().ok()).collect())
    }

    /// A task by its id, with or without `task_` in front.
    pub async fn task(&self, id: &str) -> Result<Option<Task>, StoreError> {
        self.catch_up().await?;
        let bare = id.strip_prefix("task_").unwrap_or(id);
        for form in [id.to_owned(), format!("task_{}", bare.to_ascii_uppercase())] {
            if let Some(entry) = load::<TaskEntry>(&self.store, &form).await? {
                return self.served_task(entry).await;
            }
        }
        Ok(None)
    }

    /// Tasks, newest first.
    pub async fn tasks(&self, query: TaskQuery) -> Result<List<Task>, IndexError> {
        self.catch_up().await?;
        let mut facets: Vec<_> = query.tag.as_deref().map(|tag| facet(TAG, tag)).into_iter().collect();
        facets.extend(query.status.map(|status| facet(STATUS, status.as_str())));
        facets.push(facet(LISTED, "true"));
        let mut walk = Walk::<TaskEntry>::new(vec![facets], query.cursor.as_deref())?;
        let mut page = Page::new(query.limit);
        while let Some((place, entry)) = walk.next(&self.store).await? {
            let task = self.served_task(entry).await?;
            if page.take(&walk, place, task) {
                return Ok(page.more::<TaskEntry>());
            }
        }
        Ok(page.end())
    }

    /// An approval by its id.
    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        self.catch_up().await?;
        Ok(load::<ApprovalEntry>(&self.store, id).await?.map(|entry| entry.approval))
    }

    /// The run that an approval belongs to, as the store names it.
    pub async fn run_of_approval(&self, id: &str) -> Result<Option<RunId>, StoreError> {
        self.catch_up().await?;
        Ok(load::<ApprovalEntry>(&self.store, id).await?.and_then(|entry| entry.stored_run.parse().ok()))
    }

    /// Approvals, newest first.
    pub async fn approvals(&self, query: ApprovalQuery) -> Result<List<Approval>, IndexError> {
        let Some(mut facets) = self.of_run(query.run_id.as_deref(), query.task_id.as_deref()).await? else {
            return Ok(List::new(Vec::new(), None));
        };
        facets.extend(query.status.map(|status| facet(STATUS, status.as_str())));
        let mut walk = Walk::<ApprovalEntry>::new(vec![facets], query.cursor.as_deref())?;
        let mut page = Page::new(query.limit);
        while let Some((place, entry)) = walk.next(&self.store).await? {
            if page.take(&walk, place, Some(entry.approval)) {
                return Ok(page.more::<ApprovalEntry>());
            }
        }
        Ok(page.end())
    }

    /// An artifact by its id, without its diff.
    pub async fn artifact(&self, id: &str) -> Result<Option<Artifact>, StoreError> {
        self.catch_up().await?;
        Ok(load::<ArtifactEntry>(&self.store, id).await?.and_then(ArtifactEntry::into_artifact))
    }

    /// The run that made an artifact, as the store names it.
    pub async fn run_of_artifact(&self, id: &str) -> Result<Option<RunId>, StoreError> {
        self.catch_up().await?;
        let entry: Option<ArtifactEntry> = load(&self.store, id).await?;
        Ok(entry.and_then(|entry| entry.made).map(|made| made.view.run_id))
    }

    /// The patch that an artifact is, unless it is too long for one answer or no text.
    pub async fn diff(&self, artifact: &Artifact) -> Result<Option<String>, ArtifactError> {
        if artifact.kind != "patch" || artifact.size_bytes > MAX_DIFF {
            return Ok(None);
        }
        match digest(artifact) {
            Some(digest) => Ok(String::from_utf8(artifact::read(&self.store, digest).await?.into()).ok()),
            None => Ok(None),
        }
    }

    /// Artifacts, newest first, without their diffs.
    pub async fn artifacts(&self, query: ArtifactQuery) -> Result<List<Artifact>, IndexError> {
        let Some(mut facets) = self.of_run(query.run_id.as_deref(), query.task_id.as_deref()).await? else {
            return Ok(List::new(Vec::new(), None));
        };
        let named = [(CALL, &query.tool_call_id), (PATH, &query.path), (KIND, &query.kind), (STATUS, &query.status)];
        facets.extend(named.into_iter().filter_map(|(name, value)| Some(facet(name, value.as_deref()?))));
        facets.push(facet(MADE, "true"));
        let mut walk = Walk::<ArtifactEntry>::new(vec![facets], query.cursor.as_deref())?;
        let mut page = Page::new(query.limit);
        while let Some((place, entry)) = walk.next(&self.store).await? {
            if page.take(&walk, place, entry.into_artifact()) {
                return Ok(page.more::<ArtifactEntry>());
            }
        }
        Ok(page.end())
    }

    /// The facets of what belongs to a run and a task; `None` if there is no such run.
    async fn of_run(
        &self,
        run_id: Option<&str>,
        task_id: Option<&str>,
    ) -> Result<Option<Vec<(String, String)>>, StoreError> {
        let mut facets = Vec::new();
        match run_id {
            Some(run_id) => match self.find(run_id).await? {
                Some(run) => facets.push(facet(RUN, run.as_str())),
                None => return Ok(None),
            },
            None => self.catch_up().await?,
        }
        facets.extend(task_id.map(|task_id| facet(TASK, task_id)));
        Ok(Some(facets))
    }

    async fn served_task(&self, entry: TaskEntry) -> Result<Option<Task>, StoreError> {
        let elsewhere = entry.open_elsewhere().map(str::to_owned);
        let mut task = entry.into_task();
        if let (Some(task), Some(run)) = (&mut task, elsewhere) {
            task.status = self.status_elsewhere(&run).await?;
        }
        Ok(task)
    }

    /// Whether a run's title, prompt or id has the text that is sought.
    async fn holds(&self, entry: &RunEntry, sought: &str) -> Result<bool, StoreError> {
        let has = |text: &str| text.to_lowercase().contains(sought);
        if has(&entry.run.title) || has(&entry.run.id) || has(&entry.stored_id) {
            return Ok(true);
        }
        let prompt: Option<Prompt> = load(&self.store, &entry.stored_id).await?;
        Ok(prompt.is_some_and(|prompt| has(&prompt.text)))
    }
}

fn digest(artifact: &Artifact) -> Option<Digest> {
    artifact.digest.strip_prefix("blake3:")?.parse().ok()
}
