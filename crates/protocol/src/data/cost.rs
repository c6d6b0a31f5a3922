//! `cost.*`. Cumulative means the whole task: earlier runs and children included.

use super::BudgetAxis;

words! {
    /// What R1 does when a budget is used up.
    BudgetAction { Halted = "halted", }

    /// Where in a turn that was noticed.
    BudgetPlace { PreCall = "pre_call", MidStream = "mid_stream", PostCall = "post_call", }
}

events! {
    /// What was used so far; after each turn and each child's end.
    "cost.tick" CostTick Core {
        required {
            cumulative_input_tokens: u64,
            cumulative_output_tokens: u64,
            cumulative_cost_micros_usd: u64,
        }
        optional {
            task_budget_micros_usd: u64,
            task_budget_remaining_micros_usd: u64,
            run_cost_micros_usd: u64,
        }
    }

    /// A share of the budget is used up; once per threshold.
    "cost.budget_warning" CostBudgetWarning Core {
        required { threshold_pct: u64, cumulative_cost_micros_usd: u64, task_budget_micros_usd: u64, }
        optional { limit: BudgetAxis, }
    }
}
