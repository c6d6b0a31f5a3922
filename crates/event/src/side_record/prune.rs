//! The record of a pruning: all that the rest of a log needs of the events that are gone.

use super::{Fields, RunContext, SideRecord, digest, read_digest, read_text};
use crate::cbor::Value;
use crate::id::{Digest, RunId, Seq, UnixNanos};
use crate::merkle::{Blake3, Frontier, Sha256};
use crate::record::{Record, Version};

/// A prefix of a finished run was removed. Only v2 logs can be: Starling judges a log as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Prune {
    /// The run.
    pub run_id: RunId,
    /// Hash of the last event that is gone.
    pub last_hash: Digest,
    /// The trees over the events that are gone.
    pub trees: Trees,
    /// When.
    pub pruned_at: UnixNanos,
    /// Why.
    pub reason: String,
    /// What projections need of the first event.
    pub context: RunContext,
    /// The turn that was open at the cut.
    pub open_turn: Option<String>,
    /// The calls that were open at the cut: id, attempt, seq of the schedule.
    pub open_calls: Vec<(String, u32, Seq)>,
    /// What receipts need of the events that are gone.
    pub graph: Option<Value>,
}

/// The two trees over a log's first events. Both are of the same events, and there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trees {
    through: Seq,
    blake3: Frontier<Blake3>,
    sha256: Frontier<Sha256>,
}

impl Trees {
    /// The log's own tree and the one for receipts; `None` if they are empty or not of the same size.
    #[must_use]
    pub fn new(blake3: Frontier<Blake3>, sha256: Frontier<Sha256>) -> Option<Self> {
        let through = Seq::new(blake3.size()).filter(|through| through.get() == sha256.size())?;
        Some(Self { through, blake3, sha256 })
    }

    /// The trees over these events; `None` if there are none.
    #[must_use]
    pub fn over(events: &[Record]) -> Option<Self> {
        let (mut blake3, mut sha256) = (Frontier::default(), Frontier::default());
        for event in events {
            blake3.push(event.leaf());
            sha256.push(event.leaf_sha256());
        }
        Self::new(blake3, sha256)
    }

    /// The log's own tree.
    #[must_use]
    pub const fn blake3(&self) -> &Frontier<Blake3> {
        &self.blake3
    }

    /// The same with SHA-256, for receipts.
    #[must_use]
    pub const fn sha256(&self) -> &Frontier<Sha256> {
        &self.sha256
    }
}

impl Prune {
    /// The pruning that decides where what is left of a log begins: the one that took the most. Those before it
    /// may stand beside the log too, in any order.
    #[must_use]
    pub fn furthest(side_records: &[SideRecord]) -> Option<&Self> {
        let prunes = side_records.iter().filter_map(|record| match record {
            SideRecord::Prune(prune) => Some(&**prune),
            SideRecord::Erase(_)
            | SideRecord::Seal(_)
            | SideRecord::Checkpoint(_)
            | SideRecord::Other(_)
            | SideRecord::Damaged(_) => None,
        });
        prunes.max_by_key(|prune| prune.through())
    }

    /// The last event that is gone.
    #[must_use]
    pub const fn through(&self) -> Seq {
        self.trees.through
    }

    pub(super) fn put(&self, map: &mut Fields) {
        let Self { run_id, last_hash, trees, pruned_at, reason, context, open_turn, open_calls, graph } = self;
        let Trees { through, blake3, sha256 } = trees;
        map.put("run_id", Value::text(run_id.as_str()));
        map.put("schema_version", Value::Uint(Version::V2.number().into()));
        map.put("through", Value::Uint(through.get()));
        map.put("last_hash", digest(last_hash));
        map.put("peaks", Value::Array(blake3.peaks().iter().map(digest).collect()));
        map.put("peaks_sha256", Value::Array(sha256.peaks().iter().map(digest).collect()));
        map.put("pruned_at", Value::int(pruned_at.0));
        map.put("reason", Value::text(reason));
        map.put("context", context.to_value());
        map.put_optional("open_turn", open_turn.as_deref().map(Value::text));
        let call = |(id, attempt, seq): &(String, u32, Seq)| {
            Value::Array(vec![Value::text(id), Value::Uint((*attempt).into()), Value::Uint(seq.get())])
        };
        map.put_optional(
            "open_calls",
            (!open_calls.is_empty()).then(|| Value::Array(open_calls.iter().map(call).collect())),
        );
        map.put_optional("graph", graph.clone());
    }

    pub(super) fn read(value: &Value) -> Option<Self> {
        if value.get("schema_version")?.as_uint()? != u64::from(Version::V2.number()) {
            return None;
        }
        let through = value.get("through")?.as_uint()?;
        let peaks = |key| value.get(key)?.as_array()?.iter().map(read_digest).collect::<Option<Vec<_>>>();
        let call = |call: &Value| match call.as_array()? {
            [id, attempt, seq] => {
                Some((id.as_text()?.into(), attempt.as_uint()?.try_into().ok()?, Seq::new(seq.as_uint()?)?))
            }
            _ => None,
        };
        let open_calls = value.get("open_calls").map_or(Some(&[][..]), Value::as_array)?;
        Some(Self {
            run_id: read_text(value, "run_id")?.parse().ok()?,
            last_hash: read_digest(value.get("last_hash")?)?,
            trees: Trees::new(
                Frontier::from_parts(through, peaks("peaks")?)?,
                Frontier::from_parts(through, peaks("peaks_sha256")?)?,
            )?,
            pruned_at: UnixNanos(value.get("pruned_at")?.as_int()?),
            reason: read_text(value, "reason")?,
            context: RunContext::read(value.get("context")?),
            open_turn: read_text(value, "open_turn"),
            open_calls: open_calls.iter().map(call).collect::<Option<_>>()?,
            graph: value.get("graph").cloned(),
        })
    }
}
