//! Artifacts as the index keeps them.

use std::collections::BTreeSet;

use r1_event::payload::Typed;
use r1_event::{RunId, UnixNanos};
use r1_protocol::api::{Artifact, DiffStats};
use r1_protocol::data::Object;
use r1_protocol::json;
use serde::{Deserialize, Serialize};

use super::approval::RUN;
use super::drawer::{Entry, facet};
use super::run::{KIND, RunEntry, STATUS, TASK};
use crate::artifact::view::ArtifactView;
use crate::patch::Stats;

/// An artifact and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ArtifactEntry {
    pub(super) id: String,
    /// `None` as long as only other logs speak of it: imports may come in any order.
    pub(super) made: Option<Made>,
    /// What those say.
    early: Vec<Early>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Made {
    pub(super) view: ArtifactView,
    served_run: String,
    task_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Early {
    stored_run: String,
    type_name: String,
    data: Object,
}

impl ArtifactEntry {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Takes an event that speaks of it, in the log of `run`.
    pub(super) fn apply(&mut self, run: &RunId, entry: &RunEntry, at: UnixNanos, typed: &Typed) {
        if let Some(view) = ArtifactView::created(run, at, typed) {
            let made = Made { view, served_run: entry.run.id.clone(), task_id: entry.run.task_id.clone() };
            let made = self.made.insert(made);
            for Early { stored_run: _, type_name, data } in self.early.drain(..) {
                made.view.apply(&r1_protocol::data::typed(&type_name, &data.into()));
            }
            return;
        }
        match &mut self.made {
            Some(made) => made.view.apply(typed),
            None => {
                let data = json::read(&typed.data).unwrap_or_default();
                let (stored_run, type_name) = (entry.stored_id.clone(), typed.r#type.clone());
                self.early.push(Early { stored_run, type_name, data });
            }
        }
    }

    /// Whether it would not be known without the log of this run.
    pub(super) fn is_told_by(&self, stored_run: &str) -> bool {
        match &self.made {
            Some(made) => made.view.run_id.as_str() == stored_run,
            None => self.early.iter().any(|early| early.stored_run == stored_run),
        }
    }

    /// The artifact as it is served, without its diff.
    pub(super) fn into_artifact(self) -> Option<Artifact> {
        let Made { view, served_run, task_id } = self.made?;
        let digest = view.digest.map(|digest| format!("blake3:{digest}")).unwrap_or_default();
        let patch = view.patch.as_ref();
        Some(Artifact {
            target_path: patch.map(|patch| patch.target_path.to_string()),
            base_revision: patch.and_then(|patch| Some(patch.base.as_ref()?.revision.to_string())),
            result_revision: view.result_revision.map(|revision| revision.to_string()),
            stats: patch.map(|patch| stats(patch.stats)),
            reverts_artifact_id: patch.and_then(|patch| patch.reverts_artifact_id.clone()),
            batch_id: patch.and_then(|patch| patch.batch_id.clone()),
            diff: None,
            id: view.id,
            kind: view.kind.to_string(),
            status: view.status.to_string(),
            summary: view.summary,
            mime: view.mime,
            size_bytes: view.size_bytes,
            digest,
            name: view.name,
            produced_by_run_id: served_run,
            produced_by_tool_call_id: view.tool_call_id,
            task_id,
            created_at: view.created_at.into(),
            pinned: view.pinned,
            contains_secrets: view.contains_secrets,
            metadata: view.metadata,
            applied_at: view.applied_at,
            rejected_at: view.rejected_at,
            reverted_at: view.reverted_at,
        })
    }
}

const fn stats(stats: Stats) -> DiffStats {
    let Stats { additions, deletions, hunks } = stats;
    DiffStats { additions, deletions, hunks }
}

impl Entry for ArtifactEntry {
    const COLLECTION: &'static str = "index.artifacts";

    fn rank(&self) -> u64 {
        self.made.as_ref().and_then(|made| u64::try_from(made.view.created_at.0).ok()).unwrap_or(0)
    }

    fn facets(&self) -> Vec<(String, String)> {
        let Some(made) = &self.made else {
            let told: BTreeSet<_> = self.early.iter().map(|early| facet(RUN, &early.stored_run)).collect();
            return told.into_iter().collect();
        };
        let view = &made.view;
        let mut facets = vec![
            facet(MADE, "true"),
            facet(KIND, view.kind.as_str()),
            facet(STATUS, view.status.as_str()),
            facet(RUN, view.run_id.as_str()),
        ];
        let target = view.patch.as_ref().map(|patch| patch.target_path.to_string());
        let path = target.as_deref().or(view.path.as_deref());
        let known = [(TASK, made.task_id.as_deref()), (CALL, view.tool_call_id.as_deref()), (PATH, path)];
        facets.extend(known.into_iter().filter_map(|(name, value)| Some(facet(name, value?))));
        facets
    }
}

/// Names of facets.
pub(super) const CALL: &str = "tool_call_id";
pub(super) const PATH: &str = "path";
pub(super) const MADE: &str = "made";
