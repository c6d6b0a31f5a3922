//! All that is known of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use r1_event::{Digest, Kind, RunId, Seq, UnixNanos};
use r1_protocol::api::RunStatus;
use r1_protocol::data::Actor;

use super::budget::Spent;
use super::call::{Call, Stage};
use super::conversation::Conversation;
use super::phases::{Phases, Standing};
use super::spec::RunSpec;
use crate::memory::Tiers;
use crate::model::{Block, Message};
use crate::policy::Grants;

/// A run, folded from its log. Cheap to keep for as long as the run lives; grows with its conversation.
#[derive(Clone, Debug)]
pub struct RunState {
    /// The run.
    pub run: RunId,
    /// What it was asked.
    pub spec: Arc<RunSpec>,
    /// The first prompt.
    pub goal: String,
    /// Which model.
    pub model: String,
    /// Whether policy chose it.
    pub(super) model_was_rewritten: bool,
    /// What was found that the model cannot do, so that it is told once.
    pub(crate) missing_capabilities: Vec<String>,
    /// Who serves it.
    pub provider: String,
    /// The system prompt.
    pub system: Arc<str>,
    /// What it was told of its identity, as the model reads it.
    pub(super) identity: String,
    /// What it remembers.
    pub memory: Tiers,
    /// Hashes of system prompt, tools and parameters: what every request begins with.
    pub(super) preamble: Vec<Vec<u8>>,
    /// The task, if it has one.
    pub task_id: Option<String>,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// agent_loop, shell, recorded, …
    pub run_kind: String,
    /// Which run of its task it is, from 1.
    pub number: u64,
    /// In a few words.
    pub title: String,
    /// low, normal or high.
    pub priority: String,
    /// The place in a W3C trace of the process that works on it, or that worked on it last.
    pub trace_parent: Option<String>,
    /// That process.
    pub instance_id: Option<String>,
    /// Where it works.
    pub workspace_path: String,
    /// clone, worktree, in_place or none.
    pub workspace_mode: String,
    /// The run that it continues or shares its beginning with.
    pub origin: Option<Origin>,
    /// Time of the first event.
    pub created_at: UnixNanos,
    /// Time of the last event: the loop's "now".
    pub last_at: UnixNanos,
    /// Place of the last event.
    pub last: Seq,
    /// Its hash.
    pub head: Digest,
    /// Who has it, if anyone.
    pub phase: Phase,
    /// The worker that had it last.
    pub lease: Option<Lease>,
    /// Claims without a finished turn or call in between.
    pub takeovers: u64,
    /// What the model has heard and said.
    pub conversation: Conversation,
    /// What it will hear next.
    pub(super) inbox: Vec<Message>,
    /// Whether it is the model's turn to speak.
    pub(super) needs_turn: bool,
    /// Whether the model has still to answer what it was told last, although its turn may be over.
    pub(super) unanswered: bool,
    /// The model call that is under way.
    pub turn: Option<Turn>,
    /// The name of the last turn.
    pub(super) last_turn_id: String,
    /// How the last attempt at a turn failed for good.
    pub(super) failed_turn: Option<FailedTurn>,
    /// Whether the costs of the last turn were told.
    pub(super) ticked: bool,
    /// Tool calls of the last turn.
    pub calls: Vec<Call>,
    /// What a person allowed until the end.
    pub grants: Grants,
    /// How often in a row a person said no to exactly this.
    pub(super) rejections: BTreeMap<Digest, u64>,
    /// What was used so far.
    pub spent: Spent,
    /// Warnings already given, in percent.
    pub(super) warned: Vec<u64>,
    /// The budget that ran out.
    pub halted: Option<&'static str>,
    /// The last thing the model said.
    pub final_text: String,
    /// Place and time of the last checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Files that came with messages: id, digest, type, name.
    pub(super) attachments: BTreeMap<String, (Digest, String, String)>,
    /// Whether files of the workspace were changed.
    pub changed_files: bool,
    /// Messages by their sender's own ids, so that none is taken twice.
    pub(super) client_messages: BTreeMap<String, (Seq, String)>,
    /// Why it was passed over in the queue since it last came there.
    pub throttled: Vec<String>,
    /// How far its task is, if that goes through phases.
    pub phases: Option<Box<Phases>>,
    /// What became of each request for approval, and where the log says so.
    pub(super) decisions: BTreeMap<String, (Seq, String)>,
    /// How it ended.
    pub terminal: Option<Kind>,
    /// Who started it.
    pub actor: Option<Actor>,
}

/// Whether anyone works on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits for its release.
    Held,
    /// Any worker may take it.
    Queued,
    /// A worker has it.
    Claimed,
    /// Its worker is gone, and a person should look before it goes on.
    Paused,
}

/// What a request for approval is about.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// A call that waits for it.
    Call(&'a Call),
    /// A gate that stands in the way.
    Gate(&'a Standing),
}

/// A worker's claim, as the log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The worker.
    pub worker_id: String,
}

/// The run that another one goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Which run.
    pub run: RunId,
    /// Up to which event.
    pub seq: Seq,
}

/// A snapshot of the workspace that the run can be forked from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub checkpoint_id: String,
    /// Where in the log.
    pub seq: Seq,
    /// When.
    pub at: UnixNanos,
    /// The workspace then, if it could be saved.
    pub workspace_revision: Option<String>,
}

/// A model call that is under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its name.
    pub turn_id: String,
    /// Its number, from 0.
    pub index: u64,
    /// When it began.
    pub started_at: UnixNanos,
    /// Attempts that failed.
    pub failures: u64,
    /// When the next attempt may begin, once that was drawn.
    pub retry_at: Option<UnixNanos>,
    /// What the model has said, block by block.
    pub(super) blocks: BTreeMap<u64, Block>,
}

impl Turn {
    /// What the model has said, in its order.
    pub(crate) fn said(&self) -> Vec<&Block> {
        self.blocks.values().collect()
    }
}

/// A turn that no further attempt can save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailedTurn {
    pub(super) turn_id: String,
    pub(super) index: u64,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) retriable: bool,
}

impl RunState {
    /// The status as the log alone tells it.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match (self.terminal, self.phase) {
            (Some(Kind::RunCompleted), _) => RunStatus::Completed,
            (Some(Kind::RunCancelled), _) => RunStatus::Cancelled,
            (Some(_), _) => RunStatus::Failed,
            (None, Phase::Held) => RunStatus::NotStarted,
            (None, Phase::Paused) => RunStatus::Paused,
            (None, _) if self.is_idle() => RunStatus::Idle,
            (None, Phase::Queued) => RunStatus::Queued,
            (None, Phase::Claimed) if self.waits_for_a_person() => RunStatus::AwaitingApproval,
            (None, Phase::Claimed) => RunStatus::Running,
        }
    }

    /// The status when nobody holds the run: whoever worked on it is gone, and its log cannot know. A task waits for
    /// the next worker then, a session for its person.
    #[must_use]
    pub(crate) fn status_unheld(&self) -> RunStatus {
        match self.status() {
            RunStatus::Running | RunStatus::AwaitingApproval if self.spec.interactive => RunStatus::Paused,
            RunStatus::Running | RunStatus::AwaitingApproval => RunStatus::Queued,
            status => status,
        }
    }

    /// Whether a session has nothing to do.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.spec.interactive
            && self.terminal.is_none()
            && self.turn.is_none()
            && self.failed_turn.is_none()
            && !self.needs_turn
            && self.calls.is_empty()
    }

    /// Pending approvals: their ids, and what they are about.
    pub fn approvals(&self) -> impl Iterator<Item = (&str, Asked<'_>)> {
        let calls = self.calls.iter().filter_map(|call| match &call.stage {
            Stage::Waiting { approval_id, .. } => Some((approval_id.as_str(), Asked::Call(call))),
            _ => None,
        });
        let gates = self.phases.iter().flat_map(|phases| phases.questions());
        calls.chain(gates.map(|(question, standing)| (question.approval_id.as_str(), Asked::Gate(standing))))
    }

    /// The number of the next turn.
    #[must_use]
    pub const fn next_turn_index(&self) -> u64 {
        self.spent.turns
    }

    /// How long the run has been going on.
    #[must_use]
    pub fn duration_ms(&self) -> u64 {
        milliseconds(self.created_at, self.last_at)
    }

    /// The family of a tool, as its calls name it.
    #[must_use]
    pub fn kind_of(&self, tool: &str) -> &str {
        let spec = self.spec.tools.iter().find(|spec| spec.name == tool);
        spec.map_or("builtin", |spec| spec.kind.as_str())
    }

    pub(super) fn call_mut(&mut self, call_id: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.call_id == call_id)
    }

    /// The open call with this id.
    #[must_use]
    pub fn call(&self, call_id: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.call_id == call_id)
    }

    fn waits_for_a_person(&self) -> bool {
        if self.is_planned() {
            return self.planned_call().is_some_and(|call| matches!(call.stage, Stage::Waiting { .. }));
        }
        let mut open = self.calls.iter().filter(|call| call.is_open()).peekable();
        if self.turn.is_none() && open.peek().is_none() {
            return self.phases.iter().any(|phases| phases.questions().next().is_some());
        }
        self.turn.is_none() && open.peek().is_some() && open.all(|call| matches!(call.stage, Stage::Waiting { .. }))
    }
}

pub(super) fn milliseconds(from: UnixNanos, to: UnixNanos) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0) / 1_000_000
}
