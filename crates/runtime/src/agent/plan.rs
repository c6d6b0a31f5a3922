//! Runs without a model: the calls are in the run's first event, and are made one after the other.

use r1_event::Payload;
use serde_json::Value;

use super::Toolset;
use super::call::{Call, Stage};
use super::spec::PlannedCall;
use super::state::RunState;

/// The calls of a plan that the event `event_id` laid down, none of them begun.
pub(super) fn calls(plan: &[PlannedCall], event_id: &str) -> Vec<Call> {
    let call = |(number, planned): (usize, &PlannedCall)| Call {
        call_id: format!("call_{number}"),
        tool: planned.tool.clone(),
        input: Value::Object(planned.input.clone()),
        edited: false,
        redacted: false,
        event_id: event_id.to_owned(),
        prepared: None,
        allowed: false,
        attempts: 0,
        stage: Stage::Proposed,
        answer: None,
    };
    plan.iter().enumerate().map(call).collect()
}

impl RunState {
    /// Whether the run has no model.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        matches!(self.run_kind.as_str(), "shell" | "git" | "file")
    }

    /// The call whose turn it is; the others wait for its end.
    pub(super) fn planned_call(&self) -> Option<&Call> {
        self.calls.iter().find(|call| call.is_open())
    }

    /// What a run without a model does next.
    pub(super) fn decide_plan(&self, tools: &Toolset) -> Option<Payload> {
        if let Some(limit) = self.halted {
            return self.wind_up(limit);
        }
        if let Some(overrun) = self.overrun() {
            return Some(self.budget_exceeded_event(overrun, "post_call"));
        }
        if let Some(failed) = self.calls.iter().find(|call| matches!(call.answer, Some((_, true)))) {
            return Some(self.plan_failed(failed));
        }
        match self.planned_call() {
            Some(call) => self.decide_call(call, tools),
            None => Some(self.completed()),
        }
    }

    fn plan_failed(&self, call: &Call) -> Payload {
        let said = match &call.answer {
            Some((Value::String(text), _)) => text.lines().next().unwrap_or_default().to_owned(),
            Some((other, _)) => other.get("error").and_then(Value::as_str).unwrap_or("it failed").to_owned(),
            None => String::new(),
        };
        // A call that was never made was not allowed.
        let code = if call.attempts == 0 { "policy_denied" } else { "tool_failed" };
        self.failed(code, format!("{}: {said}", call.tool), true)
    }
}
