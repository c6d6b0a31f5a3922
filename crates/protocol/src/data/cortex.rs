//! `cortex.*`.

use super::{By, Object};

words! {
    /// How much a note matters.
    Severity { Info = "info", Advice = "advice", Warning = "warning", Critical = "critical", }

    /// What becomes of a message that arrives in the middle of an exchange.
    Route {
        Interrupt = "interrupt",
        Steer = "steer",
        QueueMission = "queue_mission",
        JustChat = "just_chat",
    }

    /// How a lobe is doing.
    LobeState { Running = "running", Paused = "paused", Unavailable = "unavailable", }
}

events! {
    /// A lobe noticed something.
    "cortex.note" CortexNote Added {
        identity { note_id: String, }
        required { lobe: String, severity: Severity, title: String, body: String, tags: Vec<String>, }
        optional {
            /// The note that this one closes.
            resolves: String,
            round: u64,
        }
    }

    /// A note was pinned or let go.
    "cortex.note_pinned" CortexNotePinned Added {
        identity { note_id: String, }
        required { pinned: bool, by: By, }
    }

    /// The exchange ended although a critical note is open.
    "cortex.note_overridden" CortexNoteOverridden Added {
        identity { note_id: String, }
        required { by: By, }
    }

    /// A round ended: these notes go into the next step, those came late.
    "cortex.round_closed" CortexRoundClosed Added {
        identity { round: u64, }
        required { drained: Vec<String>, late: Vec<String>, }
    }

    /// A message in the middle of an exchange was dealt with.
    "cortex.routed" CortexRouted Added {
        identity { message_id: String, }
        required { decision: Route, }
        optional { detail: Object, }
    }

    /// A lobe was paused, resumed or cannot work.
    "cortex.lobe_state" CortexLobeState Added {
        identity { lobe: String, }
        required { state: LobeState, by: By, }
    }

    /// A lobe failed.
    "cortex.lobe_failed" CortexLobeFailed Added {
        identity { lobe: String, }
        required {
            error: String,
            /// How often in a row.
            failures: u64,
        }
    }
}

rows! {
    /// `cortex.note` by the name that other producers give it.
    "note.published" Added Typed {
        identity { note_id: String, }
        required { lobe: String, severity: Severity, title: String, body: String, tags: Vec<String>, }
        optional { resolves: String, round: u64, }
    }
}
