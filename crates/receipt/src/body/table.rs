//! The tables of bodies. A key that is not here is unknown.

use super::shape::Shape::{
    AnyObject, Bool, Count, EventId, Hash, Hashes, Int, KeyId, Nanos, PerMille, Signature, Text, Texts, Uint, Version,
    Words,
};
use super::shape::{Field, Shape};

pub(super) const TIERS: &[&str] = &["L0", "L1", "L2", "L3"];
/// Where each tier is kept, in the order of [`TIERS`].
pub(super) const STORES: &[&str] = &["working", "episodic", "semantic", "procedural"];

/// The phases that have an entry and an exit.
const PHASES: &[&str] = &["PLAN", "EXECUTE", "VERIFY", "COMMIT"];
const BY: &[&str] = &["agent", "runtime", "operator"];
const OUTCOMES: &[&str] = &["completed", "failed", "cancelled"];

pub(super) const ARTIFACT_KINDS: &[&str] = &[
    "patch",
    "file_snapshot",
    "command_output",
    "fetched_resource",
    "search_results",
    "image",
    "tool_result_blob",
    "commit",
    "skill",
];

const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

/// What every body has.
pub(super) const EVERY: &[Field] = &[must("at", Nanos), must("seq", Count)];

pub(super) const THOUGHT: &[Field] = &[
    must("turn_id", Text),
    must("model", Text),
    must("status", Words(&["complete", "failed", "cut"])),
    must("calls", Texts),
    must("input_tokens", Uint),
    must("output_tokens", Uint),
    must("cost_micros_usd", Uint),
    may("text_hash", Hash),
    may("reasoning_hash", Hash),
    may("prompt_blake3", Hash),
    may("user_input_hashes", Hashes),
    may("stop_reason", Text),
];

pub(super) const TOOL_CALL: &[Field] = &[
    must("call_id", Text),
    must("tool", Text),
    must("attempt", Uint),
    must("status", Words(&["ok", "error", "timeout", "cancelled", "denied", "unknown"])),
    may("args", Text),
    must("args_hash", Hash),
    must("args_form", Words(&["jcs", "cbor"])),
    may("result_hash", Hash),
    may("result_form", Words(&["jcs", "cbor", "text"])),
    must("duration_ms", Uint),
    may("turn_id", Text),
    may("error_type", Text),
    may("approval", Shape::Object(APPROVAL)),
];

const APPROVAL: &[Field] =
    &[must("decision", Words(&["approved", "denied"])), must("by", Text), may("id", Text), may("rule", Text)];

pub(super) const MEMORY_READ: &[Field] = &[
    must("tier", Words(TIERS)),
    must("store", Words(STORES)),
    must("key", Text),
    must("hit", Bool),
    must("by", Words(BY)),
    may("fingerprint", Hash),
    may("call_id", Text),
];

/// A MEMORY_READ that follows nothing: how a run begins.
pub(super) const ROOT: &[Field] = &[
    must("tier", Words(TIERS)),
    must("store", Words(STORES)),
    must("key", Text),
    must("hit", Bool),
    must("by", Words(BY)),
    may("fingerprint", Hash),
    may("call_id", Text),
    must("run_id", Text),
    may("link", Shape::Object(LINK)),
];

const LINK: &[Field] =
    &[must("relation", Words(&["child", "fork", "resume"])), must("run_id", Text), must("seq", Uint)];

pub(super) const MEMORY_WRITE: &[Field] = &[
    must("tier", Words(TIERS)),
    must("store", Words(STORES)),
    must("key", Text),
    must("op", Words(&["set", "delete"])),
    must("by", Words(BY)),
    must("diff_hash", Hash),
    may("fingerprint", Hash),
    may("prior_fingerprint", Hash),
    may("call_id", Text),
];

pub(super) const GATE_DECISION: &[Field] = &[
    must("task_id", Text),
    must("round", Count),
    must("transition", Text),
    must("phase", Words(PHASES)),
    must("boundary", Words(&["entry", "exit"])),
    must("gate_id", Text),
    must("gate_version", Text),
    must("verdict", Words(&["allow", "block", "escalate"])),
    must("reason_code", Text),
    must("threshold", PerMille),
    must("blocker", Bool),
    must("preset", Text),
    must("preset_hash", Hash),
    must("inputs_hash", Hash),
    must("duration_ms", Uint),
    may("score", PerMille),
    may("evidence_hash", Hash),
    may("command", Text),
    may("exit_code", Int),
    may("excluded", Texts),
    may("override", Shape::Object(OVERRIDE)),
];

const OVERRIDE: &[Field] = &[must("of", EventId), must("actor", Text), must("reason", Text), may("approval_id", Text)];

pub(super) const PHASE_TRANSITION: &[Field] = &[
    must("task_id", Text),
    must("round", Count),
    must("from", Text),
    must("to", Text),
    must("preset", Text),
    must("preset_hash", Hash),
    must("required", Texts),
];

pub(super) const ARTIFACT: &[Field] = &[
    must("kind", Words(ARTIFACT_KINDS)),
    must("media_type", Text),
    must("size", Uint),
    must("content_hash", Hash),
    may("artifact_id", Text),
    may("path", Text),
    may("phase", Text),
    may("commit", Text),
];

pub(super) const CHILD_RUN: &[Field] = &[
    must("kind", Words(&["child_run"])),
    must("run_id", Text),
    must("outcome", Words(OUTCOMES)),
    must("size", Uint),
    must("root_blake3", Hash),
    must("root_sha256", Hash),
    may("receipt_digest", Hash),
    may("task_id", Text),
];

pub(super) const RUN_LOG: &[Field] = &[
    must("kind", Words(&["run_log"])),
    must("run_id", Text),
    must("schema_version", Version),
    must("first_seq", Count),
    must("size", Count),
    must("head_blake3", Hash),
    must("root_blake3", Hash),
    must("root_sha256", Hash),
    must("state", Words(&["complete", "open"])),
    must("outcome", Words(&["completed", "failed", "cancelled", "none"])),
    must("erased", Uint),
    must("seal", Signature),
    must("seal_key_id", KeyId),
];

pub(super) const SKILL: &[Field] = &[
    must("wizard_id", Text),
    must("step", Uint),
    must("stage", Words(&["identity", "trigger", "procedure", "tools", "check"])),
    must("question_id", Text),
    must("mode", Words(&["operator", "llm-best-judgment"])),
    must("answer", Text),
    must("interpretation", Text),
    must("confidence", PerMille),
    must("path", Text),
    must("confirmed", Bool),
    may("revision_of", EventId),
];

pub(super) const BEACON: &[Field] = &[
    must("kind", Text),
    must("beacon_id", Text),
    must("operator_id", Text),
    must("device_id", Text),
    must("chain", Texts),
    must("bridge", Text),
    must("detail", AnyObject),
];

/// The kinds of beacon events, and what `detail` holds for each.
pub(super) const BEACON_KINDS: &[(&str, &[Field])] = &[
    ("registered", &[must("public_key_hash", Hash)]),
    ("claimed", &[must("challenge_hash", Hash), must("sas_verified", Bool)]),
    ("device_attached", &[must("label", Text), must("device_kind", Text)]),
    ("device_revoked", &[must("reason", Text)]),
    ("session_opened", &[must("session_ref", Text), may("token_id", Text)]),
    ("session_closed", &[must("session_ref", Text), must("reason", Text)]),
    (
        "token_issued",
        &[
            must("token_id", Text),
            must("subject_operator_id", Text),
            must("permissions", Texts),
            must("constitution_hash", Hash),
            must("expires_at", Nanos),
        ],
    ),
    ("token_used", &[must("token_id", Text), must("permission", Text)]),
    ("token_revoked", &[must("token_id", Text), must("reason", Text)]),
    ("delegate_created", &[must("parent_token_id", Text), must("child_token_id", Text)]),
    ("command", &[must("session_ref", Text), must("command_kind", Text), must("payload_hash", Hash)]),
    ("command_result", &[must("command_event", EventId), must("status", Text), may("result_hash", Hash)]),
    ("federation_handshake", &[must("origin_hub_id", Text), must("peer_hub_id", Text), must("session_ref", Text)]),
    ("advisory_signed", &[must("hub_id", Text), must("advisory_hash", Hash)]),
    (
        "trust_signal",
        &[must("issuer_hub_id", Text), must("signal_kind", Text), must("nonce_hash", Hash), must("verdict", Text)],
    ),
    ("attested", &[must("build_hash", Hash), may("constitution_hash", Hash), may("ledger_root_hash", Hash)]),
];
