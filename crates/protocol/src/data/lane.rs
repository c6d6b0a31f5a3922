//! `lane.*`.

use super::{By, Object, Time};

words! {
    /// What a lane shows.
    LaneKind { Main = "main", Lobe = "lobe", Tool = "tool", MissionTask = "mission_task", Router = "router", }

    /// How a lane is doing.
    LaneState {
        Pending = "pending",
        Running = "running",
        Blocked = "blocked",
        Done = "done",
        Errored = "errored",
        Cancelled = "cancelled",
    }
}

events! {
    /// A lane opened.
    "lane.created" LaneCreated Added owns lane_id {
        identity { lane_id: String, }
        required { kind: LaneKind, label: String, started_at: Time, }
        optional {
            parent_lane_id: String,
            lobe_name: String,
            tool_call_id: String,
            task_id: String,
            run_id: String,
        }
    }

    /// A lane is doing otherwise than before.
    "lane.status" LaneStatus Added owns lane_id {
        identity { lane_id: String, }
        required { status: LaneState, prev_status: LaneState, reason_code: String, reason: String, }
        optional { ended_at: Time, }
    }

    /// Someone stopped a lane.
    "lane.killed" LaneKilled Added owns lane_id {
        identity { lane_id: String, }
        required { reason: String, by: By, }
        optional { parent_lane_id: String, }
    }

    /// A lane was pinned or let go.
    "lane.pin_changed" LanePinChanged Added owns lane_id {
        identity { lane_id: String, }
        required { pinned: bool, by: By, }
    }
}

rows! {
    /// A view on what a lane says. R1 never logs it.
    "lane.delta" Added Typed {
        optional { delta_seq: u64, content_block: Object, }
        ..others
    }

    /// A view on what a lane costs. R1 never logs it.
    "lane.cost" Added Typed {
        optional { tokens_in: u64, tokens_out: u64, cached_tokens: u64, cost_micros_usd: u64, }
        ..others
    }

    /// A view on a note of a lane. R1 never logs it.
    "lane.note" Added Typed {
        optional { note_id: String, severity: String, kind: String, summary: String, }
        ..others
    }
}
