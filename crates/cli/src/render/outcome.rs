//! A run's end as one line of JSON: the `result` line of the STOKE stream.

use r1_event::payload::AssistantMessageCompleted;
use r1_event::{Digest, Payload, RunId, UnixNanos};
use r1_protocol::data::{self, EventData};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::live::Tally;
use super::number::exact_usd;

/// Collects what the line says while events go by.
pub(crate) struct Outcome {
    run: RunId,
    model: String,
    tally: Tally,
    stop_reason: String,
    final_text: String,
    proposed: Map<String, Value>,
    denials: Vec<Value>,
    questions: Map<String, Value>,
    ending: Option<Ending>,
}

struct Ending {
    seq: u64,
    at: UnixNanos,
    hash: Digest,
    payload: Payload,
}

impl Outcome {
    pub(crate) fn new(run: RunId) -> Self {
        Self {
            run,
            model: String::new(),
            tally: Tally::default(),
            stop_reason: String::new(),
            final_text: String::new(),
            proposed: Map::new(),
            denials: Vec::new(),
            questions: Map::new(),
            ending: None,
        }
    }

    pub(crate) fn take(&mut self, seq: u64, at: UnixNanos, hash: Digest, payload: &Payload) {
        self.tally.moment(at);
        match payload {
            Payload::RunStarted(started) => self.model.clone_from(&started.model_id),
            Payload::AssistantMessageCompleted(turn) => self.turn(turn),
            Payload::Typed(typed) => {
                if let Some(call) = data::AssistantToolCallProposed::read(typed) {
                    let seen = json!({
                        "tool_name": call.tool_name,
                        "tool_use_id": call.tool_call_id,
                        "tool_input": call.input,
                    });
                    self.proposed.insert(call.tool_call_id, seen);
                } else if let Some(blocked) = data::PolicyToolBlocked::read(typed) {
                    self.denied(&blocked.tool_call_id);
                } else if let Some(asked) = data::ApprovalRequested::read(typed) {
                    self.questions.insert(asked.approval_id, asked.tool_call_id.into());
                } else if let Some(answer) = data::ApprovalResolved::read(typed) {
                    if answer.decision == data::Decision::Rejected {
                        self.refused(&answer.approval_id);
                    }
                } else if let Some(lapsed) = data::ApprovalTimedOut::read(typed) {
                    self.refused(&lapsed.approval_id);
                }
            }
            Payload::RunCompleted(_) | Payload::RunFailed(_) | Payload::RunCancelled(_) => {
                self.ending = Some(Ending { seq, at, hash, payload: payload.clone() });
            }
            _ => {}
        }
    }

    fn turn(&mut self, turn: &AssistantMessageCompleted) {
        self.tally.turn(turn);
        self.stop_reason.clone_from(&turn.stop_reason);
        if !turn.text.is_empty() {
            self.final_text.clone_from(&turn.text);
        }
    }

    fn refused(&mut self, approval_id: &str) {
        if let Some(Value::String(call)) = self.questions.get(approval_id).cloned() {
            self.denied(&call);
        }
    }

    fn denied(&mut self, call_id: &str) {
        self.denials.extend(self.proposed.get(call_id).cloned());
    }

    /// The line, once the run has ended.
    pub(crate) fn line(&self) -> Option<String> {
        let Ending { seq, at, hash, payload } = self.ending.as_ref()?;
        let (subtype, lines_before) = match payload {
            Payload::RunCompleted(_) => ("success", 1),
            Payload::RunFailed(failed) => match failed.error_type.as_str() {
                "max_turns" => ("error_max_turns", 1),
                "budget_exceeded" => ("error_max_budget_usd", 1),
                _ => ("error_during_execution", 1),
            },
            // The abort stands between the end of the session and the result.
            _ => ("error_during_execution", 2),
        };
        let usage = json!({
            "input_tokens": self.tally.input_tokens,
            "output_tokens": self.tally.output_tokens,
            "cache_read_input_tokens": self.tally.cache_read_tokens,
            "cache_creation_input_tokens": self.tally.cache_write_tokens,
        });
        let mut line = json!({
            "type": "result",
            "subtype": subtype,
            "is_error": subtype != "success",
            "ts": timestamp(*at),
            "uuid": line_uuid(hash, lines_before),
            "session_id": session_id(&self.run),
            "_stoke.dev/seq": seq,
            "duration_ms": self.tally.duration_ms(),
            "duration_api_ms": self.tally.model_ms,
            "num_turns": self.tally.turns,
            "stop_reason": self.stop_reason,
            "total_cost_usd": COST,
            "usage": usage,
            "modelUsage": { &self.model: {
                "inputTokens": self.tally.input_tokens,
                "outputTokens": self.tally.output_tokens,
                "cacheReadInputTokens": self.tally.cache_read_tokens,
                "cacheCreationInputTokens": self.tally.cache_write_tokens,
                "costUSD": COST,
            } },
            "permission_denials": self.denials,
        });
        match payload {
            Payload::RunFailed(failed) => line["errors"] = json!([failed.error]),
            Payload::RunCancelled(cancelled) => line["errors"] = json!([cancelled.reason]),
            Payload::RunCompleted(done) => line["result"] = done.final_text.as_str().into(),
            _ => line["result"] = self.final_text.as_str().into(),
        }
        Some(written(&line, self.tally.cost_micros_usd))
    }
}

/// Stands where the cost goes: a number that must be neither rounded nor given an exponent.
const COST: &str = "\u{0}cost";

/// One line: keys in order, no character that ends a line for some reader, money exact.
fn written(line: &Value, cost_micros_usd: u64) -> String {
    let cost = exact_usd(cost_micros_usd);
    let text = line.to_string().replace("\"\\u0000cost\"", &cost);
    text.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// RFC 3339 in UTC, without trailing zeros.
fn timestamp(at: UnixNanos) -> String {
    let text = data::Time::from(at).to_string();
    let (seconds, fraction) = text.trim_end_matches('Z').split_once('.').unwrap_or((&text, ""));
    match fraction.trim_end_matches('0') {
        "" => format!("{}Z", seconds.trim_end_matches('Z')),
        fraction => format!("{seconds}.{fraction}Z"),
    }
}

/// The run's 128 bits as a UUID.
fn session_id(run: &RunId) -> String {
    run.ulid_text()
        .and_then(|text| ulid::Ulid::from_string(text).ok())
        .map(|ulid| hyphenated(ulid.0))
        .unwrap_or_default()
}

/// Names a line of the stream by the event it came from.
fn line_uuid(hash: &Digest, index: u32) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"stoke-line-v1\0");
    hasher.update(hash.as_bytes());
    hasher.update(index.to_be_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    let (version, variant) = (0xffff_ffff_ffff_0fff_ffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff_3fff_ffff_ffff_ffff);
    let bits = u128::from_be_bytes(bytes) & version & variant;
    hyphenated(bits | 0x4000_8000_0000_0000_0000)
}

fn hyphenated(bits: u128) -> String {
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use r1_event::payload::{RunCancelled, RunCompleted, RunFailed, RunStarted};

    use super::*;

    const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

    fn outcome(ending: Payload) -> Value {
        let mut outcome = Outcome::new(RUN.parse().unwrap());
        let started = RunStarted { model_id: "demo".into(), ..RunStarted::default() };
        let turn = AssistantMessageCompleted {
            stop_reason: "end_turn".into(),
            input_tokens: 7,
            cost_micros_usd: Some(12),
            ..AssistantMessageCompleted::default()
        };
        let proposed = data::AssistantToolCallProposed {
            tool_call_id: "c1".into(),
            tool_name: "shell".into(),
            ..Default::default()
        };
        let blocked = data::PolicyToolBlocked { tool_call_id: "c1".into(), ..Default::default() };
        let events = [
            Payload::RunStarted(Box::new(started)),
            proposed.to_payload(),
            Payload::AssistantMessageCompleted(Box::new(turn)),
            blocked.to_payload(),
            ending,
        ];
        for (event, seq) in events.iter().zip(1..) {
            let at = UnixNanos(1_777_000_000_000_000_000 + i64::try_from(seq).unwrap() * 250_000_000);
            outcome.take(seq, at, Digest::blake3(b"event"), event);
        }
        let line = outcome.line().unwrap();
        assert!(line.contains(r#""total_cost_usd":0.000012"#), "exact and without an exponent: {line}");
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_finished_run_is_one_line_for_scripts() {
        let done = RunCompleted { final_text: "one\u{2028}two".into(), ..RunCompleted::default() };
        insta::assert_snapshot!(serde_json::to_string_pretty(&outcome(Payload::RunCompleted(done))).unwrap());
    }

    #[test]
    fn the_way_it_failed_is_told() {
        let failed = |code: &str| {
            let failed = RunFailed { error: "why".into(), error_type: code.into(), ..RunFailed::default() };
            outcome(Payload::RunFailed(failed))
        };
        assert_eq!(failed("max_turns")["subtype"], "error_max_turns");
        assert_eq!(failed("budget_exceeded")["subtype"], "error_max_budget_usd");
        let other = failed("model_error");
        assert_eq!((&other["subtype"], &other["is_error"]), (&"error_during_execution".into(), &true.into()));
        assert_eq!((&other["errors"], other.get("result")), (&json!(["why"]), None));
        let cancelled = RunCancelled { reason: "enough".into(), ..RunCancelled::default() };
        assert_eq!(outcome(Payload::RunCancelled(cancelled))["errors"], json!(["enough"]));
    }
}
