//! `policy.*`.

use super::ToolKind;

words! {
    /// What became of a blocked call.
    BlockedResult { Blocked = "blocked", }
}

events! {
    /// A rule refused a call; this closes it.
    "policy.tool_blocked" PolicyToolBlocked Core {
        identity { tool_call_id: String, }
        required { tool_name: String, reason: String, }
        optional {
            policy_id: String,
            kind: ToolKind,
            mcp_server: String,
            mcp_tool: String,
            result: BlockedResult,
        }
    }

    /// A rule or a grant let a call pass that would have been asked for.
    "policy.tool_allowed" PolicyToolAllowed Added {
        identity { tool_call_id: String, }
        required { tool_name: String, reason: String, }
        optional { policy_id: String, grant_approval_id: String, }
    }

    /// Another model than the one asked for answers.
    "policy.model_rewrote" PolicyModelRewrote Core {
        required { from_model: String, to_model: String, reason: String, }
        optional { policy_id: String, }
    }
}
