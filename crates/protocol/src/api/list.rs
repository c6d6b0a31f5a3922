//! How objects are wrapped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Object")]
pub struct Object<T> {
    /// What it is: task, run, event, approval, artifact, …
    pub object: String,
    /// The object.
    pub data: T,
}

impl<T> Object<T> {
    /// Wraps an object of that kind.
    pub fn new(object: &str, data: T) -> Self {
        Self { object: object.to_owned(), data }
    }
}

/// A page of objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct List<T> {
    /// Always `list`.
    pub object: String,
    /// The objects.
    pub data: Vec<T>,
    /// Whether there were more when the page was read.
    pub has_more: bool,
    /// Give this as `cursor` to get the next page.
    pub next_cursor: Option<String>,
}

impl<T> List<T> {
    /// A page; there is more if there is a place to go on from.
    pub fn new(data: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { object: "list".into(), data, has_more: next_cursor.is_some(), next_cursor }
    }
}

/// A page of a run's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventList<T> {
    /// Always `list`.
    pub object: String,
    /// The events, each as it is in every other form of this API, byte for byte.
    pub data: Vec<T>,
    /// Whether more was stored when the page was read.
    pub has_more: bool,
    /// Give this as `after_sequence` to get the next page; null if there is nothing yet.
    pub next_after_sequence: Option<u64>,
    /// Place of the run's last event.
    pub last_sequence: Option<u64>,
    /// Whether the run has ended.
    pub terminal: bool,
}
