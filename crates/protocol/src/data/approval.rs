//! `approval.*`.

use super::{By, Object, Time};

words! {
    /// What is to be approved: a call of some kind of tool, or something else.
    ApprovalKind {
        Shell = "shell",
        Git = "git",
        Edit = "edit",
        MultiEdit = "multi_edit",
        FileRead = "file_read",
        FileWrite = "file_write",
        Glob = "glob",
        Grep = "grep",
        TodoWrite = "todo_write",
        Http = "http",
        WebFetch = "web_fetch",
        WebSearch = "web_search",
        Mcp = "mcp",
        Agent = "agent",
        Memory = "memory",
        Builtin = "builtin",
        External = "external",
        Gate = "gate",
        SoftPass = "soft_pass",
        AcRewrite = "ac_rewrite",
        CriticalNote = "critical_note",
        Consent = "consent",
    }

    /// Who may answer.
    Approver { Any = "any", Human = "human", }

    /// The answer.
    Decision { Approved = "approved", Rejected = "rejected", Cancelled = "cancelled", }

    /// How far an answer reaches.
    Scope { Once = "once", Session = "session", Always = "always", }
}

events! {
    /// A call needs a person; shows exactly what will run.
    "approval.requested" ApprovalRequested Core {
        identity { approval_id: String, }
        required {
            kind: ApprovalKind,
            summary: String,
            policy_reason: String,
            /// BLAKE3 of the tool's name and its canonical input.
            subject_hash: String,
            expires_at: Option<Time>,
            scopes: Vec<Scope>,
        }
        optional {
            tool_call_id: String,
            tool_name: String,
            input: Object,
            argv: Vec<String>,
            cwd: String,
            patch_artifact_ids: Vec<String>,
            approver: Approver,
            options: Vec<Object>,
        }
    }

    /// Someone decided, or the run ended first.
    "approval.resolved" ApprovalResolved Core {
        identity { approval_id: String, }
        required { decision: Decision, by: By, comment: String, }
        optional {
            scope: Scope,
            /// Whether the approver changed the input.
            edited: bool,
            /// What runs instead, if so.
            edited_input: Object,
            grant: Object,
        }
    }

    /// Nobody answered.
    "approval.timed_out" ApprovalTimedOut Core {
        identity { approval_id: String, }
        required { after_seconds: u64, }
    }
}
