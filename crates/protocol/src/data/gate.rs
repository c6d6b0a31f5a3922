//! `phase.*` and `gate.*`.

use super::Actor;

words! {
    /// Phases of a task.
    Phase { Plan = "PLAN", Execute = "EXECUTE", Verify = "VERIFY", Commit = "COMMIT", End = "END", }

    /// Which border of a phase a gate guards.
    Boundary { Entry = "entry", Exit = "exit", }

    /// What a gate says.
    GateVerdict { Allow = "allow", Block = "block", Escalate = "escalate", }
}

events! {
    /// A task went on to another phase.
    "phase.transition" PhaseTransition Added {
        identity { task_id: String, round: u64, }
        required {
            from: String,
            to: Phase,
            preset: String,
            preset_hash: String,
            /// Gates that had to pass.
            required: Vec<String>,
        }
    }

    /// A task may not go on to another phase.
    "phase.transition_refused" PhaseTransitionRefused Added {
        identity { task_id: String, round: u64, }
        required {
            from: String,
            to: String,
            /// Gates that did not pass.
            missing: Vec<String>,
        }
    }

    /// A gate looked and decided.
    "gate.decision" GateDecision Added {
        identity { task_id: String, round: u64, gate_id: String, }
        required {
            transition: String,
            phase: String,
            boundary: Boundary,
            gate_version: String,
            verdict: GateVerdict,
            reason_code: String,
            threshold: u64,
            blocker: bool,
            preset: String,
            preset_hash: String,
            inputs_hash: String,
            duration_ms: u64,
        }
        optional { score: u64, evidence_hash: String, command: String, exit_code: i64, excluded: Vec<String>, }
    }

    /// A person overrode a gate.
    "gate.override" GateOverride Added owns actor {
        identity {
            /// The decision's id in the receipt.
            of: String,
        }
        required { actor: Actor, reason: String, }
        optional { approval_id: String, }
    }
}
