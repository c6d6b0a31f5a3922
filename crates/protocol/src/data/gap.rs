//! `gap.*`: what the log does not hold.

use super::{ArtifactKind, Object, Time};

words! {
    /// Why nobody wrote.
    DisconnectReason {
        WorkerLeaseExpired = "worker_lease_expired",
        RecorderLost = "recorder_lost",
        StoreRecovered = "store_recovered",
    }

    /// What happens to a run that lost its worker.
    DisconnectAction { Requeued = "requeued", Paused = "paused", Failed = "failed", }

    /// How much of a body was kept.
    Kept { Head = "head", HeadTail = "head_tail", None = "none", }
}

events! {
    /// The first events of the run are gone. Never stored: made from the record of the pruning.
    "gap.events_pruned" GapEventsPruned Core {
        identity { first_pruned_sequence: u64, last_pruned_sequence: u64, }
        required { pruned_at: Time, reason: String, }
        optional {
            /// Merkle root of the events that are gone.
            root: String,
            graph: Object,
        }
    }

    /// The run's worker was gone for a while.
    "gap.run_disconnected" GapRunDisconnected Core {
        required { since_sequence: u64, since_at: Time, reason: DisconnectReason, }
        optional { worker_id: String, action: DisconnectAction, }
    }

    /// A body was cut or refused.
    "gap.artifact_capped" GapArtifactCapped Experimental {
        required { kind: ArtifactKind, limit_bytes: u64, actual_bytes: u64, kept: Kept, }
        optional { artifact_id: String, }
    }
}
