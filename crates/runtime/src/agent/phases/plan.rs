//! What is settled about a task's phases before it begins.

use serde::{Deserialize, Serialize};

use crate::gate::Preset;
use crate::price::Price;
use crate::provider::ProviderSpec;

/// How a task goes through its phases. It stands in the run's first event, so whoever edits the file that it
/// came from changes later tasks only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasePlan {
    /// Which gates stand where, and how much they demand.
    pub preset: Preset,
    /// The model that reviews, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<ReviewerSpec>,
    /// Commands that say whether the task is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// Whether the workspace is a git repository, so that there is something to commit to.
    pub is_git: bool,
    /// Whether files that the task did not change may stay uncommitted. Of old, all had to be committed, and
    /// that is what the model was told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commits_own_changes: bool,
}

/// A model that reviews.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewerSpec {
    /// How it is reached; never a key.
    pub provider: ProviderSpec,
    /// Its name there.
    pub model: String,
    /// What it costs, if anybody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether there must be room in the budget before it is asked. Of old, that was not looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_room: bool,
}
