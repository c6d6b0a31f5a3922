//! What a check of a log says.

use r1_event::finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verdict in three parts, and every finding behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The run, as its first event spells it.
    pub run_id: String,
    /// 1 or 2; null if the first event cannot be read.
    pub schema_version: Option<u32>,
    /// How many events were checked.
    pub events: u64,
    /// ok or broken: whether hashes, chain and tree hold.
    pub integrity: String,
    /// Whether events come as they must.
    pub structure: Structure,
    /// complete, open or truncated.
    pub state: String,
    /// What Starling would say; of v1 logs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<CompatVerdict>,
    /// Root over all events, in hex; of a finished v1 log, over those before its terminal event.
    pub merkle_root: Option<String>,
    /// Hash of the last event, in hex.
    pub head_hash: Option<String>,
    /// Whose seal covers the finished log.
    pub sealed_by: Option<String>,
    /// The last event that was pruned, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_through: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Structure {
    /// In the order of the log.
    pub findings: Vec<LogFinding>,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogFinding {
    /// A word for programs.
    pub code: String,
    /// The event, counted from 1.
    pub seq: Option<u64>,
    /// A sentence for people.
    pub message: String,
    /// What should be there.
    pub expected: Option<String>,
    /// What is.
    pub found: Option<String>,
}

/// What Starling's own check would say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompatVerdict {
    /// Whether it takes the log.
    pub ok: bool,
    /// Why not, in a word.
    pub code: Option<String>,
    /// At which event of the file, from 0.
    pub index: Option<u64>,
    /// With which seq.
    pub seq: Option<u64>,
    /// Why not, in a sentence.
    pub message: Option<String>,
}

impl From<finding::Verdict> for Verdict {
    fn from(verdict: finding::Verdict) -> Self {
        let finding::Verdict {
            run_id,
            schema_version,
            events,
            integrity,
            state,
            findings,
            compat,
            merkle_root,
            head_hash,
            sealed_by,
            pruned_through,
            recorded: _,
        } = verdict;
        Self {
            run_id,
            schema_version,
            events,
            integrity: integrity_word(integrity).into(),
            structure: Structure { findings: findings.into_iter().map(LogFinding::from).collect() },
            state: state_word(state).into(),
            compat: compat.map(CompatVerdict::from),
            merkle_root: merkle_root.map(|root| root.to_string()),
            head_hash: head_hash.map(|hash| hash.to_string()),
            sealed_by: sealed_by.map(|key| key.to_string()),
            pruned_through: pruned_through.map(r1_event::Seq::get),
        }
    }
}

impl From<finding::Finding> for LogFinding {
    fn from(finding: finding::Finding) -> Self {
        let finding::Finding { code, part: _, seq, message, expected, found } = finding;
        Self { code: code.into(), seq, message, expected, found }
    }
}

impl From<finding::Compat> for CompatVerdict {
    fn from(compat: finding::Compat) -> Self {
        match compat.rejection {
            None => Self { ok: true, ..Self::default() },
            Some(why) => Self {
                ok: false,
                code: Some(why.code.into()),
                index: why.index,
                seq: why.seq,
                message: Some(why.message),
            },
        }
    }
}

/// How the integrity of a log is called.
#[must_use]
pub const fn integrity_word(integrity: finding::Integrity) -> &'static str {
    match integrity {
        finding::Integrity::Ok => "ok",
        finding::Integrity::Broken => "broken",
    }
}

/// How the state of a log is called.
#[must_use]
pub const fn state_word(state: finding::State) -> &'static str {
    match state {
        finding::State::Complete => "complete",
        finding::State::Open => "open",
        finding::State::Truncated => "truncated",
    }
}
