//! `mission.*`, `worktree.*`, `verify.*` and `plan.*`.

use super::{By, Object};

words! {
    /// What was verified.
    Verified { Build = "build", Test = "test", Lint = "lint", }
}

events! {
    /// A mission was accepted.
    "mission.created" MissionCreated Added {
        identity { mission_id: String, }
        required { title: String, task_count: u64, }
        optional { priority: String, }
    }

    /// A mission went on to another phase.
    "mission.phase" MissionPhase Added {
        identity { mission_id: String, }
        required { from: String, to: String, }
        optional { reason: String, }
    }

    /// A task of a mission is in another state.
    "mission.task" MissionTask Added {
        identity { mission_id: String, task_id: String, }
        required { state: String, }
        optional { attempt: u64, child_run_id: String, worktree_id: String, }
    }

    /// A worktree exists.
    "worktree.created" WorktreeCreated Added {
        identity { worktree_id: String, }
        required { path: String, branch: String, base_commit: String, }
    }

    /// A worktree's work went into its base.
    "worktree.merged" WorktreeMerged Added {
        identity { worktree_id: String, }
        required { strategy: String, commit: String, }
    }

    /// A worktree is gone.
    "worktree.cleaned" WorktreeCleaned Added {
        identity { worktree_id: String, }
        optional { archive_ref: String, }
    }

    /// A worktree was built, tested or linted.
    "verify.completed" VerifyCompleted Added {
        identity { worktree_id: String, }
        required { what: Verified, passed: bool, exit_code: i64, duration_ms: u64, }
        optional { log_artifact_id: String, }
    }

    /// The plan changed.
    "plan.updated" PlanUpdated Added {
        required { changes: Vec<Object>, by: By, }
    }
}
