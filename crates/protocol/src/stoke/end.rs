//! What a run's last event says: the lines that close its stream.

use r1_event::payload::{RunCancelled, RunCompleted, RunFailed};
use serde_json::{Value, json};

use super::calls::Calls;
use super::money::{seconds, usd};
use super::totals::Totals;
use crate::data::Object;

/// How a run ended.
pub(super) enum Ending<'a> {
    Completed(&'a RunCompleted),
    Failed(&'a RunFailed),
    Cancelled(&'a RunCancelled),
}

impl Ending<'_> {
    /// The body of `stoke.session.end`.
    pub(super) fn session_end(&self, totals: &Totals) -> Object {
        let outcome = match self {
            Self::Completed(_) => "passed",
            Self::Failed(_) => "failed",
            Self::Cancelled(_) => "cancelled",
        };
        Object::from_iter([
            ("outcome".to_owned(), outcome.into()),
            ("cost_usd".to_owned(), usd(self.micros_usd(totals))),
            ("duration_s".to_owned(), seconds(self.duration_ms())),
        ])
    }

    /// The body of `result`.
    pub(super) fn result(&self, totals: &Totals, calls: &Calls) -> Object {
        let (subtype, said) = match self {
            Self::Completed(done) => ("success", ("result", Value::from(done.final_text.as_str()))),
            Self::Failed(failed) => {
                let subtype = match failed.error_type.as_str() {
                    "max_turns" => "error_max_turns",
                    "budget_exceeded" | "budget" => "error_max_budget_usd",
                    _ => "error_during_execution",
                };
                (subtype, ("errors", json!([failed.error])))
            }
            Self::Cancelled(cancelled) => ("error_during_execution", ("errors", json!([cancelled.reason]))),
        };
        let mut body = Object::new();
        let mut put = |key: &str, value: Value| body.insert(key.into(), value);
        put("subtype", subtype.into());
        put("is_error", (subtype != "success").into());
        put("duration_ms", self.duration_ms().into());
        put("duration_api_ms", totals.model_ms.into());
        put("num_turns", totals.turns.into());
        if !totals.stop_reason.is_empty() {
            put("stop_reason", totals.stop_reason.as_str().into());
        }
        put("total_cost_usd", usd(self.micros_usd(totals)));
        put("usage", totals.usage());
        put("modelUsage", totals.by_model());
        put("permission_denials", calls.denials().into());
        put(said.0, said.1);
        body
    }

    fn duration_ms(&self) -> u64 {
        let duration_ms = match self {
            Self::Completed(done) => done.duration_ms,
            Self::Failed(failed) => failed.duration_ms,
            Self::Cancelled(cancelled) => cancelled.duration_ms,
        };
        u64::try_from(duration_ms).unwrap_or(0)
    }

    fn micros_usd(&self, totals: &Totals) -> u64 {
        let told = if let Self::Completed(done) = self { done.total_cost_micros_usd } else { None };
        told.unwrap_or_else(|| totals.micros_usd())
    }
}
