//! `stoke.*`.

events! {
    /// A plan is ready.
    "stoke.plan.ready" StokePlanReady Added {
        identity { mission_id: String, }
        required {
            sow_title: String,
            total_sessions: u64,
            estimated_cost_micros_usd: u64,
            session_ids: Vec<String>,
            total_tasks: u64,
        }
    }

    /// A session of a plan began.
    "stoke.session.start" StokeSessionStart Added {
        required { title: String, task_count: u64, }
        optional { plan_session_id: String, child_session_id: String, }
    }

    /// A session of a plan ended.
    "stoke.session.end" StokeSessionEnd Added {
        required { outcome: String, cost_micros_usd: u64, duration_ms: u64, }
        optional { plan_session_id: String, tasks_passed: u64, tasks_failed: u64, }
    }

    /// A task of a plan began.
    "stoke.task.start" StokeTaskStart Added {
        identity { task_id: String, }
        required { title: String, attempt: u64, }
        optional { plan_session_id: String, child_session_id: String, }
    }

    /// A task of a plan ended.
    "stoke.task.end" StokeTaskEnd Added {
        identity { task_id: String, }
        required { outcome: String, duration_ms: u64, tool_calls: u64, cost_micros_usd: u64, }
        optional { receipt_digest: String, }
    }

    /// An acceptance criterion was checked.
    "stoke.ac.result" StokeAcResult Added {
        identity { ac_id: String, }
        required {
            passed: bool,
            /// At most 2 KiB.
            output: String,
        }
        optional { task_id: String, output_truncated: bool, }
    }

    /// What was spent.
    "stoke.cost" StokeCost Added {
        required { cost_micros_usd: u64, input_tokens: u64, output_tokens: u64, }
    }

    /// A criterion that did not hold is being worked on.
    "stoke.descent.start" StokeDescentStart Added {
        identity { ac_id: String, }
        required { criterion_description: String, }
    }

    /// The work on a criterion went to another tier.
    "stoke.descent.tier" StokeDescentTier Added {
        identity { ac_id: String, }
        required { from_tier: String, to_tier: String, reason: String, }
    }

    /// The work on a criterion ended.
    "stoke.descent.resolve" StokeDescentResolve Added {
        identity { ac_id: String, }
        required { outcome: String, tier_reached: String, category: String, reason: String, }
    }

    /// Delegated work was checked.
    "stoke.delegation.verify" StokeDelegationVerify Added {
        identity { contract_id: String, }
        required { ac_id: String, outcome: String, tier_reached: String, }
    }

    /// Delegated work was settled.
    "stoke.delegation.settle" StokeDelegationSettle Added {
        identity { contract_id: String, }
        optional { settlement_id: String, }
    }
}
