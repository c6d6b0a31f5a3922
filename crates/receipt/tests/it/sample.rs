//! Logs to make receipts of.

use r1_event::payload::{
    AssistantMessageCompleted, Payload, PlannedToolUse, RunCompleted, RunStarted, ToolCallCompleted, ToolCallFailed,
    ToolCallScheduled, TurnStarted, UserMessageAppended,
};
use r1_event::{Batch, Chain, Record, UnixNanos};
use r1_protocol::{data, json as cbor_json};
use r1_receipt::graph::Notes;
use r1_receipt::key::{KnownKey, SecretKey};
use r1_receipt::{Builder, Options, Report, Signed, Withhold, verify};
use serde_json::{Value as Json, json};

use crate::chance::Chance;

pub(crate) const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
pub(crate) const TASK: &str = "task_01K0E8M9ZR0C3D6E9F2G5H8J1K";

/// RFC 8032 §7.1, test 1.
pub(crate) fn key() -> SecretKey {
    let seed = r1_event::id::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
    SecretKey::from_seed(seed.try_into().unwrap())
}

pub(crate) fn known() -> [KnownKey; 1] {
    [KnownKey::bare(*key().public().as_bytes())]
}

pub(crate) fn check(bytes: &[u8]) -> Report {
    verify(bytes, &Options { keys: &known(), ..Options::default() })
}

pub(crate) fn verdict(bytes: &[u8]) -> String {
    check(bytes).verdict().to_string()
}

pub(crate) fn hash(label: &str) -> String {
    use sha2::Digest as _;
    r1_event::id::to_hex(&sha2::Sha256::digest(label))
}

/// A log in the making.
pub(crate) struct Log {
    batch: Batch,
    clock: i64,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self::of(RUN)
    }

    pub(crate) fn of(run: &str) -> Self {
        let batch = Batch::new(&Chain::new(run.parse().unwrap()));
        let mut log = Self { batch, clock: 1_777_000_000_000_000_000 };
        log.push(Payload::RunStarted(Box::new(RunStarted {
            schema_version: 2,
            goal: "mend the parser".into(),
            model_id: "claude-sonnet-4-5".into(),
            ..RunStarted::default()
        })));
        log
    }

    pub(crate) fn push(&mut self, payload: Payload) -> u64 {
        self.clock += 1_000_000;
        self.batch.push(UnixNanos(self.clock), payload).unwrap().get()
    }

    pub(crate) fn typed(&mut self, type_name: &str, data: &Json) -> u64 {
        self.push(Payload::Typed(data::typed(type_name, data)))
    }

    pub(crate) fn user(&mut self, text: &str) -> u64 {
        self.push(Payload::UserMessageAppended(UserMessageAppended { content: text.into(), ..Default::default() }))
    }

    pub(crate) fn turn(&mut self, turn_id: &str, calls: &[(&str, &str, Json)]) -> u64 {
        self.push(Payload::TurnStarted(TurnStarted { turn_id: turn_id.into(), ..Default::default() }));
        let planned = |(id, tool, args): &(&str, &str, Json)| PlannedToolUse {
            call_id: (*id).into(),
            tool: (*tool).into(),
            args: cbor_json::to_raw(args),
            ..Default::default()
        };
        self.push(Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: turn_id.into(),
            text: format!("thinking in {turn_id}"),
            stop_reason: "tool_use".into(),
            input_tokens: 4201,
            output_tokens: 312,
            cost_micros_usd: Some(4120),
            tool_uses: Some(calls.iter().map(planned).collect()),
            ..Default::default()
        })))
    }

    pub(crate) fn schedule(&mut self, turn_id: &str, call_id: &str, tool: &str, args: &Json, attempt: u32) -> u64 {
        self.push(Payload::ToolCallScheduled(ToolCallScheduled {
            call_id: call_id.into(),
            turn_id: turn_id.into(),
            tool: tool.into(),
            args: cbor_json::to_raw(args),
            attempt,
            ..Default::default()
        }))
    }

    pub(crate) fn complete(&mut self, call_id: &str, result: &Json, attempt: u32) -> u64 {
        self.push(Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: call_id.into(),
            result: cbor_json::to_raw(result),
            duration_ms: 31,
            attempt,
            ..Default::default()
        }))
    }

    pub(crate) fn fail(&mut self, call_id: &str, error_type: &str, attempt: u32) -> u64 {
        self.push(Payload::ToolCallFailed(ToolCallFailed {
            call_id: call_id.into(),
            error: "no such file".into(),
            error_type: error_type.into(),
            attempt,
            ..Default::default()
        }))
    }

    pub(crate) fn call(&mut self, turn_id: &str, call_id: &str, tool: &str, args: &Json) -> u64 {
        self.schedule(turn_id, call_id, tool, args, 1);
        self.complete(call_id, &json!("done"), 1)
    }

    /// One gate's decision; its seq.
    pub(crate) fn gate(&mut self, round: u64, transition: &str, place: &str, verdict: &str) -> u64 {
        let (boundary, gate_id) = place.split_once('/').unwrap();
        let (phase, boundary) = boundary.split_once('.').unwrap();
        self.typed(
            "gate.decision",
            &json!({
                "task_id": TASK, "round": round, "transition": transition, "phase": phase, "boundary": boundary,
                "gate_id": gate_id, "gate_version": "1", "verdict": verdict, "reason_code": "passed",
                "threshold": 1000, "blocker": true, "preset": "default", "preset_hash": hash("preset"),
                "inputs_hash": hash("inputs"), "duration_ms": 4, "score": 1000,
            }),
        )
    }

    pub(crate) fn transition(&mut self, round: u64, from: &str, to: &str, required: &[&str]) -> u64 {
        self.typed(
            "phase.transition",
            &json!({
                "task_id": TASK, "round": round, "from": from, "to": to, "preset": "default",
                "preset_hash": hash("preset"), "required": required,
            }),
        )
    }

    pub(crate) fn memory_write(&mut self, tier: &str, key: &str, value: &str, prior: Option<&str>) -> u64 {
        let mut data = json!({
            "tier": tier, "store": store_of(tier), "key": key, "by": "agent", "op": "set",
            "diff_hash": hash("diff"), "fingerprint": hash(value), "value": value,
        });
        if let Some(prior) = prior {
            data["prior_fingerprint"] = hash(prior).into();
        }
        self.typed("memory.write", &data)
    }

    pub(crate) fn memory_read(&mut self, tier: &str, key: &str, value: Option<&str>) -> u64 {
        let mut data =
            json!({ "tier": tier, "store": store_of(tier), "key": key, "by": "agent", "hit": value.is_some() });
        if let Some(value) = value {
            data["fingerprint"] = hash(value).into();
        }
        self.typed("memory.read", &data)
    }

    pub(crate) fn artifact(&mut self, id: &str, call_id: Option<&str>) -> u64 {
        let mut data = json!({
            "artifact_id": id, "kind": "patch", "size_bytes": 12, "summary": "a patch", "created_by_event_id": "evt_1",
            "digest": "blake3:00", "sha256": hash(id), "mime": "text/x-diff", "path": "src/lib.rs",
        });
        if let Some(call_id) = call_id {
            data["tool_call_id"] = call_id.into();
        }
        self.typed("artifact.created", &data)
    }

    pub(crate) fn end(&mut self) -> u64 {
        self.push(Payload::RunCompleted(RunCompleted { final_text: "done".into(), ..Default::default() }))
    }

    pub(crate) fn records(&self) -> &[Record] {
        self.batch.records()
    }

    pub(crate) fn receipt(&self) -> Signed {
        receipt(self.records())
    }
}

fn store_of(tier: &str) -> &'static str {
    match tier {
        "L0" => "working",
        "L1" => "episodic",
        "L2" => "semantic",
        _ => "procedural",
    }
}

pub(crate) fn builder(records: &[Record]) -> Builder {
    let mut builder = Builder::new(&[], Notes::default());
    builder.extend(records);
    builder
}

pub(crate) fn receipt(records: &[Record]) -> Signed {
    builder(records).sign(&key(), Withhold::default()).unwrap()
}

/// A log with every type of node in it, and a gate that was overridden.
pub(crate) fn full() -> Log {
    let mut log = Log::new();
    log.memory_read("L0", "name", Some("r1"));
    log.gate(1, "START>PLAN", "PLAN.entry/policy", "escalate");
    let decision = decision_id(log.records());
    log.typed(
        "gate.override",
        &json!({ "of": decision, "actor": { "kind": "operator", "id": "alice" }, "reason": "reviewed by hand",
                 "approval_id": "appr_01K0E8M9ZS2B5C8D1E4F7G0H3J" }),
    );
    log.transition(1, "START", "PLAN", &["PLAN.entry/policy"]);
    log.user("please mend it");
    let (read, net) = (json!({ "path": "src/lib.rs" }), json!({ "command": "curl http://127.0.0.1:9/" }));
    log.turn("T1", &[("call_a", "file_read", read.clone()), ("call_b", "shell", net)]);
    log.typed(
        "policy.tool_blocked",
        &json!({ "tool_call_id": "call_b", "tool_name": "shell", "reason": "no", "policy_id": "no_network" }),
    );
    log.schedule("T1", "call_a", "file_read", &read, 1);
    log.memory_write("L1", "plan", "read, then mend", None);
    log.artifact("art_1", Some("call_a"));
    log.complete("call_a", &json!("fn main() {}"), 1);
    log.memory_read("L1", "plan", Some("read, then mend"));
    log.typed(
        "skill.authoring_decision",
        &json!({ "wizard_id": "wiz_1", "step": 0, "stage": "identity", "question_id": "skill.name", "mode": "operator",
                 "answer": "mend", "interpretation": "{}", "confidence": 1000, "path": "name", "confirmed": true }),
    );
    log.typed(
        "beacon.event",
        &json!({ "kind": "session_opened", "beacon_id": "b1", "operator_id": "o1", "device_id": "d1", "chain": ["00"],
                 "bridge": "br", "detail": { "session_ref": "s1" } }),
    );
    log.typed(
        "run.child_finished",
        &json!({ "child_run_id": "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C", "final_status": "completed", "cost_micros_usd": 1,
                 "log_size": 2, "root_blake3": hash("b"), "root_sha256": hash("s"), "tool_call_id": "call_a" }),
    );
    log.turn("T2", &[]);
    log.end();
    log
}

/// The receipt id of the last gate decision of a log.
pub(crate) fn decision_id(records: &[Record]) -> String {
    let mut graph = r1_receipt::Graph::default();
    let steps: Vec<_> = records.iter().map(|record| graph.push(record)).collect();
    let nodes = steps.iter().flat_map(|step| &step.nodes);
    let mut decisions = nodes.filter(|node| node.node_type() == r1_receipt::NodeType::GateDecision);
    decisions.next_back().unwrap().id().to_string()
}

/// A log as chance has it, whose receipt is sound.
pub(crate) fn random(chance: &mut Chance) -> Log {
    let mut log = Log::new();
    let mut notes: Vec<(String, String)> = Vec::new();
    let phased = chance.one_in(3);
    if phased {
        log.gate(1, "START>PLAN", "PLAN.entry/policy", "allow");
        if chance.one_in(2) {
            log.gate(1, "START>PLAN", "PLAN.entry/composite", "allow");
        }
        log.transition(1, "START", "PLAN", &["PLAN.entry/policy"]);
    }
    for turn in 0..chance.below(4) {
        if chance.one_in(2) {
            log.user(&format!("message {turn}"));
        }
        let turn_id = format!("T{turn}");
        let ids: Vec<String> = (0..chance.below(3)).map(|call| format!("call_{turn}_{call}")).collect();
        let args = json!({ "n": chance.below(100), "text": "\"é\u{1f600}\n" });
        let calls: Vec<_> = ids.iter().map(|id| (id.as_str(), "file_read", args.clone())).collect();
        log.turn(&turn_id, &calls);
        for id in &ids {
            match chance.below(4) {
                0 => drop(log.typed(
                    "policy.tool_blocked",
                    &json!({ "tool_call_id": id, "tool_name": "file_read", "reason": "no" }),
                )),
                1 => {
                    log.schedule(&turn_id, id, "file_read", &args, 1);
                    log.fail(id, chance.pick(&["timeout", "tool", "cancelled", "outcome_unknown"]), 1);
                }
                _ => {
                    log.schedule(&turn_id, id, "file_read", &args, 1);
                    if chance.one_in(2) {
                        log.artifact(&format!("art_{id}"), Some(id));
                    }
                    log.complete(id, &json!(id), 1);
                }
            }
        }
        for _ in 0..chance.below(3) {
            let (tier, key) = (chance.pick(&["L1", "L2"]), format!("k{}", chance.below(2)));
            let place = format!("{tier}/{key}");
            let before = notes.iter().rev().find(|(name, _)| *name == place).map(|(_, value)| value.clone());
            if chance.one_in(2) {
                log.memory_read(tier, &key, before.as_deref());
            } else {
                let value = format!("v{}", chance.below(1000));
                log.memory_write(tier, &key, &value, before.as_deref());
                notes.push((place, value));
            }
        }
    }
    log.end();
    log
}
