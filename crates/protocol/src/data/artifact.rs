//! `artifact.*`.

use super::{By, Object};

words! {
    /// What an artifact is.
    ArtifactKind {
        Patch = "patch",
        FileSnapshot = "file_snapshot",
        CommandOutput = "command_output",
        FetchedResource = "fetched_resource",
        SearchResults = "search_results",
        Image = "image",
        ToolResultBlob = "tool_result_blob",
        Commit = "commit",
        Skill = "skill",
    }

    /// How far an artifact is; all but patches are `created` for good.
    ArtifactStatus { Created = "created", Proposed = "proposed", Applied = "applied", Rejected = "rejected", }

    /// How an event and an artifact belong together.
    Relation { Consumed = "consumed", Produced = "produced", Attached = "attached", Reverts = "reverts", }

    /// What of an artifact changed.
    ArtifactField {
        Status = "status",
        AppliedAt = "applied_at",
        RejectedAt = "rejected_at",
        RevertedAt = "reverted_at",
        Pinned = "pinned",
    }
}

events! {
    /// An artifact exists; its body was durable before this event.
    "artifact.created" ArtifactCreated Artifact {
        identity { artifact_id: String, }
        required {
            kind: ArtifactKind,
            size_bytes: u64,
            summary: String,
            created_by_event_id: String,
            /// `blake3:` and hex.
            digest: String,
            sha256: String,
        }
        optional {
            mime: String,
            status: ArtifactStatus,
            name: String,
            path: String,
            tool_call_id: String,
            /// Whether a body that is never rewritten seems to hold a secret.
            contains_secrets: bool,
            /// What else is known of it, by kind.
            metadata: Object,
            /// What a patch starts from and makes: all that applying and reverting it needs.
            patch: Object,
        }
    }

    /// An event uses an artifact.
    "artifact.referenced" ArtifactReferenced Artifact {
        identity { artifact_id: String, }
        required { by_event_id: String, relation: Relation, }
    }

    /// A step in an artifact's life.
    "artifact.updated" ArtifactUpdated Artifact {
        identity { artifact_id: String, }
        required { field: ArtifactField, old_value: serde_json::Value, new_value: serde_json::Value, }
        optional { by: By, }
    }
}
