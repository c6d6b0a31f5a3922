//! `tool.started`, and the words of the events around every call.

use super::ToolKind;

words! {
    /// What became of a call beyond success and failure.
    ToolResult { Dispatched = "dispatched", ToolError = "tool_error", }

    /// How a call failed.
    ToolErrorType {
        Tool = "tool",
        Panic = "panic",
        Spawn = "spawn",
        Denied = "denied",
        OutcomeUnknown = "outcome_unknown",
    }

    /// Whether a failed call is known to have failed.
    ToolOutcome { Failed = "failed", Unknown = "unknown", }

    /// The cap that a call hit.
    ToolLimit { WallClock = "wall_clock", Output = "output", }
}

events! {
    /// A call's execution began.
    "tool.started" ToolStarted Core {
        identity { tool_call_id: String, }
        required { tool_name: String, kind: ToolKind, }
        optional { turn_index: u64, attempt: u64, }
    }
}
