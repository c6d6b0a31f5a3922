//! Growing a log: the only way to make events that a store takes.
//!
//! A [`Chain`] knows where a run's log stands. A [`Batch`] is a set of events that continue one chain;
//! its events were all checked and hashed by this module, so a store only has to compare where the
//! batch starts with where its log ends.

mod extend;

use bytes::Bytes;

use self::extend::Ready;
use crate::cbor::{Rules, Value};
use crate::header::MalformedHeader;
use crate::id::{Digest, RunId, Seq, UnixNanos};
use crate::kind::Kind;
use crate::merkle::{Blake3, Frontier, TreeHash as _};
use crate::payload::{self, Payload, UnfitPayload};
use crate::record::{Record, Version};
use crate::seal::Statement;
use crate::side_record::{Prune, SideRecord};
use crate::v1;

/// Where a run's log stands: all that is needed to append to it, in O(log n) memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    run: RunId,
    version: Version,
    head: Option<Digest>,
    tree: Frontier<Blake3>,
    /// The tree that v1 terminals name; stays empty in v2 logs.
    v1_tree: v1::merkle::Tree,
    terminal: Option<Kind>,
}

impl Chain {
    /// The empty log of a new run in R1's own format.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        Self::empty(run, Version::V2)
    }

    /// The empty log of a run in the given format.
    #[must_use]
    pub fn empty(run: RunId, version: Version) -> Self {
        let (tree, v1_tree) = (Frontier::default(), v1::merkle::Tree::default());
        Self { run, version, head: None, tree, v1_tree, terminal: None }
    }

    /// The log of a run whose first events were pruned, as it stood at the cut.
    #[must_use]
    pub fn behind(prune: &Prune) -> Self {
        let (head, tree) = (Some(prune.last_hash), prune.trees.blake3().clone());
        Self { head, tree, ..Self::new(prune.run_id.clone()) }
    }

    /// The run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// The format.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// How many events there are.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.tree.size()
    }

    /// The seq that the next event will have.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        Seq::new(self.size()).map_or(Seq::FIRST, Seq::next)
    }

    /// Hash of the last event.
    #[must_use]
    pub const fn head(&self) -> Option<Digest> {
        self.head
    }

    /// The terminal event's kind, once the run has ended.
    #[must_use]
    pub const fn terminal(&self) -> Option<Kind> {
        self.terminal
    }

    /// Root of the RFC 9162 tree over all events so far.
    #[must_use]
    pub fn root(&self) -> Digest {
        self.tree.root()
    }

    /// The tree over all events so far.
    #[must_use]
    pub const fn tree(&self) -> &Frontier<Blake3> {
        &self.tree
    }

    /// What a seal or checkpoint of the log as it is now says; `None` for an empty log.
    #[must_use]
    pub fn statement(&self) -> Option<Statement> {
        let (run_id, size, root) = (self.run.clone(), self.size(), self.root());
        self.head.map(|head| Statement { run_id, size, root, head })
    }

    /// A small, self-contained form to keep beside a log, so that going on with a long run does not
    /// begin with reading it.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let digest = |digest: &Digest| Value::Bytes(digest.as_bytes().to_vec());
        let optional = |value: Option<Digest>| value.as_ref().map_or(Value::Null, digest);
        Value::Array(vec![
            Value::Uint(self.version.number().into()),
            Value::Uint(self.size()),
            optional(self.head),
            Value::Array(self.tree.peaks().iter().map(digest).collect()),
            Value::Array(self.v1_tree.levels().iter().copied().map(optional).collect()),
            self.terminal.map_or(Value::Null, |kind| Value::Uint(kind.number())),
        ])
        .encode()
    }

    /// Reads what [`Self::snapshot`] gave for this run.
    pub fn from_snapshot(run: RunId, bytes: &[u8]) -> Result<Self, InvalidSnapshot> {
        let value = Value::decode(bytes, Rules::CANONICAL).map_err(|_| InvalidSnapshot)?;
        let [version, size, head, peaks, levels, terminal] = value.as_array().ok_or(InvalidSnapshot)? else {
            return Err(InvalidSnapshot);
        };
        let digest = |value: &Value| value.as_bytes().and_then(Digest::from_slice).ok_or(InvalidSnapshot);
        let optional = |value: &Value| if *value == Value::Null { Ok(None) } else { digest(value).map(Some) };
        let list = |value: &Value| -> Result<Vec<Digest>, InvalidSnapshot> {
            value.as_array().ok_or(InvalidSnapshot)?.iter().map(digest).collect()
        };
        let levels = levels.as_array().ok_or(InvalidSnapshot)?.iter().map(optional).collect::<Result<_, _>>()?;
        Ok(Self {
            run,
            version: match version.as_uint() {
                Some(1) => Version::V1,
                Some(2) => Version::V2,
                _ => return Err(InvalidSnapshot),
            },
            head: optional(head)?,
            tree: size
                .as_uint()
                .and_then(|size| Frontier::from_parts(size, list(peaks).ok()?))
                .ok_or(InvalidSnapshot)?,
            v1_tree: v1::merkle::Tree::from_levels(levels),
            terminal: terminal.as_uint().map(Kind::from_number),
        })
    }

    /// Steps over an event that is already in the log.
    ///
    /// For rebuilding a chain from a store's own records after its snapshot; it checks the link and
    /// nothing else.
    pub fn follow(&mut self, record: &Record) -> Result<(), ChainError> {
        let place = self.check_link(record)?;
        self.step(record, place.kind);
        Ok(())
    }

    fn check_link(&self, record: &Record) -> Result<Place, ChainError> {
        let expected = self.next_seq();
        let (run_id, seq, linked, kind, ts) = match self.version {
            Version::V2 => {
                let header = record.header()?;
                (header.run_id, header.seq.get(), header.prev_hash == self.head, header.kind, header.ts)
            }
            Version::V1 => {
                let header = v1::Header::decode(&record.header).ok_or(ChainError::NotV1 { seq: expected })?;
                let previous = header.prev_hash.unwrap_or_default();
                let linked = previous == self.head.as_ref().map_or(&[][..], |head| head.as_bytes());
                (header.run_id, header.seq, linked, Kind::from_number(header.kind.into()), UnixNanos(header.ts))
            }
        };
        if run_id != self.run.as_str() {
            return Err(ChainError::WrongRun { expected: self.run.clone(), found: run_id.into() });
        }
        if seq != expected.get() {
            return Err(ChainError::WrongSeq { expected, found: seq });
        }
        if !linked {
            return Err(ChainError::BrokenLink { seq: expected });
        }
        Ok(Place { seq: expected, kind, ts })
    }

    fn step(&mut self, record: &Record, kind: Kind) {
        let (hash, leaf) = match self.version {
            Version::V1 => {
                let hash = record.hash();
                self.v1_tree.push(hash);
                (hash, Blake3::leaf(hash.as_bytes()))
            }
            Version::V2 => Blake3::hash_and_leaf(&record.header).into(),
        };
        self.tree.push(leaf);
        self.head = Some(hash);
        if kind.is_terminal() {
            self.terminal = Some(kind);
        }
    }
}

/// What a record that fits says of itself.
struct Place {
    seq: Seq,
    kind: Kind,
    ts: UnixNanos,
}

/// Bytes that are no snapshot of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chain snapshot is damaged")]
pub struct InvalidSnapshot;

/// The end of a log, as a batch finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    run: RunId,
    size: u64,
    head: Option<Digest>,
}

impl Position {
    /// The run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// How many events there are.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The seq that the next event has.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        Seq::new(self.size).map_or(Seq::FIRST, Seq::next)
    }

    /// Hash of the last event.
    #[must_use]
    pub const fn head(&self) -> Option<Digest> {
        self.head
    }
}

/// Events that continue one chain, complete and checked, ready to be stored all or none.
#[derive(Clone, Debug)]
pub struct Batch {
    before: Position,
    after: Chain,
    records: Vec<Record>,
    /// Times of the first and the last event.
    span: Option<(UnixNanos, UnixNanos)>,
    blobs: Vec<(Seq, Digest)>,
    settled: Vec<String>,
    note: Option<Note>,
    origin: Option<Origin>,
}

/// How a run begins in a store that never had its first events: behind those that were pruned elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    through: Seq,
    beside: Vec<SideRecord>,
}

impl Origin {
    /// The last event that is gone.
    #[must_use]
    pub const fn through(&self) -> Seq {
        self.through
    }

    /// What stands beside the log, in order, up to the prune record that the run begins behind.
    #[must_use]
    pub fn beside(&self) -> &[SideRecord] {
        &self.beside
    }
}

/// What whoever asked for a batch keeps of it: stored together with the events, or not at all.
///
/// It replaces a document that must still be as the asker left it, so that what is asked twice is done once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where the document is.
    pub collection: String,
    /// Which.
    pub key: String,
    /// The revision that it must have; it gets the next one.
    pub revision: u64,
    /// What it says then.
    pub body: Bytes,
}

impl Batch {
    /// An empty batch that continues `chain`.
    #[must_use]
    pub fn new(chain: &Chain) -> Self {
        let before = Position { run: chain.run.clone(), size: chain.size(), head: chain.head };
        Self {
            before,
            after: chain.clone(),
            records: Vec::new(),
            span: None,
            blobs: Vec::new(),
            settled: Vec::new(),
            note: None,
            origin: None,
        }
    }

    /// An empty batch that begins a run behind events that were pruned elsewhere. A store takes it where it has
    /// nothing of the run, and keeps `beside` with it: what stands beside the log up to the last prune record.
    /// The one that took the most says where the run begins. `None` if there is none, or a record is of another run.
    #[must_use]
    pub fn behind(beside: &[SideRecord]) -> Option<Self> {
        let is_prune = |record: &SideRecord| matches!(record, SideRecord::Prune(_));
        let beside = &beside[..=beside.iter().rposition(is_prune)?];
        let prune = Prune::furthest(beside)?;
        let chain = Chain::behind(prune);
        if beside.iter().any(|record| record.run_id().is_some_and(|run| run != chain.run.as_str())) {
            return None;
        }
        let origin = Origin { through: prune.through(), beside: beside.to_vec() };
        Some(Self { origin: Some(origin), ..Self::new(&chain) })
    }

    /// Adds an event of a v2 run and returns its seq.
    ///
    /// A terminal payload gets the root and size of the log so far; whatever it carried there is replaced.
    pub fn push(&mut self, ts: UnixNanos, payload: Payload) -> Result<Seq, ChainError> {
        let kind = payload.kind();
        let bytes = self.encode(self.after.size(), payload)?;
        Ok(self.keep_one(Ready { ts, kind, bytes }))
    }

    /// The payload's bytes, if they may stand in a v2 log behind `before` events.
    fn encode(&self, before: u64, payload: Payload) -> Result<Bytes, ChainError> {
        let payload = self.with_root(payload);
        if let Payload::Typed(typed) = &payload {
            payload::check_typed(typed)?;
        }
        if self.after.version != Version::V2 {
            return Err(ChainError::NotV2 { run: self.after.run.clone() });
        }
        let bytes = payload.encode();
        payload::check_v2(&bytes)?;
        self.check_place(before, payload.kind())?;
        Ok(bytes)
    }

    /// Adds an event of a v1 run, as Starling would write it, and returns its seq.
    ///
    /// A terminal payload gets the root of the log so far; whatever it carried there is replaced.
    pub fn push_v1(&mut self, ts: UnixNanos, payload: Payload) -> Result<Seq, ChainError> {
        if self.after.version != Version::V1 {
            return Err(ChainError::NotV1Log { run: self.after.run.clone() });
        }
        let payload = self.with_v1_root(payload);
        let (kind, bytes) = (payload.kind(), payload.encode());
        let number = v1::check_new_payload(kind, &bytes)?;
        self.check_place(self.after.size(), kind)?;
        let seq = self.after.next_seq();
        let header = v1::Header {
            run_id: self.after.run.as_str(),
            seq: seq.get(),
            prev_hash: self.after.head.as_ref().map(|head| &head.as_bytes()[..]),
            ts: ts.0,
            kind: number,
        };
        let record = Record { header: header.encode().into(), payload: Some(bytes) };
        self.keep(record, kind, ts);
        Ok(seq)
    }

    /// Adds an event that was made elsewhere, after checking all that its maker should have checked.
    pub fn adopt(&mut self, record: Record) -> Result<Seq, ChainError> {
        let Place { seq, kind, ts } = self.after.check_link(&record)?;
        self.check_place(self.after.size(), kind)?;
        match (self.after.version, &record.payload) {
            (Version::V2, Some(bytes)) => {
                payload::check_v2(bytes)?;
                let header = record.header()?;
                if header.payload_hash != Digest::blake3(bytes) || header.payload_size != bytes.len() as u64 {
                    return Err(ChainError::PayloadMismatch { seq });
                }
                if let (Kind::Typed, Ok(Payload::Typed(typed))) = (kind, Payload::decode(kind, bytes)) {
                    payload::check_typed(&typed)?;
                }
            }
            (Version::V1, Some(bytes)) => v1::check_payload(bytes)?,
            (Version::V2, None) => {}
            (Version::V1, None) => return Err(ChainError::PayloadMismatch { seq }),
        }
        self.keep(record, kind, ts);
        Ok(seq)
    }

    /// Declares that the event at `seq` of this batch names the blob `hash`, so that it is kept as long
    /// as the event is.
    pub fn reference_blob(&mut self, seq: Seq, hash: Digest) {
        self.blobs.push((seq, hash));
    }

    /// Declares that this batch is the answer to a command that was left for the run's writer, so that the
    /// store removes the command together with storing the events. A batch without events may settle too.
    pub fn settle(&mut self, command: impl Into<String>) {
        let command = command.into();
        if !self.settled.contains(&command) {
            self.settled.push(command);
        }
    }

    /// Declares what is to be noted of this batch where its asker looks.
    pub fn note(&mut self, note: Note) {
        self.note = Some(note);
    }

    /// What is to be noted of this batch.
    #[must_use]
    pub const fn noted(&self) -> Option<&Note> {
        self.note.as_ref()
    }

    /// What the run begins behind, if this batch begins it there.
    #[must_use]
    pub const fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Where this batch begins.
    #[must_use]
    pub const fn before(&self) -> &Position {
        &self.before
    }

    /// The chain as it will be once the batch is stored.
    #[must_use]
    pub const fn after(&self) -> &Chain {
        &self.after
    }

    /// The events.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Times of the first and the last event; `None` if there are no events.
    #[must_use]
    pub const fn span(&self) -> Option<(UnixNanos, UnixNanos)> {
        self.span
    }

    /// The events, the chain behind them, and which events name which blobs.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Record>, Chain, Vec<(Seq, Digest)>) {
        (self.records, self.after, self.blobs)
    }

    /// Which events name which blobs.
    #[must_use]
    pub fn blobs(&self) -> &[(Seq, Digest)] {
        &self.blobs
    }

    /// Ids of the commands that this batch settles, each once.
    #[must_use]
    pub fn settled(&self) -> &[String] {
        &self.settled
    }

    fn keep(&mut self, record: Record, kind: Kind, ts: UnixNanos) {
        self.after.step(&record, kind);
        self.records.push(record);
        self.span = Some((self.span.map_or(ts, |(first, _)| first), ts));
    }

    /// Whether an event of this kind may stand behind `before` events.
    fn check_place(&self, before: u64, kind: Kind) -> Result<(), ChainError> {
        if let Some(terminal) = self.after.terminal {
            return Err(ChainError::Finished { run: self.after.run.clone(), terminal });
        }
        match (Seq::new(before), kind, self.after.version) {
            (None, Kind::RunStarted, _) => Ok(()),
            (None, found, _) => Err(ChainError::NotStarted { found }),
            // Starling takes a second RunStarted; our own log has just one.
            (Some(last), Kind::RunStarted, Version::V2) => Err(ChainError::StartedTwice { seq: last.next() }),
            (Some(_), _, _) => Ok(()),
        }
    }

    fn with_v1_root(&self, payload: Payload) -> Payload {
        let root = || Some(Bytes::copy_from_slice(self.after.v1_tree.root().as_bytes()));
        match payload {
            Payload::RunCompleted(body) => Payload::RunCompleted(payload::RunCompleted { merkle_root: root(), ..body }),
            Payload::RunFailed(body) => Payload::RunFailed(payload::RunFailed { merkle_root: root(), ..body }),
            Payload::RunCancelled(body) => Payload::RunCancelled(payload::RunCancelled { merkle_root: root(), ..body }),
            Payload::RunStarted(mut body) => {
                body.schema_version = Version::V1.number();
                Payload::RunStarted(body)
            }
            other => other,
        }
    }

    fn with_root(&self, payload: Payload) -> Payload {
        // Costs a hash per peak of the tree, so only terminal events pay for it.
        let root = || Some(Bytes::copy_from_slice(self.after.root().as_bytes()));
        let log_size = Some(self.after.size());
        match payload {
            Payload::RunCompleted(body) => {
                Payload::RunCompleted(payload::RunCompleted { merkle_root: root(), log_size, ..body })
            }
            Payload::RunFailed(body) => {
                Payload::RunFailed(payload::RunFailed { merkle_root: root(), log_size, ..body })
            }
            Payload::RunCancelled(body) => {
                Payload::RunCancelled(payload::RunCancelled { merkle_root: root(), log_size, ..body })
            }
            Payload::RunStarted(mut body) => {
                body.schema_version = Version::V2.number();
                Payload::RunStarted(body)
            }
            other => other,
        }
    }
}

/// Why an event cannot continue a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The run has ended.
    #[error("run {run} has ended with {terminal}; nothing can be appended to it")]
    Finished {
        /// The run.
        run: RunId,
        /// How it ended.
        terminal: Kind,
    },
    /// The first event of a log is RunStarted.
    #[error("the first event of a run must be RunStarted, not {found}")]
    NotStarted {
        /// What was given.
        found: Kind,
    },
    /// A v2 log has one RunStarted.
    #[error("event {seq} is a second RunStarted")]
    StartedTwice {
        /// Where.
        seq: Seq,
    },
    /// The event belongs to another run.
    #[error("the event belongs to run `{found}`, not to {expected}")]
    WrongRun {
        /// The run of the log.
        expected: RunId,
        /// The run of the event.
        found: String,
    },
    /// The event has another place.
    #[error("the event has seq {found}, the log continues at {expected}")]
    WrongSeq {
        /// Where the log continues.
        expected: Seq,
        /// The event's seq.
        found: u64,
    },
    /// The event does not name the hash of the one before.
    #[error("event {seq} does not continue the hash chain")]
    BrokenLink {
        /// Where.
        seq: Seq,
    },
    /// Header and payload do not belong together.
    #[error("the payload of event {seq} is not the one its header names")]
    PayloadMismatch {
        /// Where.
        seq: Seq,
    },
    /// The header bytes are not a v2 header.
    #[error("the header cannot be read")]
    Header(#[from] MalformedHeader),
    /// The header bytes are not a v1 envelope.
    #[error("event {seq} is not a v1 event")]
    NotV1 {
        /// Where.
        seq: Seq,
    },
    /// Starling's events go into v1 logs only.
    #[error("run {run} is not a v1 log; its events are pushed as v2 events")]
    NotV1Log {
        /// The run.
        run: RunId,
    },
    /// R1's own events go into v2 logs only.
    #[error("run {run} is a v1 log; its events are pushed as v1 events")]
    NotV2 {
        /// The run.
        run: RunId,
    },
    /// The payload may not stand in a log.
    #[error("the payload cannot be stored")]
    Payload(#[from] UnfitPayload),
}
