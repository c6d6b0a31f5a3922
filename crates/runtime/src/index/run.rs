//! Runs as the index keeps them.

use std::collections::BTreeSet;

use r1_event::payload::{self, AssistantMessageCompleted, RunCompleted};
use r1_event::side_record::RunContext;
use r1_event::{Payload, RunId, Seq, UnixNanos, Version};
use r1_protocol::api::{ForkedFrom, Run, RunError, RunStatus};
use r1_protocol::data::{CostTick, EventData, Object, PolicyModelRewrote, RunStarted, Time};
use r1_protocol::review::Review;
use r1_protocol::{id, json};
use serde::{Deserialize, Serialize};

use super::drawer::{Entry, facet};
use super::event::{Event, Said};
use super::memory::{WORKSPACE, workspace_name};
use super::progress::Progress;
use crate::agent::Budget;
use crate::agent::answer::usage;
use crate::control::create::short;
use crate::control::operator::OPERATOR;

/// The kind of runs that R1 keeps for itself.
const CONTROL: &str = "control";
/// The kind of runs that came from elsewhere.
const RECORDED: &str = "recorded";

/// A run, folded from its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunEntry {
    /// The id in the store, which a v1 log may spell in its own way.
    pub(super) stored_id: String,
    /// The last event that is folded in.
    pub(super) through: u64,
    /// Its time.
    pub(super) updated_at: i64,
    /// Time of the first event.
    pub(super) created_at: i64,
    /// All that the log tells; who has it and what was left for it is asked of the store.
    pub(super) run: Run,
    /// Whether another program drives it, so that only its lease tells if it goes on.
    pub(super) is_imported: bool,
    progress: Progress,
    /// Questions without an answer.
    pub(super) pending: Vec<String>,
    /// Sequences of events that were redacted, whether or not their payloads are gone yet.
    pub(super) redacted: BTreeSet<u64>,
    /// What of its cost its task has counted.
    pub(super) counted_cost: u64,
    /// The directory whose lasting memory it has.
    pub(super) memory_of: Option<String>,
}

/// What a run's first event says beyond the run itself.
#[derive(Debug, Default)]
pub(super) struct Opening {
    pub(super) goal: String,
    pub(super) title: Option<String>,
    pub(super) priority: Option<String>,
    pub(super) tags: Option<Object>,
    pub(super) budget: Option<Budget>,
    /// The run that an interactive one goes on from, and the last event that counts.
    pub(super) origin: Option<(RunId, Seq)>,
}

/// As much of what was asked as is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    interactive: bool,
    budget: Option<Budget>,
    workspace_source: Option<Workspace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Workspace {
    path: Option<String>,
    mode: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Position {
    run_id: String,
    #[serde(default)]
    seq: u64,
}

impl RunEntry {
    /// A run as its first event tells it.
    pub(super) fn begin(run: &RunId, event: &Event, started: &payload::RunStarted) -> (Self, Opening) {
        let context = RunContext {
            task_id: started.task_id.clone(),
            session_id: started.session_id.clone(),
            run_kind: started.run_kind.clone(),
        };
        let mut entry = Self::of_context(run, event, event.at, context);
        let spec: Spec = started.spec.as_ref().and_then(json::read).unwrap_or_default();
        let workspace: Workspace = started.workspace.as_ref().and_then(json::read).unwrap_or_default();
        let position = |raw: &Option<payload::Raw>| raw.as_ref().and_then(json::read::<Position>);
        let (resumed_from, forked_from) = (position(&started.resumed_from), position(&started.forked_from));
        entry.progress = Progress::new(spec.interactive, started.held == Some(true));
        let source: Option<Object> = started.source.as_ref().and_then(json::read);
        let is_driven = source.as_ref().and_then(|source| source.get("driven")).is_some_and(|driven| driven == true);
        entry.is_imported &= !is_driven;
        let title = started.title.clone().filter(|title| !title.is_empty());
        let origin_path = spec.workspace_source.and_then(|source| source.path);
        entry.memory_of = origin_path.or_else(|| workspace.path.clone());
        let shown = Run {
            number: started.number,
            title: title.clone().unwrap_or_else(|| short(&started.goal)),
            model: started.model_id.clone(),
            provider: started.provider_id.clone(),
            workspace_path: workspace.path,
            workspace_mode: workspace.mode,
            prior_run_id: started.prior_run_id.clone(),
            parent_run_id: position(&started.parent).map(|parent| parent.run_id),
            forked_from: forked_from
                .as_ref()
                .map(|from| ForkedFrom { run_id: from.run_id.clone(), sequence: from.seq.saturating_sub(1) }),
            source,
            started_at: (event.version == Version::V1).then(|| event.at.into()),
            prior_cost_micros_usd: started.prior_cost_micros_usd.unwrap_or(0),
            trace_id: trace_id(started.trace_parent.as_deref()),
            ..entry.run
        };
        entry.run = shown;
        let origin = resumed_from.or(forked_from).filter(|_| spec.interactive);
        let opening = Opening {
            goal: started.goal.clone(),
            title,
            priority: started.priority.clone(),
            tags: started.extra.get("tags").as_ref().and_then(json::read),
            budget: spec.budget,
            origin: origin.and_then(|from| Some((from.run_id.parse().ok()?, Seq::new(from.seq)?))),
        };
        (entry, opening)
    }

    /// A run whose first event can no longer be read: as much of it as was kept.
    pub(super) fn of_context(run: &RunId, event: &Event, started_at: UnixNanos, context: RunContext) -> Self {
        let served = id::run_id(run.as_str(), started_at);
        let is_v1 = event.version == Version::V1;
        let kind = context.run_kind.unwrap_or_else(|| if is_v1 { RECORDED.into() } else { "agent_loop".into() });
        let session_id = match event.version {
            Version::V1 => None,
            Version::V2 => context.session_id.as_deref().and_then(id::session_id).or_else(|| id::session_id(&served)),
        };
        Self {
            stored_id: run.to_string(),
            through: 0,
            updated_at: started_at.0,
            created_at: started_at.0,
            is_imported: is_v1 || kind == RECORDED,
            run: Run {
                id: served,
                task_id: context.task_id,
                session_id,
                number: None,
                title: String::new(),
                kind,
                status: RunStatus::Queued,
                cancelling: false,
                model: String::new(),
                provider: String::new(),
                workspace_path: None,
                workspace_mode: None,
                prior_run_id: None,
                parent_run_id: None,
                forked_from: None,
                source: None,
                created_at: started_at.into(),
                started_at: None,
                finished_at: None,
                last_sequence: 0,
                turns: 0,
                tool_calls: 0,
                input_tokens: 0,
                output_tokens: 0,
                cost_micros_usd: 0,
                prior_cost_micros_usd: 0,
                pending_approvals: 0,
                error: None,
                worker_id: None,
                lease_until: None,
                attempt: 0,
                sealed: false,
                pruned_through: None,
                trace_id: None,
            },
            progress: Progress::default(),
            pending: Vec::new(),
            redacted: BTreeSet::new(),
            counted_cost: 0,
            memory_of: None,
        }
    }

    /// Takes what is known from the run that this one goes on from.
    pub(super) fn continue_from(&mut self, source: Progress) {
        self.progress = std::mem::take(&mut self.progress).continued(source);
        self.run.status = self.progress.status();
    }

    /// Takes the next event.
    pub(super) fn apply(&mut self, event: &Event) {
        self.through = event.seq.get();
        self.updated_at = event.at.0;
        self.run.last_sequence = event.seq.get() - 1;
        if matches!(event.said, Said::Nothing) {
            return;
        }
        self.progress.apply(event);
        if let Said::Payload(payload) = &event.said {
            self.count(event.at, payload);
        } else if event.kind == r1_event::Kind::AssistantMessageCompleted {
            self.run.turns += 1;
        }
        self.run.status = self.progress.status();
        if self.run.status.is_final() {
            self.run.finished_at = Some(event.at.into());
            self.pending.clear();
        }
        self.run.pending_approvals = self.pending.len() as u64;
    }

    fn count(&mut self, at: UnixNanos, payload: &Payload) {
        let run = &mut self.run;
        match payload {
            Payload::AssistantMessageCompleted(message) => turn(run, message),
            Payload::SideEffectRecorded(effect) => {
                if let Some(review) = Review::of(effect) {
                    run.input_tokens += review.read_tokens();
                    run.output_tokens += review.output_tokens;
                    run.cost_micros_usd += review.cost_micros_usd;
                }
            }
            Payload::ToolCallScheduled(call) if call.attempt <= 1 => run.tool_calls += 1,
            Payload::RunCompleted(done) => total(run, done),
            Payload::RunFailed(failed) => {
                run.turns = run.turns.max(failed.turns.unwrap_or(0));
                run.error = Some(RunError { code: failed.error_type.clone(), message: failed.error.clone() });
            }
            Payload::RunResumed(resumed) => {
                run.worker_id.clone_from(&resumed.worker_id);
                run.attempt += 1;
            }
            Payload::Typed(typed) => match typed.r#type.as_str() {
                RunStarted::TYPE => {
                    let started = RunStarted::read(typed);
                    run.started_at.get_or_insert_with(|| Time::from(at));
                    run.attempt += 1;
                    if let Some(started) = started {
                        run.worker_id = Some(started.worker_id);
                        run.trace_id = run.trace_id.take().or_else(|| trace_id(started.trace_parent.as_deref()));
                    }
                }
                PolicyModelRewrote::TYPE => {
                    if let Some(rewrote) = PolicyModelRewrote::read(typed) {
                        run.model = rewrote.to_model;
                    }
                }
                // Says what the turns cost even if those were erased.
                CostTick::TYPE => {
                    let told = CostTick::read(typed).and_then(|tick| tick.run_cost_micros_usd);
                    run.cost_micros_usd = run.cost_micros_usd.max(told.unwrap_or(0));
                }
                _ => {}
            },
            Payload::RunStarted(_)
            | Payload::UserMessageAppended(_)
            | Payload::TurnStarted(_)
            | Payload::ReasoningEmitted(_)
            | Payload::ToolCallScheduled(_)
            | Payload::ToolCallCompleted(_)
            | Payload::ToolCallFailed(_)
            | Payload::BudgetExceeded(_)
            | Payload::ContextTruncated(_)
            | Payload::RunCancelled(_)
            | Payload::TurnFailed(_)
            | Payload::Other(..) => {}
        }
    }

    /// How far it has come, for a run that goes on from it.
    pub(super) fn into_progress(self) -> Progress {
        self.progress
    }

    /// Whether it is one of its task's own runs.
    pub(super) fn is_own_of_task(&self) -> bool {
        self.run.task_id.is_some() && self.run.parent_run_id.is_none() && self.is_listed()
    }

    /// Whether it is listed without being asked for.
    fn is_listed(&self) -> bool {
        !matches!(self.run.kind.as_str(), OPERATOR | CONTROL)
    }

    /// Whether an agent has begun to work in it.
    pub(super) fn acts(&self) -> bool {
        self.run.kind == "agent_loop" && !self.is_imported && self.run.started_at.is_some()
    }

    /// The run that an operator run is about.
    pub(super) fn about(&self) -> Option<&str> {
        self.run.parent_run_id.as_deref().filter(|_| self.run.kind == OPERATOR)
    }
}

impl Entry for RunEntry {
    const COLLECTION: &'static str = "index.runs";

    fn rank(&self) -> u64 {
        u64::try_from(self.created_at).unwrap_or(0)
    }

    fn facets(&self) -> Vec<(String, String)> {
        let run = &self.run;
        let status = if self.is_imported && !run.status.is_final() { OPEN_ELSEWHERE } else { run.status.as_str() };
        let mut facets = vec![facet(STATUS, status), facet(KIND, &run.kind)];
        let agent = run.source.as_ref().and_then(|source| source.get("agent")).and_then(serde_json::Value::as_str);
        let served = Some(run.id.as_str()).filter(|served| *served != self.stored_id);
        let parent = run.parent_run_id.as_deref().filter(|_| self.is_listed());
        let workspace = self.memory_of.as_deref().map(workspace_name);
        let known = [
            (SESSION, run.session_id.as_deref()),
            (TASK, run.task_id.as_deref()),
            (PARENT, parent),
            (ABOUT, self.about()),
            (SOURCE, agent),
            (SERVED_AS, served),
            (LISTED, self.is_listed().then_some("true")),
            (WORKSPACE, workspace.as_deref()),
        ];
        facets.extend(known.into_iter().filter_map(|(name, value)| Some(facet(name, value?))));
        facets
    }
}

/// Names of facets.
pub(super) const STATUS: &str = "status";
pub(super) const KIND: &str = "kind";
pub(super) const SESSION: &str = "session_id";
pub(super) const TASK: &str = "task_id";
pub(super) const PARENT: &str = "parent_run_id";
pub(super) const ABOUT: &str = "about";
pub(super) const SOURCE: &str = "source";
pub(super) const SERVED_AS: &str = "id";
pub(super) const LISTED: &str = "listed";

/// The status of a run that another program drives: `running` or `idle`, which only its lease tells.
pub(super) const OPEN_ELSEWHERE: &str = "open_elsewhere";

/// What a run was asked, whole, where it can be searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Prompt {
    created_at: u64,
    pub(super) text: String,
}

impl Prompt {
    /// The most that is searched.
    const MAX: usize = 512 << 10;

    pub(super) fn new(entry: &RunEntry, goal: &str) -> Self {
        Self { created_at: entry.rank(), text: goal[..goal.floor_char_boundary(Self::MAX)].to_owned() }
    }
}

impl Entry for Prompt {
    const COLLECTION: &'static str = "index.prompts";

    fn rank(&self) -> u64 {
        self.created_at
    }

    fn facets(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

fn turn(run: &mut Run, message: &AssistantMessageCompleted) {
    let usage = usage(message);
    run.turns += 1;
    run.input_tokens += usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    run.output_tokens += usage.output_tokens;
    run.cost_micros_usd += message.cost_micros_usd.unwrap_or_else(|| micros(message.cost_usd));
}

/// The totals of the end: of a run whose beginning is gone they are all there is.
fn total(run: &mut Run, done: &RunCompleted) {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    run.turns = run.turns.max(done.turn_count.into());
    run.tool_calls = run.tool_calls.max(done.tool_call_count.into());
    run.input_tokens = run.input_tokens.max(count(done.total_input_tokens));
    run.output_tokens = run.output_tokens.max(count(done.total_output_tokens));
    let cost = done.total_cost_micros_usd.unwrap_or_else(|| micros(done.total_cost_usd));
    run.cost_micros_usd = run.cost_micros_usd.max(cost);
}

/// Dollars of a v1 log as the integers that are served.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and NaN is 0")]
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round_ties_even() as u64
}

/// The trace id of a W3C `traceparent`.
fn trace_id(parent: Option<&str>) -> Option<String> {
    let id = parent?.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| id.to_owned())
}
