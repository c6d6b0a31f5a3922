//! `memory.*`.

words! {
    /// Tiers of memory.
    MemoryTier { L0 = "L0", L1 = "L1", L2 = "L2", L3 = "L3", }

    /// Who reads or writes memory.
    MemoryBy { Agent = "agent", Runtime = "runtime", Operator = "operator", }

    /// What a write does.
    MemoryOp { Set = "set", Delete = "delete", }
}

events! {
    /// Something was looked up.
    "memory.read" MemoryRead Added {
        identity { tier: MemoryTier, store: String, key: String, }
        required { by: MemoryBy, hit: bool, }
        optional { fingerprint: String, value: serde_json::Value, call_id: String, }
    }

    /// Something was remembered or forgotten.
    "memory.write" MemoryWrite Added {
        identity { tier: MemoryTier, store: String, key: String, }
        required { by: MemoryBy, op: MemoryOp, diff_hash: String, }
        optional {
            fingerprint: String,
            prior_fingerprint: String,
            value: serde_json::Value,
            call_id: String,
        }
    }
}
