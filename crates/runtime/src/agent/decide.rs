//! What the loop says next.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use r1_event::{Digest, Payload, UnixNanos, payload};
use r1_protocol::data::{self, EventData};
use r1_protocol::json;

use super::budget::Overrun;
use super::call::{Call, Stage};
use super::compact;
use super::mint;
use super::phases::Next;
use super::state::{Phase, RunState};
use crate::mcp::McpTool;
use crate::net::{NetClient, NetConfig};
use crate::policy::{Approver, Ruling, Situation, subject_hash};
use crate::tool::{self, BadInput, Subject, Tool, ToolSpec};

/// A person who says no twice to exactly the same is not asked a third time.
const MAX_REJECTIONS: u64 = 2;

/// Without a checkpoint for this long, one is due.
const CHECKPOINT_EVERY: i64 = 60_000_000_000;

/// The tools of a run, by name.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Toolset {
    /// The tools.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect() }
    }

    /// The tools of a run as its log describes them: good for deciding, not for running.
    #[must_use]
    pub fn recorded(state: &RunState) -> Self {
        let root = Path::new(&state.workspace_path);
        let wanted = |tool: &Arc<dyn Tool>| state.spec.tools.iter().any(|spec| spec.name == tool.spec().name);
        let net = NetClient::new(NetConfig::default());
        let own = net.map(|net| tool::builtin::all(root, &net, None)).unwrap_or_default();
        let foreign = state.spec.tools.iter().filter_map(McpTool::recorded).map(|tool| Arc::new(tool) as Arc<dyn Tool>);
        Self::new(own.into_iter().filter(wanted).chain(foreign))
    }

    /// The tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// What the model is told of them, in the order of their names.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| tool.spec())
    }

    /// Whether `call` has to be worked out before anything else is decided about it.
    pub(super) fn must_prepare(&self, call: &Call) -> bool {
        call.prepared.is_none()
            && self.get(&call.tool).is_some_and(|tool| tool.spec().prepares && tool.subject(&call.input).is_ok())
    }
}

impl RunState {
    /// The event that the loop writes now; `None` if it waits for something from outside.
    ///
    /// Call it again after each event: it always gives one at a time.
    #[must_use]
    pub fn decide(&self, tools: &Toolset) -> Option<Payload> {
        if self.terminal.is_some() || self.phase != Phase::Claimed {
            return None;
        }
        if self.is_planned() {
            return self.decide_plan(tools);
        }
        if self.run_kind != "agent_loop" {
            return None;
        }
        if self.turn.is_some() || self.phases.as_ref().is_some_and(|phases| phases.hears_a_gate()) {
            return None;
        }
        if let Some(failed) = &self.failed_turn {
            return Some(self.after_failed_turn(failed));
        }
        if !self.ticked {
            return Some(self.cost_tick());
        }
        if let Some(limit) = self.halted {
            return self.wind_up(limit);
        }
        if let Some(threshold) = self.due_warning() {
            return Some(self.budget_warning(threshold));
        }
        if let Some(overrun) = self.overrun() {
            return Some(self.budget_exceeded_event(overrun, "post_call"));
        }
        if let Some(event) = self.calls.iter().find_map(|call| self.decide_call(call, tools)) {
            return Some(event);
        }
        if self.calls.iter().any(Call::is_open) || self.checkpoint_is_due() {
            return None;
        }
        match self.next_of_phases() {
            Next::Write(event) => return Some(*event),
            Next::Wait => return None,
            Next::Model => {}
        }
        if self.needs_turn {
            return Some(self.next_turn());
        }
        // A run that goes on from another may find everything answered.
        let was_told = !self.conversation.messages().is_empty();
        let is_done = !self.spec.interactive && self.phases.is_none() && was_told;
        is_done.then(|| self.completed())
    }

    /// Whether the workspace should be saved before the loop goes on.
    pub(super) fn checkpoint_is_due(&self) -> bool {
        if self.turn.is_some() || !self.calls.is_empty() || !self.needs_turn || self.spent.turns == 0 {
            return false;
        }
        let (seq, at) = self.checkpoint.as_ref().map_or((0, self.created_at), |saved| (saved.seq.get(), saved.at));
        let events = self.last.get() - seq;
        events >= self.spec.checkpoint_events.max(1) || self.last_at.0.saturating_sub(at.0) >= CHECKPOINT_EVERY
    }

    pub(super) fn decide_call(&self, call: &Call, tools: &Toolset) -> Option<Payload> {
        match &call.stage {
            Stage::Waiting { .. } | Stage::Running { .. } | Stage::Closed => None,
            Stage::Reissue => Some(self.invoke(call, tools)),
            Stage::Approved if tools.must_prepare(call) => None,
            Stage::Approved => Some(self.invoke(call, tools)),
            Stage::Proposed => self.rule(call, tools),
        }
    }

    /// What policy says to a call that the model proposed.
    fn rule(&self, call: &Call, tools: &Toolset) -> Option<Payload> {
        // A call that cannot do anything is let through to fail, so that the model hears why.
        let Some(tool) = tools.get(&call.tool) else { return Some(self.invoke(call, tools)) };
        let subject = match tool.subject(&call.input) {
            Ok(subject) => subject,
            Err(BadInput(_)) => return Some(self.invoke(call, tools)),
        };
        if let Some(reason) = self.phases.as_ref().and_then(|phases| phases.refuses(&subject)) {
            return Some(blocked(call, tool.spec(), reason, None));
        }
        let hash = subject_hash(&call.tool, &call.input);
        if self.rejections.get(&hash).is_some_and(|times| *times >= MAX_REJECTIONS) {
            return Some(blocked(call, tool.spec(), "a person has refused exactly this before", None));
        }
        let secrets = matches!(&call.prepared, Some(Ok(prepared)) if prepared.contains_secrets);
        let situation = self.situation(secrets);
        let ruling = self.spec.policy.decide(tool.spec(), &subject, &self.grants, &situation);
        match ruling {
            // Before it is worked out: nothing is proposed that cannot be done.
            Ruling::Deny { reason, policy_id } => Some(blocked(call, tool.spec(), &reason, policy_id)),
            _ if tools.must_prepare(call) => None,
            _ if matches!(call.prepared, Some(Err(_))) => Some(self.invoke(call, tools)),
            Ruling::Run => Some(self.invoke(call, tools)),
            Ruling::Allowed { .. } if call.allowed => Some(self.invoke(call, tools)),
            Ruling::Allowed { reason, policy_id, grant_approval_id } => {
                let allowed = data::PolicyToolAllowed {
                    tool_call_id: call.call_id.clone(),
                    tool_name: call.tool.clone(),
                    reason,
                    policy_id,
                    grant_approval_id,
                    ..Default::default()
                };
                Some(allowed.to_payload())
            }
            Ruling::Ask { reason, approver, .. } => {
                Some(self.ask(call, tool.as_ref(), &subject, hash, reason, approver))
            }
        }
    }

    fn ask(
        &self,
        call: &Call,
        tool: &dyn Tool,
        subject: &Subject,
        subject_hash: Digest,
        reason: String,
        approver: Approver,
    ) -> Payload {
        let (argv, cwd) = match subject {
            Subject::Command { argv, cwd, .. } => (Some(argv.clone()), Some(cwd.clone())),
            _ => (None, None),
        };
        let patches = call.prepared.as_ref().and_then(|prepared| prepared.as_ref().ok());
        let patches = patches.map(|prepared| prepared.patches.clone()).filter(|patches| !patches.is_empty());
        let timeout = i64::try_from(self.spec.approval_timeout_s).unwrap_or(i64::MAX);
        let expires_at = UnixNanos(self.last_at.0.saturating_add(timeout.saturating_mul(1_000_000_000)));
        data::ApprovalRequested {
            approval_id: format!("appr_{}", self.mint(&format!("approval/{}", call.call_id))),
            tool_call_id: Some(call.call_id.clone()),
            kind: tool.spec().kind.as_str().into(),
            summary: subject.summary(&call.tool),
            policy_reason: reason,
            tool_name: Some(call.tool.clone()),
            input: call.input.as_object().cloned(),
            argv,
            cwd,
            patch_artifact_ids: patches,
            subject_hash: subject_hash.to_string(),
            expires_at: (self.spec.approval_timeout_s > 0).then(|| expires_at.into()),
            scopes: vec!["once".into(), "session".into()],
            approver: Some(approver.as_str().into()),
            ..Default::default()
        }
        .to_payload()
    }

    fn invoke(&self, call: &Call, tools: &Toolset) -> Payload {
        let spec = tools.get(&call.tool).map(|tool| tool.spec());
        let (mcp_server, mcp_tool) = spec.and_then(|spec| spec.mcp.clone()).unzip();
        Payload::ToolCallScheduled(payload::ToolCallScheduled {
            call_id: call.call_id.clone(),
            turn_id: self.last_turn_id.clone(),
            tool: call.tool.clone(),
            // A proposal says it already, unless it was changed since.
            args: if call.edited || self.is_planned() { json::to_raw(&call.input) } else { payload::Raw::default() },
            attempt: u32::try_from(call.attempts + 1).unwrap_or(u32::MAX),
            turn_index: Some(self.spent.turns.saturating_sub(1)),
            kind: Some(spec.map_or("builtin", |spec| spec.kind.as_str()).to_owned()),
            mcp_server,
            mcp_tool,
            ..Default::default()
        })
    }

    fn next_turn(&self) -> Payload {
        if self.spent.turns >= self.spec.max_turns {
            let message = format!("the run used all its {} turns without an answer", self.spec.max_turns);
            return self.failed("max_turns", message, true);
        }
        if let Some(rule) = self.spec.policy.model_instead_of(&self.model).filter(|_| !self.model_was_rewritten) {
            return data::PolicyModelRewrote {
                from_model: self.model.clone(),
                to_model: rule.instead.clone(),
                reason: rule.reason.clone().unwrap_or_else(|| "the policy wants another model".into()),
                policy_id: Some(rule.id.clone()),
                ..Default::default()
            }
            .to_payload();
        }
        if let Err(overrun) = self.allowance() {
            return self.budget_exceeded_event(overrun, "pre_call");
        }
        if self.must_compact() {
            let after = self.compacted();
            let count = |messages: usize| u32::try_from(messages).unwrap_or(u32::MAX);
            return Payload::ContextTruncated(payload::ContextTruncated {
                strategy: compact::STRATEGY.into(),
                tokens_before: signed(self.conversation.estimated_tokens()),
                tokens_after: signed(after.estimated_tokens()),
                messages_before: count(self.conversation.messages().len()),
                messages_after: count(after.messages().len()),
                ..Default::default()
            });
        }
        Payload::TurnStarted(payload::TurnStarted {
            turn_id: format!("turn_{}", self.mint("turn")),
            prompt_hash: Some(Bytes::copy_from_slice(self.conversation.hash().as_bytes())),
            input_tokens: signed(self.conversation.estimated_tokens()),
            turn_index: Some(self.spent.turns),
            model: Some(self.model.clone()),
            provider: Some(self.provider.clone()),
            ..Default::default()
        })
    }

    fn after_failed_turn(&self, failed: &super::state::FailedTurn) -> Payload {
        if !self.spec.interactive {
            return self.failed(&failed.code, failed.message.clone(), failed.retriable);
        }
        // A session outlives a turn that failed: it is closed, and people may say something else.
        Payload::AssistantMessageCompleted(Box::new(payload::AssistantMessageCompleted {
            turn_id: failed.turn_id.clone(),
            stop_reason: "error".into(),
            turn_index: Some(failed.index),
            cost_micros_usd: Some(0),
            duration_ms: Some(0),
            ..Default::default()
        }))
    }

    fn cost_tick(&self) -> Payload {
        let budget = Some(self.spec.budget.micros_usd).filter(|micros| *micros > 0);
        let spent = &self.spent;
        data::CostTick {
            cumulative_input_tokens: spent.input_tokens,
            cumulative_output_tokens: spent.output_tokens,
            cumulative_cost_micros_usd: spent.task_cost_micros_usd(),
            task_budget_micros_usd: budget,
            task_budget_remaining_micros_usd: budget.map(|budget| budget.saturating_sub(spent.task_cost_micros_usd())),
            run_cost_micros_usd: Some(spent.cost_micros_usd),
            ..Default::default()
        }
        .to_payload()
    }

    fn budget_warning(&self, threshold_pct: u64) -> Payload {
        data::CostBudgetWarning {
            threshold_pct,
            cumulative_cost_micros_usd: self.spent.task_cost_micros_usd(),
            task_budget_micros_usd: self.spec.budget.micros_usd,
            limit: Some("usd".into()),
            ..Default::default()
        }
        .to_payload()
    }

    #[expect(clippy::cast_precision_loss, reason = "the log's format has floats here; its integers stand beside them")]
    pub(super) fn budget_exceeded_event(&self, overrun: Overrun, place: &str) -> Payload {
        let in_log = |n: u64| match overrun.axis {
            super::Axis::Usd => n as f64 / 1e6,
            _ => n as f64,
        };
        Payload::BudgetExceeded(payload::BudgetExceeded {
            limit: overrun.axis.name().into(),
            cap: in_log(overrun.cap),
            actual: in_log(overrun.actual),
            r#where: place.into(),
            cumulative_cost_micros_usd: Some(self.spent.task_cost_micros_usd()),
            task_budget_micros_usd: Some(self.spec.budget.micros_usd),
            action: Some("halted".into()),
            ..Default::default()
        })
    }

    /// Ends a run whose budget is used up, once nothing is open.
    pub(super) fn wind_up(&self, limit: &str) -> Option<Payload> {
        if let Some((approval_id, _)) = self.approvals().next() {
            let cancelled = data::ApprovalResolved {
                approval_id: approval_id.to_owned(),
                decision: "cancelled".into(),
                by: "system".into(),
                comment: "the budget is used up".into(),
                ..Default::default()
            };
            return Some(cancelled.to_payload());
        }
        if self.calls.iter().any(|call| matches!(call.stage, Stage::Running { .. })) {
            return None;
        }
        Some(self.failed("budget_exceeded", format!("the budget of {limit} is used up"), false))
    }

    /// The run ends because it cannot go on.
    pub(crate) fn failed(&self, code: &str, message: String, retriable: bool) -> Payload {
        Payload::RunFailed(payload::RunFailed {
            error: message,
            error_type: code.into(),
            duration_ms: signed(self.duration_ms()),
            retriable: Some(retriable),
            turns: Some(self.spent.turns),
            ..Default::default()
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "the exact amount stands beside it")]
    pub(super) fn completed(&self) -> Payload {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Payload::RunCompleted(payload::RunCompleted {
            final_text: self.final_text.clone(),
            turn_count: count(self.spent.turns),
            tool_call_count: count(self.spent.tool_calls),
            total_cost_usd: self.spent.cost_micros_usd as f64 / 1e6,
            total_cost_micros_usd: Some(self.spent.cost_micros_usd),
            total_input_tokens: signed(self.spent.input_tokens),
            total_output_tokens: signed(self.spent.output_tokens),
            duration_ms: signed(self.duration_ms()),
            ..Default::default()
        })
    }

    fn situation(&self, contains_secrets: bool) -> Situation {
        Situation {
            mode: self.spec.approval,
            workspace_mode: self.workspace_mode.clone(),
            unattended: self.spec.unattended,
            contains_secrets,
        }
    }

    pub(super) fn mint(&self, purpose: &str) -> ulid::Ulid {
        mint::ulid(&self.run, self.last, self.last_at, purpose)
    }
}

fn blocked(call: &Call, spec: &ToolSpec, reason: &str, policy_id: Option<String>) -> Payload {
    let (mcp_server, mcp_tool) = spec.mcp.clone().unzip();
    data::PolicyToolBlocked {
        tool_call_id: call.call_id.clone(),
        tool_name: call.tool.clone(),
        reason: reason.into(),
        policy_id,
        kind: Some(spec.kind.as_str().into()),
        mcp_server,
        mcp_tool,
        ..Default::default()
    }
    .to_payload()
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
