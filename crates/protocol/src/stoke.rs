//! A run as lines of JSON, for programs that read a coding agent's stream.
//!
//! - [`Projection`]: each event of a log becomes 0 to n [lines](Line), the same wherever and whenever it is
//!   done; [`Options`] say which of them are wanted.
//! - [`process`]: the few lines that tell of the process rather than of an event.
//! - [`read`]: a line as its reader sees it, whoever wrote it.
//!
//! Lines are of three families: those with the STOKE envelope (`stoke.…`), those of Claude Code (`system`,
//! `assistant`, `user`, `result`, `stream_event`) and top-level ones (`hitl_required`, `error`, …).

mod abort;
mod blank;
mod calls;
mod end;
mod line;
mod money;
pub mod process;
mod reader;
mod start;
mod text;
mod top;
mod totals;
mod turn;

use r1_event::payload::{RunStarted, Typed};
use r1_event::side_record::{Erase, Prune};
use r1_event::{Digest, Payload, Record, Version, v1};
use serde_json::{Value, json};
use ulid::Ulid;

pub use abort::Cause;
pub use line::{Line, LineKind, Origin, STOKE_VERSION, Stamp, stoke_line};
pub use reader::{ReadError, ReadLine, read};
pub use text::MAX_LINE;

use self::blank::without_blanks;
use self::calls::{Calls, content, denied, result_message};
use self::end::Ending;
use self::line::{Sheet, hyphenated, timestamp};
use self::totals::Totals;
use self::turn::Turn;
use crate::data::{self, EventData as _, Object};
use crate::envelope::{Place, RunFacts, Thinking};
use crate::json;
use crate::review::Review;

/// Which lines are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `stream_event` lines: the answer as it comes.
    pub partial_messages: bool,
    /// The model's reasoning.
    pub thinking: bool,
    /// What people said, as `user` lines.
    pub replay_user_messages: bool,
    /// A line for every event, also for those that have none of their own.
    pub all_events: bool,
    /// The call that a child run was started by, where its lines stand among its parent's.
    pub parent_call: Option<String>,
}

/// The session of a run as lines name it: its 128 bits as a UUID.
#[must_use]
pub fn session_id(facts: &RunFacts) -> String {
    let ulid = facts.run_id.strip_prefix("run_").and_then(|text| Ulid::from_string(text).ok());
    ulid.map(|ulid| hyphenated(ulid.0)).unwrap_or_default()
}

/// Turns the events of one run into lines. It must see them all, in order, to know what came before.
#[derive(Clone, Debug)]
pub struct Projection {
    facts: RunFacts,
    options: Options,
    origin: Origin,
    fold: Fold,
}

/// What later lines need of earlier events.
#[derive(Clone, Debug, Default)]
struct Fold {
    model: String,
    in_mission: bool,
    turn: Turn,
    calls: Calls,
    totals: Totals,
}

impl Projection {
    /// A projection of the run with these facts.
    #[must_use]
    pub fn new(facts: RunFacts, options: Options) -> Self {
        let origin = Origin { session_id: session_id(&facts), ..Origin::default() };
        Self { facts, options, origin, fold: Fold::default() }
    }

    /// The session that its lines name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.origin.session_id
    }

    /// The lines of the next event. `erased` is the record of its erasure, if its payload is gone;
    /// `ledger_node_id` the node of the receipt's graph that it belongs to. An event whose header cannot be
    /// read has no lines.
    pub fn push(&mut self, record: &Record, erased: Option<&Erase>, ledger_node_id: Option<String>) -> Vec<Line> {
        let Some(place) = Place::of(record) else { return Vec::new() };
        let stamp = Stamp { ts: place.ts, seq: place.seq, hash: record.hash(), ledger_node_id };
        if place.version == Version::V2 && record.payload.is_none() {
            let mut sheet = Sheet::new(&self.origin, stamp);
            sheet.stoke(true, "stoke.event.erased", || erased_body(place.kind.number(), erased));
            return sheet.finish();
        }
        let payload = match (&record.payload, place.version) {
            (Some(bytes), Version::V2) => Payload::decode(place.kind, bytes).ok(),
            (bytes, Version::V1) => {
                u8::try_from(place.kind.number()).ok().and_then(|kind| v1::read_payload(kind, bytes.as_ref()).ok())
            }
            (None, Version::V2) => None,
        };
        self.origin.learn(payload.as_ref());
        let mut sheet = Sheet::new(&self.origin, stamp);
        let shown = payload.is_some_and(|payload| self.fold.take(&mut sheet, &self.options, place.version, payload));
        if !shown {
            let (facts, thinking) =
                (&self.facts, if self.options.thinking { Thinking::Shown } else { Thinking::Hidden });
            let envelope = self.options.all_events.then(|| facts.envelope(record, None, thinking)).flatten();
            let type_name = envelope.as_ref().map(|envelope| stoke_type(&envelope.type_name)).unwrap_or_default();
            sheet.stoke(envelope.is_some(), &type_name, || {
                envelope.map(|envelope| without_blanks(envelope.data)).unwrap_or_default()
            });
        }
        sheet.finish()
    }

    /// The line in place of events that were pruned, with the node that the rest goes on from.
    #[must_use]
    pub fn pruned(&self, prune: &Prune, ledger_node_id: Option<String>) -> Line {
        let envelope = self.facts.pruned(prune);
        let hash = Digest::blake3(envelope.event_id.as_bytes());
        let stamp = Stamp { ts: prune.pruned_at, seq: prune.through().get(), hash, ledger_node_id };
        let body = without_blanks(envelope.data);
        let bytes = stoke_line(&self.origin, &stamp, 0, &stoke_type(&envelope.type_name), body);
        Line { kind: LineKind::Other, seq: stamp.seq, bytes }
    }
}

impl Origin {
    /// The newest process that says who it is counts.
    fn learn(&mut self, payload: Option<&Payload>) {
        let (instance_id, trace_parent) = match payload {
            Some(Payload::RunStarted(started)) => (started.instance_id.clone(), started.trace_parent.clone()),
            Some(Payload::RunResumed(resumed)) => (resumed.instance_id.clone(), resumed.trace_parent.clone()),
            Some(Payload::Typed(typed)) => match data::RunStarted::read(typed) {
                Some(started) => (started.instance_id, started.trace_parent),
                None => return,
            },
            _ => return,
        };
        let said = |told: Option<String>| told.filter(|told| !told.is_empty());
        self.instance_id = said(instance_id).or_else(|| self.instance_id.take());
        self.trace_parent = said(trace_parent).or_else(|| self.trace_parent.take());
    }
}

impl Fold {
    /// Writes the lines of an event; false if it is of those that have none of their own.
    fn take(&mut self, sheet: &mut Sheet<'_>, options: &Options, version: Version, payload: Payload) -> bool {
        match payload {
            Payload::RunStarted(started) => self.run_started(sheet, options, version, &started),
            Payload::UserMessageAppended(message) => user_text(sheet, options, &message.content),
            Payload::TurnStarted(turn) => {
                self.turn.start(&turn, sheet.ts(), &self.model);
                self.turn.message_start(sheet, options, &turn);
            }
            Payload::ReasoningEmitted(thinking) => {
                // Its line of its own comes first, and none if it is not wanted: it closes a block beside that.
                let wanted = options.all_events;
                sheet.stoke(wanted, "stoke.assistant.thinking_complete", || thinking_body(options, &thinking));
                self.turn.thinking_complete(sheet, options, &thinking);
            }
            Payload::AssistantMessageCompleted(answer) => {
                let model = Some(self.turn.model()).filter(|model| !model.is_empty()).unwrap_or(&self.model).to_owned();
                self.totals.add(&answer, &model);
                self.turn.message_end(sheet, options, &answer);
                let (message, request_id) = self.turn.answer(&answer);
                let turn_id = self.turn.id_of(&answer);
                claude(sheet, options, "assistant", || {
                    let mut body = Object::from_iter([("message".to_owned(), message)]);
                    body.extend(request_id.map(|id| ("request_id".to_owned(), id.into())));
                    body.extend(turn_id.map(|id| (turn::TURN_ID.to_owned(), id.into())));
                    body
                });
                self.turn.attempt_failed();
            }
            Payload::ToolCallScheduled(call) => {
                self.calls.scheduled(&call.call_id);
                return false;
            }
            Payload::ToolCallCompleted(call) => {
                let result = content(json::from_raw(&call.result), call.summary);
                tool_result(sheet, options, &call.call_id, result, false);
            }
            Payload::ToolCallFailed(call) => {
                let result = call.result.as_ref().map(json::from_raw).unwrap_or_default();
                tool_result(sheet, options, &call.call_id, content(result, Some(call.error)), true);
            }
            Payload::BudgetExceeded(exceeded) => {
                sheet.plain(true, LineKind::Other, "error", || top::budget(&exceeded));
            }
            Payload::RunCompleted(done) => self.ended(sheet, options, &Ending::Completed(&done)),
            Payload::RunFailed(failed) => self.ended(sheet, options, &Ending::Failed(&failed)),
            Payload::RunCancelled(cancelled) => self.ended(sheet, options, &Ending::Cancelled(&cancelled)),
            Payload::TurnFailed(_) => {
                self.turn.attempt_failed();
                return false;
            }
            Payload::Typed(typed) => return self.typed(sheet, options, &typed),
            Payload::SideEffectRecorded(effect) => {
                if let Some(review) = Review::of(&effect) {
                    self.totals.add_review(&review);
                }
                return false;
            }
            Payload::ContextTruncated(_) | Payload::RunResumed(_) | Payload::Other(..) => return false,
        }
        true
    }

    fn run_started(&mut self, sheet: &mut Sheet<'_>, options: &Options, version: Version, started: &RunStarted) {
        self.model.clone_from(&started.model_id);
        self.in_mission = started.mission_id.is_some();
        sheet.plain(true, LineKind::Other, "system", || start::init(started));
        if !self.in_mission {
            sheet.stoke(true, "stoke.session.start", || start::session_start(started));
        }
        // A v2 log tells the first prompt in an event of its own.
        if version == Version::V1 {
            user_text(sheet, options, &started.goal);
        }
    }

    fn ended(&self, sheet: &mut Sheet<'_>, options: &Options, ending: &Ending<'_>) {
        if !self.in_mission {
            sheet.stoke(true, "stoke.session.end", || ending.session_end(&self.totals));
        }
        if let Ending::Cancelled(cancelled) = ending {
            sheet.plain(true, LineKind::Other, "mission.aborted", || top::aborted(cancelled));
        }
        sheet.plain(true, LineKind::Result, "result", || {
            let mut body = ending.result(&self.totals, &self.calls);
            body.extend(options.parent_call.clone().map(|call| ("parent_tool_use_id".to_owned(), call.into())));
            body
        });
    }

    fn typed(&mut self, sheet: &mut Sheet<'_>, options: &Options, typed: &Typed) -> bool {
        let name = typed.r#type.as_str();
        if let Some(refusal) = self.calls.refused(typed) {
            tool_result(sheet, options, &refusal.call_id, denied(&refusal), true);
            if name == data::PolicyToolBlocked::TYPE {
                return true;
            }
        }
        if let Some(delta) = data::AssistantTextDelta::read(typed) {
            self.turn.text_delta(sheet, options, delta);
        } else if let Some(delta) = data::AssistantThinkingDelta::read(typed) {
            self.turn.thinking_delta(sheet, options, delta);
        } else if let Some(whole) = data::AssistantTextComplete::read(typed) {
            self.turn.text_complete(sheet, options, whole);
        } else if let Some(call) = data::AssistantToolCallProposed::read(typed) {
            self.calls.proposed(&call);
            self.turn.tool_proposed(sheet, options, &call);
        } else if let Some(tick) = data::CostTick::read(typed) {
            sheet.stoke(true, "stoke.cost", || cost(&tick));
        } else if let Some(request) = data::ApprovalRequested::read(typed) {
            self.calls.asked(&request);
            sheet.plain(true, LineKind::Approval, "hitl_required", || top::approval(&request));
        } else if name.starts_with("lane.") {
            sheet.plain(true, LineKind::Other, name, || top::lane(name, body_of(typed)));
        } else if name.starts_with("error.") {
            sheet.plain(true, LineKind::Other, "error", || top::error(typed));
        } else if has_own_line(name) {
            sheet.stoke(true, &stoke_type(name), || money::told(name, body_of(typed)));
        } else {
            return false;
        }
        true
    }
}

/// Whether events of this type are told as they are.
fn has_own_line(name: &str) -> bool {
    const TYPES: [&str; 3] = ["approval.resolved", "approval.timed_out", "artifact.created"];
    const FAMILIES: [&str; 9] =
        ["stoke.", "gate.", "phase.", "memory.", "skill.", "beacon.", "run.child_", "redaction.", "gap."];
    TYPES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

fn stoke_type(name: &str) -> String {
    if name.starts_with("stoke.") { name.to_owned() } else { format!("stoke.{name}") }
}

fn body_of(typed: &Typed) -> Object {
    if let Value::Object(body) = json::from_raw(&typed.data) { without_blanks(body) } else { Object::new() }
}

fn erased_body(kind: u64, erased: Option<&Erase>) -> Object {
    let mut body = Object::from_iter([("kind".to_owned(), kind.into())]);
    if let Some(erase) = erased {
        body.insert("redaction_seq".into(), erase.redaction.seq.get().into());
    }
    body
}

fn thinking_body(options: &Options, thinking: &r1_event::payload::ReasoningEmitted) -> Object {
    let mut body = Object::new();
    body.extend(thinking.turn_index.map(|index| ("turn_index".to_owned(), index.into())));
    body.extend(thinking.block_index.map(|index| ("block_index".to_owned(), index.into())));
    let (key, value) =
        if options.thinking { ("text", thinking.content.as_str().into()) } else { ("hidden", true.into()) };
    body.insert(key.into(), value);
    body
}

fn cost(tick: &data::CostTick) -> Object {
    Object::from_iter([
        ("cost_usd".to_owned(), money::usd(tick.cumulative_cost_micros_usd)),
        ("input_tokens".to_owned(), tick.cumulative_input_tokens.into()),
        ("output_tokens".to_owned(), tick.cumulative_output_tokens.into()),
    ])
}

/// A line of Claude's that belongs to a call if the run does.
fn claude(sheet: &mut Sheet<'_>, options: &Options, type_name: &str, body: impl FnOnce() -> Object) {
    claude_if(sheet, options, true, LineKind::Other, type_name, body);
}

fn claude_if(
    sheet: &mut Sheet<'_>,
    options: &Options,
    shown: bool,
    kind: LineKind,
    type_name: &str,
    body: impl FnOnce() -> Object,
) {
    sheet.plain(shown, kind, type_name, || {
        let mut body = body();
        body.insert("parent_tool_use_id".into(), options.parent_call.clone().into());
        body
    });
}

/// A `stream_event` line.
fn partial_line(
    sheet: &mut Sheet<'_>,
    options: &Options,
    shown: bool,
    kind: LineKind,
    ttft_ms: Option<u64>,
    event: impl FnOnce() -> Value,
) {
    claude_if(sheet, options, shown, kind, "stream_event", || {
        let mut body = Object::from_iter([("event".to_owned(), event())]);
        body.extend(ttft_ms.map(|ms| ("ttft_ms".to_owned(), ms.into())));
        body
    });
}

/// What a person said.
fn user_text(sheet: &mut Sheet<'_>, options: &Options, text: &str) {
    let timestamp = timestamp(sheet.ts());
    claude_if(sheet, options, options.replay_user_messages, LineKind::Other, "user", || {
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
        Object::from_iter([("message".to_owned(), message), ("timestamp".to_owned(), timestamp.into())])
    });
}

/// What a tool gave back.
fn tool_result(
    sheet: &mut Sheet<'_>,
    options: &Options,
    call_id: &str,
    (content, structured): (Value, Option<Value>),
    is_error: bool,
) {
    let timestamp = timestamp(sheet.ts());
    claude(sheet, options, "user", || {
        let message = result_message(call_id, content, is_error);
        let mut body =
            Object::from_iter([("message".to_owned(), message.into()), ("timestamp".to_owned(), timestamp.into())]);
        body.extend(structured.map(|value| ("tool_use_result".to_owned(), value)));
        body
    });
}
