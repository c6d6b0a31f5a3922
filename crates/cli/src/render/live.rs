//! A run as it happens, for people: what the model says, what its tools do, what they cost.
//!
//! Pure: events go in, text comes out. Whoever follows a run's log feeds [`Live`] with it and prints;
//! patches, whose text is not in the log, are handed in before the events that mention them.

mod call;
mod diff;
mod gate;
mod page;
mod question;
mod tally;

use std::collections::HashMap;

use r1_event::payload::{AssistantMessageCompleted, RunStarted, Typed};
use r1_event::{Payload, RunId, UnixNanos, Version, projection};
use r1_protocol::data::{self, EventData};
use r1_protocol::json;
use r1_runtime::agent::GATE_EVIDENCE;
use serde_json::Value;

use self::call::Call;
use self::gate::Gates;
use self::page::{Block, Flow, Page};
pub(crate) use self::tally::Tally;
use super::number::{duration, usd};
use super::text::{count, one_line};
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE};

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Columns; none where lines must not be broken.
    pub(crate) width: Option<usize>,
    /// Whether the model's reasoning is shown.
    pub(crate) thinking: bool,
    /// Whether every event leaves a trace, and nothing is shortened.
    pub(crate) verbose: bool,
    /// Lines of a command's output.
    pub(crate) output_lines: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: None, thinking: false, verbose: false, output_lines: 20 }
    }
}

/// Lines of a diff that nobody has to approve.
const DIFF_LINES: usize = 80;

/// Matches or files listed of a search.
const MATCHES: usize = 5;

/// A whole diff, for a terminal with so many columns.
pub(crate) fn diff_lines(diff: &str, look: Look) -> Vec<String> {
    diff::lines(diff, &Page::new(look.width), 0, usize::MAX)
}

/// A run on its way to the terminal.
pub(crate) struct Live {
    look: Look,
    run: RunId,
    page: Page,
    /// What streams in, and how much of its block was there already.
    flow: Option<(u64, Flow)>,
    streamed: HashMap<u64, String>,
    turn: u64,
    calls: HashMap<String, Call>,
    proposed: Vec<String>,
    /// Diffs by artifact, and whether they were shown.
    patches: HashMap<String, (String, bool)>,
    /// Questions by approval, for their calls.
    questions: HashMap<String, Option<String>>,
    gates: Gates,
    tally: Tally,
}

impl Live {
    pub(crate) fn new(run: RunId, look: Look) -> Self {
        Self {
            look,
            run,
            page: Page::new(look.width),
            flow: None,
            streamed: HashMap::new(),
            turn: 0,
            calls: HashMap::new(),
            proposed: Vec::new(),
            patches: HashMap::new(),
            questions: HashMap::new(),
            gates: Gates::default(),
            tally: Tally::default(),
        }
    }

    /// The text of a patch.
    pub(crate) fn learn_patch(&mut self, artifact_id: String, diff: String) {
        self.patches.insert(artifact_id, (diff, false));
    }

    /// What one event adds to the screen.
    pub(crate) fn take(&mut self, at: UnixNanos, payload: &Payload) -> String {
        self.tally.moment(at);
        match payload {
            Payload::RunStarted(started) => self.begun(started),
            // What R1 tells the model of phases and gates stands on the screen already.
            Payload::UserMessageAppended(message) if message.by.as_deref() == Some("system") && !self.look.verbose => {}
            Payload::UserMessageAppended(message) => self.heard(&message.content),
            Payload::TurnStarted(started) => {
                self.turn = started.turn_index.unwrap_or(self.tally.turns);
                self.streamed.clear();
                self.proposed.clear();
            }
            Payload::ReasoningEmitted(reasoning) => self.thought(&reasoning.content),
            Payload::AssistantMessageCompleted(turn) => self.turn_completed(turn),
            Payload::ToolCallScheduled(call) => {
                self.tally.tool_calls += u64::from(call.attempt <= 1);
                let input = json::from_raw(&call.args);
                let (turn, tool) = (self.turn, &call.tool);
                let known = self.calls.entry(call.call_id.clone());
                let shown = known.or_insert_with(|| Call::new(tool.clone(), Value::Null, turn));
                if !input.is_null() {
                    shown.input = input;
                }
                shown.invoke(call.kind.as_deref().unwrap_or_default(), &mut self.page);
            }
            Payload::ToolCallCompleted(done) => {
                if let Some(call) = self.calls.get_mut(&done.call_id) {
                    call.completed(done, &mut self.page);
                }
            }
            Payload::ToolCallFailed(failed) => {
                if let Some(call) = self.calls.get_mut(&failed.call_id) {
                    call.failed(failed, &mut self.page);
                }
            }
            Payload::SideEffectRecorded(effect) if effect.name == "retry.delay_ms" => {
                let wait = duration(json::from_raw(&effect.value).as_u64().unwrap_or(0));
                self.page.join(Block::Notice);
                self.page.line(&format!("{DIM}  trying again in {wait}{DIM:#}"));
            }
            Payload::SideEffectRecorded(effect) if effect.name == GATE_EVIDENCE => self.gates.saw(effect),
            Payload::SideEffectRecorded(_) => self.unknown(payload),
            Payload::BudgetExceeded(exceeded) => {
                self.notice(BAD, &format!("the budget is used up: {} at {}", exceeded.limit, budget(exceeded)));
            }
            Payload::ContextTruncated(cut) => self.notice(
                NOTICE,
                &format!("the conversation was compacted from {} to {} tokens", cut.tokens_before, cut.tokens_after),
            ),
            Payload::RunCompleted(_) => self.ended(GOOD, "✓", "completed", ""),
            Payload::RunFailed(failed) => {
                self.ended(BAD, "✗", &format!("failed ({})", one_line(&failed.error_type, 40)), &failed.error);
            }
            Payload::RunCancelled(cancelled) => self.ended(NOTICE, "✗", "cancelled", &cancelled.reason),
            Payload::RunResumed(resumed) => self.notice(NAME, &resumed_words(resumed)),
            Payload::TurnFailed(failed) => self.turn_failed(failed.will_retry == Some(true)),
            Payload::Typed(typed) => self.typed(typed, payload),
            Payload::Other(..) => self.unknown(payload),
        }
        self.page.take()
    }

    /// Learns of an event that is not to be shown. What comes after it begins on a line of its own.
    pub(crate) fn pass_over(&mut self, at: UnixNanos, payload: &Payload) {
        self.take(at, payload);
        self.flow = None;
        self.page.turn();
    }

    /// Says what no event says. What streams in goes on below it.
    pub(crate) fn interject(&mut self, text: &str) -> String {
        if let Some((_, flow)) = &mut self.flow {
            flow.restart();
        }
        self.marked(NOTICE, text);
        self.page.take()
    }

    fn typed(&mut self, event: &Typed, payload: &Payload) {
        use data::{
            ApprovalRequested, ApprovalResolved, ApprovalTimedOut, AssistantTextComplete, AssistantTextDelta,
            AssistantThinkingDelta, AssistantToolCallProposed, CostBudgetWarning, ErrorToolUnavailable, ErrorUpstream,
            GapRunDisconnected, GateDecision, GateOverride, PhaseTransition, PhaseTransitionRefused, PolicyToolAllowed,
            PolicyToolBlocked, ToolEditProposed, ToolFileWriteProposed, ToolGlobCompleted, ToolGrepCompleted,
            ToolMultiEditProposed, ToolShellCommand, ToolShellExited, ToolShellOutputChunk, ToolTodoWriteUpdated,
        };
        let known = match event.r#type.as_str() {
            AssistantTextDelta::TYPE => {
                read(event).map(|delta: AssistantTextDelta| self.delta(delta.block_index, &delta.delta))
            }
            AssistantTextComplete::TYPE => read(event).map(|block| self.block(&block)),
            AssistantThinkingDelta::TYPE => Some(()),
            AssistantToolCallProposed::TYPE => read(event).map(|call| self.proposed(call)),
            ApprovalRequested::TYPE => read(event).map(|request| self.asked(&request)),
            ApprovalResolved::TYPE => read(event).map(|answer| self.answered(&answer)),
            ApprovalTimedOut::TYPE => read(event).map(|lapsed: ApprovalTimedOut| {
                self.notice(NOTICE, &format!("nobody answered within {}", duration(lapsed.after_seconds * 1000)));
            }),
            PolicyToolBlocked::TYPE => read(event).map(|blocked: PolicyToolBlocked| self.blocked(&blocked)),
            PolicyToolAllowed::TYPE => read(event).map(|allowed: PolicyToolAllowed| {
                if let Some(call) = self.calls.get_mut(&allowed.tool_call_id) {
                    call.allowed_by = Some(one_line(&allowed.reason, 60));
                }
            }),
            ToolShellCommand::TYPE => read(event).map(|command: ToolShellCommand| {
                if let Some(call) = self.calls.get_mut(&command.tool_call_id) {
                    call.sandbox = Some(command.sandbox_layer);
                }
            }),
            ToolShellOutputChunk::TYPE => read(event).map(|chunk: ToolShellOutputChunk| {
                let max = if self.look.verbose { usize::MAX } else { self.look.output_lines };
                if let Some(call) = self.calls.get_mut(&chunk.tool_call_id) {
                    call.chunk(&chunk, max, &mut self.page);
                }
            }),
            ToolShellExited::TYPE => read(event).map(|exited: ToolShellExited| {
                let max = if self.look.verbose { usize::MAX } else { self.look.output_lines };
                if let Some(call) = self.calls.get_mut(&exited.tool_call_id) {
                    call.exited(exited, max, &mut self.page);
                }
            }),
            ToolEditProposed::TYPE => {
                read(event).map(|edit: ToolEditProposed| self.edit(&edit.tool_call_id, &[edit.patch_artifact_id]))
            }
            ToolFileWriteProposed::TYPE => {
                read(event).map(|edit: ToolFileWriteProposed| self.edit(&edit.tool_call_id, &[edit.patch_artifact_id]))
            }
            ToolMultiEditProposed::TYPE => {
                read(event).map(|edit: ToolMultiEditProposed| self.edit(&edit.tool_call_id, &edit.patch_artifact_ids))
            }
            ToolGlobCompleted::TYPE => read(event)
                .map(|found: ToolGlobCompleted| self.found(&found.tool_call_id, &found.matches, found.match_count)),
            ToolGrepCompleted::TYPE => read(event).map(|found: ToolGrepCompleted| {
                let line = |hit: &data::GrepMatch| format!("{}:{}: {}", hit.path, hit.line, hit.text.trim());
                let lines: Vec<_> = found.matches.iter().take(MATCHES).map(line).collect();
                self.found(&found.tool_call_id, &lines, found.match_count);
            }),
            ToolTodoWriteUpdated::TYPE => read(event).map(|list| self.todos(&list)),
            GateDecision::TYPE => read(event).map(|decision: GateDecision| {
                self.finish_flow();
                self.gates.decided(&decision, self.look.verbose, &mut self.page);
            }),
            GateOverride::TYPE => read(event).map(|given: GateOverride| self.gates.overridden(&given, &mut self.page)),
            PhaseTransition::TYPE => read(event).map(|step| gate::went_on(&step, &mut self.page)),
            PhaseTransitionRefused::TYPE => read(event).map(|step| gate::refused(&step, &mut self.page)),
            CostBudgetWarning::TYPE => read(event).map(|warning| self.budget_warning(&warning)),
            ErrorUpstream::TYPE => read(event).map(|error| self.upstream(&error)),
            ErrorToolUnavailable::TYPE => read(event).map(|error: ErrorToolUnavailable| {
                self.notice(NOTICE, &format!("{} is not available: {}", error.tool_name, error.reason));
            }),
            GapRunDisconnected::TYPE => read(event)
                .map(|_: GapRunDisconnected| self.notice(NOTICE, "the process that worked on this run is gone")),
            _ => None,
        };
        if known.is_none() {
            self.unknown(payload);
        }
    }

    fn begun(&mut self, started: &RunStarted) {
        self.page.begin(Block::Notice);
        let workspace = started.workspace.as_ref().map(json::from_raw).unwrap_or_default();
        let place = workspace.get("path").and_then(Value::as_str).unwrap_or_default();
        let model = format!("{}/{}", started.provider_id, started.model_id);
        self.page.line(&format!("{BOLD}r1{BOLD:#} {DIM}{} · {}{DIM:#}", self.run, one_line(&model, 60)));
        if !place.is_empty() {
            let place = self.page.fit(place, 6);
            self.page.line(&format!("{DIM}   in {place}{DIM:#}"));
        }
        if let Some(origin) = started.resumed_from.as_ref().or(started.forked_from.as_ref()).map(json::from_raw) {
            let way = if started.forked_from.is_some() { "forked from" } else { "goes on from" };
            let run = origin.get("run_id").and_then(Value::as_str).unwrap_or_default();
            let seq = origin.get("seq").and_then(Value::as_u64).unwrap_or(0);
            self.page.line(&format!("{DIM}   {way} {} at event {seq}{DIM:#}", one_line(run, 40)));
        }
    }

    fn heard(&mut self, text: &str) {
        self.finish_flow();
        self.page.begin(Block::Notice);
        for (line, at) in self.page.fold(text, 2).into_iter().zip(0..) {
            let mark = if at == 0 { "›" } else { " " };
            self.page.line(&format!("{NAME}{mark}{NAME:#} {BOLD}{line}{BOLD:#}"));
        }
        // The next thing said to the model stands below it, not in it.
        self.page.join(Block::Question(String::new()));
    }

    fn delta(&mut self, block: u64, delta: &str) {
        if self.flow.as_ref().is_some_and(|(open, _)| *open != block) {
            self.finish_flow();
        }
        self.streamed.entry(block).or_default().push_str(delta);
        let (_, flow) = self.flow.get_or_insert_with(|| (block, Flow::new(2)));
        if self.page.begin(Block::Said(self.turn, block)) {
            self.page.part(&format!("{GOOD}●{GOOD:#} "));
        }
        let text = flow.push(delta, self.page.width);
        self.page.part(&text);
    }

    /// A whole block: what of it has not streamed in yet.
    fn block(&mut self, block: &data::AssistantTextComplete) {
        let streamed = self.streamed.remove(&block.block_index).unwrap_or_default();
        if let Some(rest) = block.text.strip_prefix(&streamed).filter(|rest| !rest.is_empty()) {
            self.delta(block.block_index, rest.trim_end());
        }
        self.finish_flow();
    }

    fn finish_flow(&mut self) {
        if let Some((_, mut flow)) = self.flow.take() {
            let rest = flow.finish(self.page.width);
            self.page.part(&rest);
        }
        self.page.end_line();
    }

    fn thought(&mut self, text: &str) {
        if !self.look.thinking || text.trim().is_empty() {
            return;
        }
        self.finish_flow();
        self.page.begin(Block::Thought);
        let mut flow = Flow::new(2);
        let shown = flow.push(text.trim(), self.page.width) + &flow.finish(self.page.width);
        self.page.part(&format!("{DIM}∴ {shown}{DIM:#}\n"));
    }

    fn turn_completed(&mut self, turn: &AssistantMessageCompleted) {
        self.finish_flow();
        self.tally.turn(turn);
        if self.proposed.len() > 1 {
            for (call_id, label) in self.proposed.iter().zip(('a'..='z').cycle()) {
                if let Some(call) = self.calls.get_mut(call_id) {
                    call.label = Some(label);
                }
            }
        }
    }

    fn turn_failed(&mut self, will_retry: bool) {
        let said_something = !self.streamed.is_empty();
        self.finish_flow();
        self.streamed.clear();
        self.proposed.clear();
        if said_something && will_retry {
            self.page.join(Block::Notice);
            self.page.line(&format!("{DIM}  what it said so far does not count{DIM:#}"));
        }
    }

    fn proposed(&mut self, call: data::AssistantToolCallProposed) {
        self.proposed.push(call.tool_call_id.clone());
        self.calls.insert(call.tool_call_id, Call::new(call.tool_name, Value::Object(call.input), self.turn));
    }

    fn asked(&mut self, request: &data::ApprovalRequested) {
        self.finish_flow();
        let ids = request.patch_artifact_ids.clone().unwrap_or_default();
        let mut diffs = Vec::new();
        for id in ids {
            let lines = self.diff(&id, 2, usize::MAX);
            diffs.push((id, lines));
        }
        self.questions.insert(request.approval_id.clone(), request.tool_call_id.clone());
        self.gates.asked(request);
        question::asked(request, &diffs, &mut self.page);
    }

    fn answered(&mut self, answer: &data::ApprovalResolved) {
        question::answered(answer, &mut self.page);
        let call = self.questions.remove(&answer.approval_id).flatten().and_then(|id| self.calls.get_mut(&id));
        if let (Some(call), Some(input)) = (call, &answer.edited_input) {
            call.input = Value::Object(input.clone());
        }
    }

    fn blocked(&mut self, blocked: &data::PolicyToolBlocked) {
        self.finish_flow();
        let rule = blocked.policy_id.as_ref().map(|id| format!(" (rule {id})")).unwrap_or_default();
        let why = format!("not allowed: {}{rule}", blocked.reason);
        match self.calls.get_mut(&blocked.tool_call_id) {
            Some(call) => call.refused(&why, &mut self.page),
            None => self.notice(BAD, &why),
        }
    }

    fn edit(&mut self, call_id: &str, patches: &[String]) {
        let max = if self.look.verbose { usize::MAX } else { DIFF_LINES };
        for id in patches {
            if self.patches.get(id).is_none_or(|(_, shown)| *shown) {
                continue;
            }
            let taken = self.calls.get(call_id).map_or(2, Call::taken);
            let lines = self.diff(id, taken, max);
            if let Some(call) = self.calls.get_mut(call_id) {
                lines.iter().for_each(|line| call.body(line, &mut self.page));
            }
        }
    }

    fn diff(&mut self, artifact_id: &str, taken: usize, max: usize) -> Vec<String> {
        let Some((diff, shown)) = self.patches.get_mut(artifact_id) else { return Vec::new() };
        *shown = true;
        diff::lines(diff, &self.page, taken, max)
    }

    fn found(&mut self, call_id: &str, lines: &[String], total: u64) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        if total == 0 {
            return;
        }
        for line in lines.iter().take(MATCHES) {
            let line = self.page.fit(line, call.taken());
            call.body(&line, &mut self.page);
        }
        if let Some(more) = total.checked_sub(MATCHES as u64).filter(|more| *more > 0) {
            call.body(&format!("{DIM}… {more} more{DIM:#}"), &mut self.page);
        }
    }

    fn todos(&mut self, list: &data::ToolTodoWriteUpdated) {
        let Some(call) = self.calls.get_mut(&list.tool_call_id) else { return };
        for todo in &list.todos {
            let content = self.page.fit(&todo.content, 4);
            let line = match todo.status.as_str() {
                "completed" => format!("{GOOD}✓{GOOD:#} {DIM}{content}{DIM:#}"),
                "in_progress" => format!("{NAME}▸{NAME:#} {BOLD}{content}{BOLD:#}"),
                _ => format!("{DIM}○{DIM:#} {content}"),
            };
            call.body(&line, &mut self.page);
        }
    }

    fn budget_warning(&mut self, warning: &data::CostBudgetWarning) {
        let (used, cap) = (usd(warning.cumulative_cost_micros_usd), usd(warning.task_budget_micros_usd));
        self.notice(NOTICE, &format!("{} % of the budget is used: {used} of {cap}", warning.threshold_pct));
    }

    fn upstream(&mut self, error: &data::ErrorUpstream) {
        let status = if error.status == 0 { String::new() } else { format!(" {}", error.status) };
        let attempt = format!("attempt {} of {}", error.attempt, error.max_attempts);
        self.notice(NOTICE, &format!("{}{status}: {} ({attempt})", error.provider, error.message));
    }

    fn ended(&mut self, style: anstyle::Style, mark: &str, word: &str, why: &str) {
        self.finish_flow();
        self.page.begin(Block::End);
        let facts = self.tally.facts();
        let mut lines = self.page.gather(&facts, " · ", word.chars().count() + 4).into_iter();
        self.page.line(&format!("{style}{mark} {word}{style:#}  {}", lines.next().unwrap_or_default()));
        lines.for_each(|line| self.page.line(&format!("  {line}")));
        for line in self.page.fold(why, 2) {
            self.page.line(&format!("  {line}"));
        }
        self.page.line(&format!("{DIM}  {}{DIM:#}", self.run));
    }

    fn notice(&mut self, style: anstyle::Style, text: &str) {
        self.finish_flow();
        self.marked(style, text);
    }

    fn marked(&mut self, style: anstyle::Style, text: &str) {
        self.page.begin(Block::Notice);
        for (line, at) in self.page.fold(text, 2).into_iter().zip(0..) {
            let mark = if at == 0 { "!" } else { " " };
            self.page.line(&format!("{style}{mark}{style:#} {line}"));
        }
    }

    /// What has no look of its own.
    fn unknown(&mut self, payload: &Payload) {
        if !self.look.verbose {
            return;
        }
        self.finish_flow();
        let (kind, bytes) = (payload.kind(), payload.encode());
        let name = projection::type_of(Version::V2, kind, Some(&bytes)).into_owned();
        let data = r1_event::exchange::readable_payload(kind, &bytes);
        self.page.begin(Block::Notice);
        let line = self.page.fit(&format!("{name} {data}"), 2);
        self.page.line(&format!("{DIM}· {line}{DIM:#}"));
    }
}

fn read<T: EventData>(event: &Typed) -> Option<T> {
    T::read(event)
}

fn budget(exceeded: &r1_event::payload::BudgetExceeded) -> String {
    match exceeded.limit.as_str() {
        "usd" => format!("${} of ${}", exceeded.actual, exceeded.cap),
        _ => format!("{} of {}", exceeded.actual, exceeded.cap),
    }
}

fn resumed_words(resumed: &r1_event::payload::RunResumed) -> String {
    let open = match resumed.pending_calls {
        0 => String::new(),
        n => format!("; {} {} cut off", count(n.into(), "call"), if n == 1 { "was" } else { "were" }),
    };
    let message = match resumed.extra_message.as_str() {
        "" => String::new(),
        text => format!("\n› {text}"),
    };
    format!("resumed after event {}{open}{message}", resumed.at_seq)
}

#[cfg(test)]
mod tests;
