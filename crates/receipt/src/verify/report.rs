//! What a check has to tell.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Events, Failure};
use crate::body::read_decimal;
use crate::file::Receipt;
use crate::json::{Object, Value};
use crate::key::Entry;
use crate::node::{NodeId, NodeType};
use crate::verdict::{Reason, Verdict};

/// The outcome of a check, and what the receipt says as far as it could be read.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What failed first, if anything did.
    pub failure: Option<Failure>,
    /// Size of the file in bytes.
    pub file_size: usize,
    /// How many events there are.
    pub events: usize,
    /// How many of each type.
    pub types: BTreeMap<&'static str, usize>,
    /// How many stubs of each kind.
    pub stubs: BTreeMap<&'static str, usize>,
    /// The receipt digest.
    pub digest: Option<String>,
    /// The signing key.
    pub key: KeyFacts,
    /// The run that is named.
    pub run: Option<RunFacts>,
    /// Transitions between phases.
    pub transitions: usize,
    /// Decisions of gates, without overrides.
    pub decisions: usize,
    /// Who overrode which gate.
    pub overrides: Vec<Override>,
    /// Runs that this one started.
    pub children: Vec<ChildRun>,
    /// Whether the log was read again.
    pub log_checked: bool,
    /// What was not checked, and why.
    pub warnings: Vec<String>,
}

/// The signing key as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFacts {
    /// Its name.
    pub kid: String,
    /// For whom it speaks.
    pub scope: Option<&'static str>,
    /// Who holds it.
    pub subject: Option<String>,
    /// From when it counts.
    pub not_before: Option<String>,
    /// Until when.
    pub not_after: Option<String>,
    /// Since when it does not, and why.
    pub revoked: Option<String>,
}

/// The log that a receipt names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The run.
    pub run_id: String,
    /// The first event that was there.
    pub first_seq: u64,
    /// How many events.
    pub size: u64,
    /// complete or open.
    pub state: String,
    /// completed, failed, cancelled or none.
    pub outcome: String,
    /// Unix nanoseconds of the last event, as the log says.
    pub at: i64,
    /// Hash of the last event.
    pub head_blake3: String,
    /// Root of the log's tree.
    pub root_blake3: String,
    /// Root of the same tree with SHA-256.
    pub root_sha256: String,
}

/// An operator's word over a gate's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// `EXECUTE.exit/syntax`.
    pub gate: String,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// A run that was started by this one, as it is named here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildRun {
    /// Place of the event.
    pub event_index: usize,
    /// The event.
    pub event_id: NodeId,
    /// The run.
    pub run_id: String,
    /// How many events it has.
    pub size: u64,
    /// Root of its log.
    pub root_blake3: String,
    /// The same with SHA-256.
    pub root_sha256: String,
    /// The digest of its receipt.
    pub receipt_digest: Option<String>,
}

impl Report {
    /// The report of a check that could not be made: a call that makes no sense, a file that cannot be read.
    #[must_use]
    pub fn not_made(reason: Reason) -> Self {
        Self { failure: Some(Failure::of(reason)), ..Self::default() }
    }

    pub(super) fn unread(file_size: usize, failure: Failure) -> Self {
        Self { failure: Some(failure), file_size, ..Self::default() }
    }

    pub(super) fn of(file_size: usize, receipt: &Receipt<'_>) -> Self {
        let mut report = Self {
            file_size,
            events: receipt.events.len(),
            digest: Some(receipt.digest().to_string()),
            ..Self::default()
        };
        report.key.kid = receipt.signing_key_id.to_string();
        for parts in receipt.events.iter().filter_map(|event| event.parts.as_ref()) {
            if let Some(node_type) = NodeType::from_word(&parts.type_name) {
                *report.types.entry(node_type.word()).or_default() += 1;
            }
            if let Some(stub) = parts.stub() {
                *report.stubs.entry(stub.word()).or_default() += 1;
            }
        }
        report
    }

    /// Reads what events say of the run, its gates and its children, whether or not it holds.
    pub(super) fn look_at(&mut self, events: &Events<'_>) {
        for (index, event) in events.list.iter().enumerate() {
            match event.node_type {
                NodeType::PhaseTransition => self.transitions += 1,
                NodeType::GateDecision => self.look_at_gate(&event.parts.body()),
                NodeType::Artifact => {
                    let body = event.parts.body();
                    match body.text("kind") {
                        Some("child_run") => self.children.extend(child(index, event.parts.id, &body)),
                        Some("run_log") if index + 1 == events.list.len() => self.run = run(&body),
                        _ => {}
                    }
                }
                NodeType::Thought
                | NodeType::ToolCall
                | NodeType::MemoryRead
                | NodeType::MemoryWrite
                | NodeType::SkillAuthoringDecision
                | NodeType::BeaconLedgerEvent => {}
            }
        }
    }

    fn look_at_gate(&mut self, body: &Object<'_>) {
        let Some(given) = body.get("override").and_then(Value::as_object) else {
            self.decisions += 1;
            return;
        };
        let part = |key| body.text(key).unwrap_or_default();
        self.overrides.push(Override {
            gate: format!("{}.{}/{}", part("phase"), part("boundary"), part("gate_id")),
            actor: given.text("actor").unwrap_or_default().into(),
            reason: given.text("reason").unwrap_or_default().into(),
        });
    }

    /// What it comes to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.failure.as_ref().map(|failure| failure.reason))
    }

    /// The report for programs.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let verdict = self.verdict();
        let failure = self.failure.as_ref();
        let overrides = self.overrides.iter().map(|given| {
            let Override { gate, actor, reason } = given;
            json!({ "gate": gate, "actor": actor, "reason": reason })
        });
        json!({
            "ok": verdict == Verdict::Valid,
            "verdict": verdict.word(),
            "reason": verdict.reason().map(|reason| reason.word()),
            "stage": verdict.reason().map(|reason| reason.stage().word()),
            "event_index": failure.and_then(|failure| failure.event_index),
            "event_id": failure.and_then(|failure| failure.event_id).map(|id| id.to_string()),
            "expected": failure.and_then(|failure| failure.expected.clone()),
            "found": failure.and_then(|failure| failure.found.clone()),
            "events": self.events,
            "types": self.types,
            "stubs": self.stubs,
            "digest": self.digest,
            "key": self.key.to_json(),
            "run": self.run.as_ref().map(RunFacts::to_json),
            "gates": { "transitions": self.transitions, "decisions": self.decisions },
            "overrides": overrides.collect::<Vec<_>>(),
            "log_checked": self.log_checked,
            "warnings": self.warnings,
        })
    }
}

impl KeyFacts {
    pub(super) fn describe(&mut self, entry: &Entry) {
        self.scope = Some(entry.scope.word());
        self.subject = Some(entry.subject.clone());
        self.not_before = Some(entry.not_before.to_string());
        self.not_after = entry.not_after.map(|end| end.to_string());
        self.revoked = entry.revocation.map(|revocation| revocation.to_string());
    }

    pub(super) fn owner(&self) -> String {
        [self.scope, self.subject.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn to_json(&self) -> Json {
        let Self { kid, scope, subject, not_before, not_after, revoked } = self;
        json!({
            "kid": kid,
            "scope": scope,
            "subject": subject,
            "not_before": not_before,
            "not_after": not_after,
            "revoked": revoked,
        })
    }
}

impl RunFacts {
    fn to_json(&self) -> Json {
        let Self { run_id, first_seq, size, state, outcome, at, head_blake3, root_blake3, root_sha256 } = self;
        json!({
            "run_id": run_id,
            "first_seq": first_seq,
            "size": size,
            "state": state,
            "outcome": outcome,
            "at": at.to_string(),
            "head_blake3": head_blake3,
            "root_blake3": root_blake3,
            "root_sha256": root_sha256,
        })
    }
}

fn run(body: &Object<'_>) -> Option<RunFacts> {
    let text = |key| body.text(key).unwrap_or_default().to_owned();
    let number = |key| body.int(key).and_then(|number| u64::try_from(number).ok());
    Some(RunFacts {
        run_id: text("run_id"),
        first_seq: number("first_seq").unwrap_or(1),
        size: number("size").unwrap_or_default(),
        state: text("state"),
        outcome: text("outcome"),
        // Without a time no date can be compared.
        at: read_decimal(body.text("at")?)?,
        head_blake3: text("head_blake3"),
        root_blake3: text("root_blake3"),
        root_sha256: text("root_sha256"),
    })
}

fn child(event_index: usize, event_id: NodeId, body: &Object<'_>) -> Option<ChildRun> {
    Some(ChildRun {
        event_index,
        event_id,
        run_id: body.text("run_id")?.into(),
        size: u64::try_from(body.int("size")?).ok()?,
        root_blake3: body.text("root_blake3")?.into(),
        root_sha256: body.text("root_sha256")?.into(),
        receipt_digest: body.text("receipt_digest").map(Into::into),
    })
}
