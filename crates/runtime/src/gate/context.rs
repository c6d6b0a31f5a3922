//! All that a gate may look at.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Preset;
use crate::policy::{ApprovalMode, Policy};
use crate::price::Price;
use crate::provider::Provider;
use crate::redact::Redactor;
use crate::sandbox::Sandbox;
use crate::snapshot::Snapshots;

/// What a gate is asked about. The same context serves all gates of a round.
#[derive(Clone)]
pub struct GateContext {
    /// Which gates there are, as pinned at the start of the task.
    pub preset: Arc<Preset>,
    /// The directory in which the task is done.
    pub workspace: PathBuf,
    /// What the workspace is compared with.
    pub base: Base,
    /// How commands are run.
    pub sandbox: Arc<Sandbox>,
    /// Finds secrets, and takes them out of evidence.
    pub redactor: Redactor,
    /// The rules of the run.
    pub rules: Rules,
    /// What was asked for.
    pub goal: String,
    /// Files that the plan says it will change, relative to the workspace.
    pub declared: Vec<String>,
    /// When the task counts as done.
    pub criteria: Vec<Criterion>,
    /// The model that does the task.
    pub author: ModelName,
    /// The model that reviews it, if there is one.
    pub reviewer: Option<Reviewer>,
    /// What gates said of this task so far, oldest first, overridden or not.
    pub earlier: Vec<Earlier>,
    /// The message of the commit that is to be made, if one is known.
    pub commit_message: Option<String>,
    /// What was verified: a decision at `VERIFY.exit` in the round that led to COMMIT.
    pub verified: Option<Verified>,
    /// Stops whatever a gate runs.
    pub cancel: CancellationToken,
}

/// What the workspace is compared with.
#[derive(Clone, Debug)]
pub enum Base {
    /// A revision of the workspace's own repository, such as `HEAD`.
    Revision(String),
    /// The workspace as it was saved earlier.
    Snapshot {
        /// Where it is kept.
        snapshots: Snapshots,
        /// Its name, as [`Snapshots::save`] gave it.
        revision: String,
    },
    /// Nothing: every file is new.
    Empty,
}

/// The rules of a run, as the policy gate sees them.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The rules.
    pub policy: Policy,
    /// How much is allowed where no rule says otherwise.
    pub mode: ApprovalMode,
    /// clone, worktree, in_place or none.
    pub workspace_mode: String,
}

/// A command that says whether the task is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// Its name.
    pub id: String,
    /// A line for bash; exit code 0 says yes.
    pub command: String,
}

/// A model and who serves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelName {
    /// The provider's id.
    pub provider: String,
    /// The model's name there.
    pub model: String,
}

/// A model that reviews.
#[derive(Clone)]
pub struct Reviewer {
    /// How it is reached.
    pub provider: Arc<dyn Provider>,
    /// Its name there.
    pub model: String,
    /// The most it may say.
    pub max_output_tokens: u64,
    /// What it costs, if anybody knows.
    pub price: Option<Price>,
}

/// What a gate said earlier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Which gate.
    pub gate_id: String,
    /// What it measured.
    pub score: Option<u64>,
    /// Verdict and reason code, for the reviewer.
    pub said: String,
    /// What it saw, for the reviewer; may be left out.
    pub evidence: String,
}

/// A decision that names the tree it was made about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Which gate decided.
    pub gate_id: String,
    /// Its `inputs_hash`: made of the verified tree, so the committed tree must give the same.
    pub inputs_hash: String,
}
