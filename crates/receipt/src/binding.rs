//! What binds a receipt to its log: size, roots, the last event, and a seal over them.

use r1_event::merkle::{Blake3, Frontier, Sha256};
use r1_event::side_record::Prune;
use r1_event::{Digest, Kind, Record, RunId, SideRecord, Statement, Version, v1};

use crate::file::signature_text;
use crate::json::{Object, Value};
use crate::key::SecretKey;

/// How many events are hashed at a time; what that needs stays in the cache.
const PAGE: usize = 256;

/// A log as far as it was given, in the few facts that name it.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The run, as in its headers.
    pub run_id: String,
    /// The log's format.
    pub version: Version,
    /// The first event that is there.
    pub first_seq: u64,
    /// Hash of the last event.
    pub head: Option<Digest>,
    /// Unix nanoseconds of the last event.
    pub at: i64,
    /// The terminal event's kind, if the run has ended.
    pub terminal: Option<Kind>,
    /// Payloads that are gone.
    pub erased: u64,
    tree: Frontier<Blake3>,
    tree_sha256: Frontier<Sha256>,
}

impl Binding {
    /// An empty log, or one whose beginning was pruned.
    #[must_use]
    pub fn new(side_records: &[SideRecord]) -> Self {
        let mut binding = Self {
            run_id: String::new(),
            version: Version::V2,
            first_seq: 1,
            head: None,
            at: 0,
            terminal: None,
            erased: 0,
            tree: Frontier::default(),
            tree_sha256: Frontier::default(),
        };
        if let Some(prune) = Prune::furthest(side_records) {
            binding.first_seq = prune.through().get() + 1;
            binding.head = Some(prune.last_hash);
            binding.tree = prune.trees.blake3().clone();
            binding.tree_sha256 = prune.trees.sha256().clone();
        }
        binding
    }

    /// Takes the next events.
    pub fn extend(&mut self, records: &[Record]) {
        for page in records.chunks(PAGE) {
            let readable: Vec<&Record> = page.iter().filter(|record| self.read(record).is_some()).collect();
            self.head = readable.last().map(|record| record.hash()).or(self.head);
            Record::leaves::<Blake3>(&readable).into_iter().for_each(|leaf| self.tree.push(leaf));
            Record::leaves::<Sha256>(&readable).into_iter().for_each(|leaf| self.tree_sha256.push(leaf));
        }
    }

    /// Notes what a header says; `None` if it cannot be read.
    fn read(&mut self, record: &Record) -> Option<()> {
        let version = record.version().unwrap_or(Version::V2);
        let (run_id, at, kind) = match version {
            Version::V2 => record.header().ok().map(|header| (header.run_id, header.ts.0, header.kind))?,
            Version::V1 => v1::Header::decode(&record.header)
                .map(|header| (header.run_id, header.ts, Kind::from_number(header.kind.into())))?,
        };
        if self.run_id != run_id {
            run_id.clone_into(&mut self.run_id);
        }
        (self.version, self.at) = (version, at);
        self.terminal = Some(kind).filter(|kind| kind.is_terminal());
        self.erased += u64::from(record.payload.is_none());
        Some(())
    }

    /// How many events there are.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Root of the log's own tree.
    #[must_use]
    pub fn root_blake3(&self) -> Digest {
        self.tree.root()
    }

    /// Root of the same tree with SHA-256.
    #[must_use]
    pub fn root_sha256(&self) -> Digest {
        self.tree_sha256.root()
    }

    /// complete, or open while the run has no end.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        if self.terminal.is_some() { "complete" } else { "open" }
    }

    /// completed, failed or cancelled; none while the run is open.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self.terminal {
            Some(Kind::RunCompleted) => "completed",
            Some(Kind::RunFailed) => "failed",
            Some(Kind::RunCancelled) => "cancelled",
            _ => "none",
        }
    }

    /// The body of the node that names the log, sealed with `key`; `None` for a log without events.
    #[must_use]
    pub fn to_body(&self, key: &SecretKey) -> Option<Object<'static>> {
        let statement = Statement {
            run_id: self.run_id.parse::<RunId>().ok()?,
            size: self.size(),
            root: self.root_blake3(),
            head: self.head?,
        };
        let mut body = Object::default();
        body.put_text("kind", "run_log");
        body.put_text("run_id", self.run_id.clone());
        body.put("schema_version", Value::uint(self.version.number().into()));
        body.put("first_seq", Value::uint(self.first_seq));
        body.put("size", Value::uint(self.size()));
        body.put("seq", Value::uint(self.size()));
        body.put_text("at", self.at.to_string());
        body.put_text("head_blake3", statement.head.to_string());
        body.put_text("root_blake3", statement.root.to_string());
        body.put_text("root_sha256", self.root_sha256().to_string());
        body.put_text("state", self.state());
        body.put_text("outcome", self.outcome());
        body.put("erased", Value::uint(self.erased));
        let seal = statement.sign(key.signing_key());
        body.put_text("seal", signature_text(&seal.signature));
        body.put_text("seal_key_id", seal.key_id.to_string());
        Some(body)
    }
}
