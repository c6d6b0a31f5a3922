//! `error.*`.

events! {
    /// A tool cannot be used.
    "error.tool_unavailable" ErrorToolUnavailable Core {
        required { tool_name: String, reason: String, }
    }

    /// A model cannot do what was asked.
    "error.model_capability_missing" ErrorModelCapabilityMissing Core {
        required { model: String, missing_capability: String, fallback_strategy: String, }
    }

    /// A request to a provider failed.
    "error.upstream" ErrorUpstream Core {
        required {
            provider: String,
            /// 0 without an HTTP answer.
            status: u64,
            message: String,
            retriable: bool,
            attempt: u64,
            max_attempts: u64,
        }
    }
}
