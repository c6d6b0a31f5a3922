//! What a run did, without times, ids and pieces.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use r1_event::{Payload, RunId, UnixNanos};
use r1_protocol::data::{self, EventData};
use r1_protocol::json;
use r1_runtime::agent::RunState;
use r1_store::{Pages, SharedStore};
use serde_json::Value;

use crate::error::CliError;
use crate::render::live::Tally;

/// A run, told in steps.
pub(super) struct Story {
    pub(super) run: String,
    pub(super) goal: String,
    pub(super) model: String,
    pub(super) status: String,
    pub(super) steps: Vec<Step>,
    pub(super) tools: BTreeMap<String, u64>,
    pub(super) files: BTreeSet<String>,
    pub(super) tally: Tally,
    pub(super) final_text: String,
    inputs: HashMap<String, Value>,
}

/// One thing that happened.
pub(super) struct Step {
    pub(super) seq: u64,
    pub(super) kind: StepKind,
    pub(super) what: String,
}

/// What kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Told,
    Said,
    Called,
    Blocked,
    Answered,
    Got,
    Failed,
    Changed,
    Ended,
}

impl StepKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Told => "user says",
            Self::Said => "model says",
            Self::Called => "calls",
            Self::Blocked => "blocked",
            Self::Answered => "approval",
            Self::Got => "gets",
            Self::Failed => "fails",
            Self::Changed => "changes",
            Self::Ended => "ends",
        }
    }
}

impl Step {
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.what == other.what
    }
}

impl Story {
    pub(super) fn new(run: &str) -> Self {
        Self {
            run: run.into(),
            goal: String::new(),
            model: String::new(),
            status: "open".into(),
            steps: Vec::new(),
            tools: BTreeMap::new(),
            files: BTreeSet::new(),
            tally: Tally::default(),
            final_text: String::new(),
            inputs: HashMap::new(),
        }
    }

    /// Reads a run of the store.
    pub(super) async fn read(store: &SharedStore, run: &RunId) -> Result<Self, CliError> {
        let mut story = Self::new(run.as_str());
        let mut pages = Pages::of_all(&**store, run);
        while let Some(page) = pages.next().await? {
            for record in &page {
                let (place, payload) = RunState::read(record)?;
                story.take(place.seq.get(), place.ts, &payload);
            }
        }
        Ok(story)
    }

    pub(super) fn take(&mut self, seq: u64, at: UnixNanos, payload: &Payload) {
        self.tally.moment(at);
        match payload {
            Payload::RunStarted(started) => {
                self.goal.clone_from(&started.goal);
                self.model = format!("{}/{}", started.provider_id, started.model_id);
            }
            Payload::UserMessageAppended(message) => self.step(seq, StepKind::Told, &message.content),
            Payload::AssistantMessageCompleted(turn) => {
                self.tally.turn(turn);
                if !turn.text.is_empty() {
                    self.final_text.clone_from(&turn.text);
                }
            }
            Payload::ToolCallScheduled(call) => {
                *self.tools.entry(call.tool.clone()).or_default() += u64::from(call.attempt <= 1);
                let given = json::from_raw(&call.args);
                let input =
                    if given.is_null() { self.inputs.get(&call.call_id).cloned().unwrap_or_default() } else { given };
                self.step(seq, StepKind::Called, &format!("{} {input}", call.tool));
            }
            Payload::ToolCallCompleted(done) => self.step(seq, StepKind::Got, &plain(&json::from_raw(&done.result))),
            Payload::ToolCallFailed(failed) => {
                let output = failed.result.as_ref().map(|result| plain(&json::from_raw(result))).unwrap_or_default();
                self.step(seq, StepKind::Failed, &format!("{} {output}", failed.error));
            }
            Payload::RunCompleted(done) => {
                self.status = "completed".into();
                self.final_text.clone_from(&done.final_text);
            }
            Payload::RunFailed(failed) => {
                self.status = format!("failed ({})", failed.error_type);
                self.step(seq, StepKind::Ended, &failed.error);
            }
            Payload::RunCancelled(cancelled) => {
                self.status = "cancelled".into();
                self.step(seq, StepKind::Ended, &cancelled.reason);
            }
            Payload::Typed(typed) => self.typed(seq, typed),
            _ => {}
        }
    }

    fn typed(&mut self, seq: u64, typed: &r1_event::payload::Typed) {
        if let Some(block) = data::AssistantTextComplete::read(typed) {
            self.step(seq, StepKind::Said, &block.text);
        } else if let Some(call) = data::AssistantToolCallProposed::read(typed) {
            self.inputs.insert(call.tool_call_id, Value::Object(call.input));
        } else if let Some(blocked) = data::PolicyToolBlocked::read(typed) {
            self.step(seq, StepKind::Blocked, &format!("{}: {}", blocked.tool_name, blocked.reason));
        } else if let Some(answer) = data::ApprovalResolved::read(typed) {
            self.step(seq, StepKind::Answered, &format!("{} {}", answer.decision, answer.comment));
        } else if let Some(edit) = data::ToolEditApplied::read(typed) {
            self.changed(seq, edit.path);
        } else if let Some(edit) = data::ToolFileWriteApplied::read(typed) {
            self.changed(seq, edit.path);
        } else if let Some(edit) = data::ToolMultiEditApplied::read(typed) {
            edit.paths.into_iter().flatten().for_each(|path| self.changed(seq, Some(path)));
        }
    }

    fn changed(&mut self, seq: u64, path: Option<String>) {
        if let Some(path) = path {
            self.step(seq, StepKind::Changed, &path);
            self.files.insert(path);
        }
    }

    fn step(&mut self, seq: u64, kind: StepKind, what: &str) {
        self.steps.push(Step { seq, kind, what: what.trim().to_owned() });
    }
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
