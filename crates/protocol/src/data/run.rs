//! `run.*` and `task.*`.

use super::{By, Object, Time};

words! {
    /// What a run does.
    RunKind {
        AgentLoop = "agent_loop",
        Shell = "shell",
        Git = "git",
        File = "file",
        Recorded = "recorded",
        Operator = "operator",
        Control = "control",
    }

    /// How a run gets its workspace.
    WorkspaceMode { Clone = "clone", Worktree = "worktree", InPlace = "in_place", None = "none", }

    /// Which limit makes a run wait.
    ThrottleReason { NodeLimit = "node_limit", TaskLimit = "task_limit", ProviderLimit = "provider_limit", }

    /// Why a lease was given back.
    HandOverReason { Shutdown = "shutdown", Rebalance = "rebalance", }

    /// What a child run is for.
    ChildKind { Subagent = "subagent", MissionTask = "mission_task", Delegate = "delegate", }
}

events! {
    /// The run was created: event 0. In a run that continues another it is event 1.
    "run.queued" RunQueued Core or RunStarted {
        required {
            kind: RunKind,
            /// `none` for runs without a model.
            model: String,
            provider: String,
            workspace_path: String,
            workspace_mode: WorkspaceMode,
            /// The run of the same task before this one.
            prior_run_id: Option<String>,
        }
        optional {
            /// Which run of its task this is, from 1.
            number: u64,
            title: String,
            priority: String,
            /// Whether it waits for its release.
            held: bool,
            parent_run_id: String,
            forked_from: Object,
            budget: Object,
            /// The foreign agent, for recorded runs.
            source: Object,
            system_prompt_hash: String,
            tool_registry_hash: String,
        }
    }

    /// A held run may be claimed.
    "run.released" RunReleased Added {
        required { by: By, }
    }

    /// The run was passed over in the queue; once per reason and wait.
    "run.throttled" RunThrottled Added {
        required { reason: ThrottleReason, limit: u64, }
    }

    /// A worker claimed the run for the first time.
    "run.started" RunStarted Core or RunStarted {
        required { worker_id: String, lease_until: Time, }
        optional { attempt: u64, queue_wait_ms: u64, instance_id: String, trace_parent: String, }
    }

    /// The worker gave its lease back in order.
    "run.handed_over" RunHandedOver Added {
        required { worker_id: String, reason: HandOverReason, }
    }

    /// The run is a fork: event 1.
    "run.branched_from" RunBranchedFrom Experimental {
        identity { from_run_id: String, from_sequence: u64, }
        required { reason: String, }
    }

    /// The run can be continued from here: no turn and no call is open.
    "run.checkpoint_saved" RunCheckpointSaved Core {
        identity { checkpoint_id: String, }
        optional { at_sequence: u64, workspace_revision: String, }
    }

    /// A child run belongs to this one.
    "run.child_started" RunChildStarted Added {
        identity { child_run_id: String, }
        required { kind: ChildKind, }
        optional { task_id: String, title: String, tool_call_id: String, budget_micros_usd: u64, }
    }

    /// A child run ended; the roots bind its whole log.
    "run.child_finished" RunChildFinished Added {
        identity { child_run_id: String, }
        required {
            final_status: String,
            cost_micros_usd: u64,
            log_size: u64,
            root_blake3: String,
            root_sha256: String,
        }
        optional { receipt_digest: String, task_id: String, tool_call_id: String, summary: String, }
    }

    /// Fields of the task changed.
    "task.updated" TaskUpdated Added {
        required { by: By, }
        optional { title: String, priority: String, budget: Object, tags: Object, }
    }
}
