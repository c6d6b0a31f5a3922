//! Types of recorded runs, and families whose bodies others define.
//!
//! A source that does not tell a fact leaves the field out, so little is required here.

use super::{ChunkEncoding, Object, Stream};

events! {
    /// A source of this run's events.
    "source.attached" SourceAttached Added {
        identity {
            /// Number of the source in its run.
            n: u64,
        }
        required { agent: String, surface: String, }
        optional {
            version: String,
            session_id: String,
            path: String,
            argv: Vec<String>,
            endpoint: String,
            generation: u64,
        }
    }

    /// Bytes of a source are kept; announced before the events that cite them.
    "source.evidence" SourceEvidence Added {
        identity { n: u64, off: u64, len: u64, }
        required { records: u64, digest: String, }
        optional {
            /// The pieces that give the bytes back.
            rope: serde_json::Value,
        }
    }

    /// A source went away.
    "source.detached" SourceDetached Added {
        identity { n: u64, }
        optional { reason: String, }
    }

    /// A later record raised what a turn used.
    "turn.usage" TurnUsage Added {
        identity { turn_id: String, }
        required { usage: Object, }
    }

    /// A turn was stopped from outside.
    "turn.interrupted" TurnInterrupted Added {
        optional { turn_id: String, reason: String, }
    }

    /// Someone asked the agent to stop.
    "run.interrupt_requested" RunInterruptRequested Added {
        optional { by: String, reason: String, }
    }

    /// A hook of the agent ran.
    "hook.completed" HookCompleted Added {
        required { event: String, }
        optional { name: String, outcome: String, exit_code: i64, duration_ms: u64, }
    }

    /// Secrets were replaced before anything was kept.
    "redaction.applied_at_capture" RedactionAppliedAtCapture Added {
        identity { n: u64, off: u64, }
        required { spans: serde_json::Value, kinds: serde_json::Value, }
    }

    /// What a process said of which nothing more is known.
    "process.output" ProcessOutput Added {
        required { stream: Stream, data: String, byte_offset: u64, }
        optional { encoding: ChunkEncoding, }
    }

    /// A record that R1 does not understand; its evidence is complete.
    "opaque.record" OpaqueRecord Added {
        required { agent: String, surface: String, }
        optional { record_type: String, size: u64, }
    }
}

rows! {
    /// Two sources of a run were compared.
    "source.reconciled" Added Typed { identity { n: u64, } ..others }

    /// The agent itself put text into the context.
    "context.injected" Added Typed { ..others }

    /// The agent's conversation was taken back.
    "run.rolled_back" Added Typed { ..others }

    /// An exact request to a model.
    "model.request" Added Typed { ..others }

    /// An exact answer of a model.
    "model.response" Added Typed { ..others }

    /// Under which rules the agent works.
    "policy.context" Added Typed { ..others }

    /// Something about a recording that a person should know.
    "finding.*" Added Typed { optional { severity: String, } ..others }

    /// A record of a foreign agent.
    "agent.*" Added Typed { ..others }

    /// Appended through the API.
    "external.*" Added Typed { ..others }
}
