//! `skill.*` and `beacon.*`.

use super::Object;

events! {
    /// A step in the making of a skill.
    "skill.authoring_decision" SkillAuthoringDecision Added {
        identity { wizard_id: String, step: u64, }
        required {
            stage: String,
            question_id: String,
            mode: String,
            answer: String,
            interpretation: String,
            /// 0 to 1000.
            confidence: u64,
            path: String,
            confirmed: bool,
        }
        optional { revision_of: String, }
    }

    /// Something happened at a beacon.
    "beacon.event" BeaconEvent Added {
        identity { beacon_id: String, }
        required {
            kind: String,
            operator_id: String,
            device_id: String,
            /// Digests of certificates and tokens, the leaf's first.
            chain: Vec<String>,
            bridge: String,
            detail: Object,
        }
    }
}
