//! What a check of a log says: a verdict in three separate parts, and every finding behind it.

use std::fmt;

use crate::id::{Digest, Seq};
use crate::key::KeyId;

/// Everything there is to say about one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The run, as its first event spells it.
    pub run_id: String,
    /// `schema_version` of the first event; `None` if it has none that can be read.
    pub schema_version: Option<u32>,
    /// How many events were checked.
    pub events: u64,
    /// Do hashes, chain and tree hold?
    pub integrity: Integrity,
    /// Is the log whole?
    pub state: State,
    /// All findings, of integrity and of structure, in seq order.
    pub findings: Vec<Finding>,
    /// What Starling would say; v1 logs only.
    pub compat: Option<Compat>,
    /// v2: root over all events, which seals, checkpoints and proofs speak of. v1: root that the terminal event has
    /// to name, over every event before it, or over all events of an open log.
    pub merkle_root: Option<Digest>,
    /// Hash of the last event.
    pub head_hash: Option<Digest>,
    /// Whose seal covers the finished log, if one does and verifies.
    pub sealed_by: Option<KeyId>,
    /// The last event that was pruned.
    pub pruned_through: Option<Seq>,
    /// Whether the run records a foreign agent, where broken pairing is a finding but no corruption.
    pub recorded: bool,
}

/// Whether hashes, chain and tree hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// They do.
    Ok,
    /// They do not: some finding says where.
    Broken,
}

/// Whether a log is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It ends with its terminal event.
    Complete,
    /// It may go on.
    Open,
    /// Something that was there is missing at its end.
    Truncated,
}

/// Which part of the verdict a finding belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Hashes, chain, tree, seals: breaks [`Verdict::integrity`].
    Integrity,
    /// Pairing and order: an error, unless the run is a recorded one.
    Structure,
    /// Worth knowing, but no error: what Starling accepts in a v1 log although it should not, a seal
    /// by an unknown key, a record of a newer R1.
    Notice,
}

/// One thing that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name, `snake_case`.
    pub code: &'static str,
    /// Where it belongs.
    pub part: Part,
    /// The event, as its header says or as its place implies; `None` for the log as a whole.
    pub seq: Option<u64>,
    /// One sentence for people.
    pub message: String,
    /// What should be there.
    pub expected: Option<String>,
    /// What is there.
    pub found: Option<String>,
}

impl Finding {
    /// A finding with a message only.
    pub fn new(part: Part, code: &'static str, seq: Option<u64>, message: impl Into<String>) -> Self {
        Self { code, part, seq, message: message.into(), expected: None, found: None }
    }

    /// Adds what should be there and what is.
    #[must_use]
    pub fn with(mut self, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        self.expected = Some(expected.to_string());
        self.found = Some(found.to_string());
        self
    }
}

/// Starling's own verdict on a v1 log: it stops at the first problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compat {
    /// The problem; `None` if Starling accepts the log.
    pub rejection: Option<Rejection>,
}

/// Why Starling refuses a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Stable name of the class of error, `snake_case`.
    pub code: &'static str,
    /// Zero-based index of the event; `None` for the log as a whole.
    pub index: Option<u64>,
    /// That event's seq, as it says.
    pub seq: Option<u64>,
    /// Starling's text, without what follows `cbor:`.
    pub message: String,
}

impl Verdict {
    /// Whether the log is corrupt: integrity broken, or a pairing or order error in a run that is not
    /// recorded. For v1 logs what Starling rejects, except for being open.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        if self.integrity == Integrity::Broken {
            return true;
        }
        let misordered = self.findings.iter().any(|finding| finding.part == Part::Structure);
        match &self.compat {
            None => misordered && !self.recorded,
            // Starling says "not terminal" before it looks at order and pairing.
            Some(Compat { rejection: Some(rejection) }) if rejection.code == NOT_TERMINAL => {
                misordered || self.state != State::Open
            }
            Some(compat) => compat.rejection.is_some(),
        }
    }
}

/// Code of the one v1 rejection that does not mean corruption: the last event is not terminal.
pub const NOT_TERMINAL: &str = "not_terminal";
