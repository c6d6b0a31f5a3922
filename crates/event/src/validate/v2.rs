//! The second half of a check: a v2 log event by event, in order.

use super::erasures::Erasures;
use super::facts::{Call, Examined, Fact, Fields, PayloadState};
use super::findings::Findings;
use super::links::Links;
use super::pairing::Pairing;
use super::standing::Told;
use super::vouchers::{Extent, Vouchers};
use super::{Ending, Options};
use crate::finding::{Finding, Integrity, Part, State, Verdict};
use crate::id::{Digest, RunId, Seq, UnixNanos};
use crate::kind::Kind;
use crate::merkle::{Blake3, Frontier};
use crate::record::Version;
use crate::side_record::{Erase, Prune, SideRecord};

/// The state of a check, in memory that does not grow with the log.
#[derive(Clone, Debug)]
pub(super) struct LogCheck {
    run_id: String,
    schema_version: Option<u32>,
    recorded: bool,
    events: u64,
    links: Links,
    tree: Frontier<Blake3>,
    pairing: Pairing,
    vouchers: Vouchers,
    erasures: Erasures,
    terminal: Option<Terminal>,
    last_ts: Option<UnixNanos>,
    pruned_through: Option<Seq>,
    findings: Findings,
}

/// The event that ended the run.
#[derive(Clone, Debug)]
struct Terminal {
    seq: u64,
    kind: Kind,
}

impl LogCheck {
    /// Starts the check of the log of `run_id`, or of what a prune left of it.
    pub(super) fn new(run_id: &str, options: &Options) -> Self {
        let mut check = Self {
            run_id: run_id.to_owned(),
            schema_version: None,
            recorded: false,
            events: 0,
            links: Links::starting_at(1, None),
            tree: Frontier::default(),
            pairing: Pairing::default(),
            vouchers: Vouchers::default(),
            erasures: Erasures::default(),
            terminal: None,
            last_ts: None,
            pruned_through: None,
            findings: options.findings.clone(),
        };
        let mut prunes = Vec::new();
        for record in &options.side_records {
            check.take_side_record(record, &mut prunes);
        }
        prunes.sort_by_key(|prune| prune.through());
        check.vouchers.begin();
        for prune in prunes {
            check.start_behind(prune);
        }
        check
    }

    fn take_side_record<'a>(&mut self, record: &'a SideRecord, prunes: &mut Vec<&'a Prune>) {
        if record.run_id().is_some_and(|run| run != self.run_id)
            && !matches!(record, SideRecord::Seal(_) | SideRecord::Checkpoint(_))
        {
            let message = format!("a {} record of another run stands beside this log", record.name());
            self.findings.push(Finding::new(Part::Integrity, "record_of_other_run", None, message));
            return;
        }
        match record {
            SideRecord::Erase(erase) => self.erasures.add(erase),
            SideRecord::Prune(prune) => prunes.push(prune),
            SideRecord::Seal(seal) => self.vouchers.add(seal, true),
            SideRecord::Checkpoint(seal) => self.vouchers.add(seal, false),
            SideRecord::Other(_) => {
                let known = ["erase", "prune", "seal", "checkpoint"].contains(&record.name());
                let (part, code) =
                    if known { (Part::Integrity, "record_damaged") } else { (Part::Notice, "record_unknown") };
                let message = format!("a `{}` record beside the log cannot be read", record.name());
                self.findings.push(Finding::new(part, code, None, message));
            }
            SideRecord::Damaged(_) => {
                let message = "what is kept beside the log is damaged: one record cannot be read at all";
                self.findings.push(Finding::new(Part::Integrity, "record_damaged", None, message));
            }
        }
    }

    /// Takes the events that are gone as their record has them: what someone signed when the log had just these
    /// is compared with it.
    fn start_behind(&mut self, prune: &Prune) {
        let through = prune.through();
        self.tree = prune.trees.blake3().clone();
        self.vouchers.reach(through.get(), self.tree.root(), prune.last_hash, None);
        self.links = Links::starting_at(through.get() + 1, Some(prune.last_hash));
        self.pairing = Pairing::restored(prune.open_turn.clone(), &prune.open_calls, through);
        self.schema_version = Some(Version::V2.number());
        self.recorded = prune.context.run_kind.as_deref() == Some("recorded");
        self.pruned_through = Some(through);
    }

    /// Takes the next event.
    pub(super) fn observe(&mut self, examined: Examined) {
        let Examined { hash, leaf, header, payload, fact, unreadable } = examined;
        self.events += 1;
        let root_before = self.root_if_terminal(&header);
        let at = header.as_ref().ok().map(|fields| fields.ts);
        self.tree.push(leaf);
        match header {
            Err(malformed) => {
                let seq = self.links.next();
                let message = format!("the header in place {seq} is {malformed}");
                self.findings.push(Finding::new(Part::Integrity, "header_malformed", Some(seq), message));
                self.links.unreadable(hash);
            }
            Ok(fields) => {
                let seq = fields.seq.get();
                let in_place = self.links.take(seq, fields.prev_hash, hash, self.findings.list());
                self.check_fields(&fields);
                self.check_payload(&fields, payload, unreadable);
                if in_place {
                    self.apply(&fields, hash, fact, root_before);
                }
            }
        }
        if self.vouchers.next_size().is_some_and(|size| size <= self.tree.size()) {
            self.vouchers.reach(self.tree.size(), self.tree.root(), hash, at);
        }
    }

    fn root_if_terminal(&self, header: &Result<Fields, crate::header::MalformedHeader>) -> Option<Digest> {
        header.as_ref().is_ok_and(|fields| fields.kind.is_terminal()).then(|| self.tree.root())
    }

    fn check_fields(&mut self, fields: &Fields) {
        let seq = fields.seq.get();
        if self.events == 1 {
            self.check_run_id(seq);
        }
        if let Some(found) = &fields.other_run {
            let message = format!("event {seq} belongs to another run");
            self.findings
                .push(Finding::new(Part::Integrity, "run_id_mismatch", Some(seq), message).with(&self.run_id, found));
        }
        if let Kind::Other(number) = fields.kind {
            let message = format!("event {seq} is of kind {number}, which this r1 does not know");
            self.findings.push(Finding::new(Part::Notice, "kind_unknown", Some(seq), message));
        }
        if let Some(before) = self.last_ts.replace(fields.ts)
            && fields.ts < before
        {
            let message = format!("event {seq} is older than the one before it");
            self.findings
                .push(Finding::new(Part::Notice, "time_backwards", Some(seq), message).with(before.0, fields.ts.0));
        }
    }

    /// All events of a log name the run that the first one names.
    fn check_run_id(&mut self, seq: u64) {
        let finding = match self.run_id.parse::<RunId>() {
            Ok(run) if run.is_native() => return,
            Err(_) if self.run_id.is_empty() => {
                Finding::new(Part::Integrity, "empty_run_id", Some(seq), format!("event {seq} names no run"))
            }
            Ok(_) | Err(_) => {
                let message = "the run's id is not as R1 writes it: `run_` and a ULID";
                Finding::new(Part::Notice, "run_id_form", Some(seq), message)
            }
        };
        self.findings.push(finding);
    }

    fn check_payload(&mut self, fields: &Fields, payload: PayloadState, unreadable: Option<&'static str>) {
        let (seq, kind) = (fields.seq.get(), fields.kind);
        let finding = match payload {
            PayloadState::Intact => {
                let Some(key) = unreadable else { return };
                let message = format!("`{key}` of event {seq} does not hold what a {kind} event says there");
                Finding::new(Part::Structure, "payload_unreadable", Some(seq), message)
            }
            PayloadState::Erased => {
                self.erasures.erased(&self.run_id, seq, kind, self.findings.list());
                return;
            }
            PayloadState::Mismatch { expected, found } => {
                let message = format!("the payload of event {seq} is not the one its header names");
                Finding::new(Part::Integrity, "payload_mismatch", Some(seq), message).with(expected, found)
            }
            PayloadState::WrongSize { expected, found } => {
                let message = format!("the payload of event {seq} has another size than its header says");
                Finding::new(Part::Integrity, "payload_mismatch", Some(seq), message).with(expected, found)
            }
            PayloadState::Unfit(unfit) => {
                Finding::new(Part::Structure, "payload_unfit", Some(seq), format!("event {seq}: {unfit}"))
            }
        };
        self.findings.push(finding);
    }

    fn apply(&mut self, fields: &Fields, hash: Digest, fact: Fact, root_before: Option<Digest>) {
        let (seq, kind) = (fields.seq.get(), fields.kind);
        if let Some(terminal) = &self.terminal {
            let message = format!("event {seq} stands behind the terminal event {}", terminal.seq);
            self.findings.push(Finding::new(Part::Structure, "event_after_terminal", Some(seq), message));
        }
        self.check_start(seq, kind, &fact);
        let fact = match (&fact, self.erasures.get(seq)) {
            (Fact::Nothing, Some(erase)) => remembered(kind, erase),
            _ => fact,
        };
        let redaction = match &fact {
            Fact::Redaction { run_id, sequences } => Some((run_id.as_str(), sequences.as_slice())),
            _ => None,
        };
        self.erasures.passed(&self.run_id, seq, (hash, fields.ts), redaction, self.findings.list());
        if let Some(root) = root_before {
            self.check_terminal(seq, kind, root, &fact);
        }
        let findings = self.findings.list();
        match fact {
            Fact::Started { schema_version, recorded } => {
                self.schema_version = schema_version.and_then(|version| u32::try_from(version).ok());
                self.recorded = recorded;
                check_schema_version(seq, schema_version, findings);
            }
            Fact::TurnStarted { turn_id } => self.pairing.turn_started(seq, turn_id, findings),
            Fact::TurnCompleted { turn_id } => self.pairing.turn_completed(seq, &turn_id, findings),
            Fact::BudgetExceeded { turn_id } | Fact::TurnFailed { turn_id, will_retry: false } => {
                self.pairing.turn_cut(seq, &turn_id, findings);
            }
            Fact::CallScheduled(call) => self.pairing.call_scheduled(seq, call, findings),
            Fact::CallEnded(call) => self.pairing.call_ended(seq, &call, findings),
            Fact::Resumed => self.pairing.resumed(),
            Fact::Nothing
            | Fact::Unreadable
            | Fact::Terminal { .. }
            | Fact::Redaction { .. }
            | Fact::TurnFailed { .. } => {}
        }
    }

    fn check_start(&mut self, seq: u64, kind: Kind, fact: &Fact) {
        let first = self.events == 1 && self.pruned_through.is_none();
        if first && kind != Kind::RunStarted {
            let message = format!("the log begins with {kind}");
            self.findings
                .push(Finding::new(Part::Structure, "not_started", Some(seq), message).with(Kind::RunStarted, kind));
        }
        if !first && matches!(fact, Fact::Started { .. }) {
            let message = format!("event {seq} is a second RunStarted");
            self.findings.push(Finding::new(Part::Structure, "started_twice", Some(seq), message));
        }
    }

    fn check_terminal(&mut self, seq: u64, kind: Kind, root: Digest, fact: &Fact) {
        self.pairing.ended(kind, self.findings.list());
        self.terminal = Some(Terminal { seq, kind });
        let Fact::Terminal { root: named, log_size } = fact else { return };
        if *named != Some(root) {
            let message = "the terminal event names another Merkle root than the events before it have";
            let named = named.map_or_else(|| "none".to_owned(), |named| named.to_string());
            self.findings
                .push(Finding::new(Part::Integrity, "merkle_root_mismatch", Some(seq), message).with(root, named));
        }
        let before = self.tree.size() - 1;
        if *log_size != Some(before) {
            let message = "the terminal event counts another number of events before it than there are";
            let named = log_size.map_or_else(|| "none".to_owned(), |size| size.to_string());
            self.findings
                .push(Finding::new(Part::Integrity, "log_size_mismatch", Some(seq), message).with(before, named));
        }
    }

    /// The run that this log is of.
    pub(super) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// What is open at this point: the turn, and the calls in order of schedule.
    pub(super) fn open(&self) -> (Option<String>, Vec<(String, u32, Seq)>) {
        self.pairing.open()
    }

    /// Adds what was found by other means.
    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// The verdict, once the log has ended.
    pub(super) fn finish(mut self, options: &Options, ending: Ending) -> Verdict {
        let findings = self.findings.list();
        self.links.finish(findings);
        // What stands behind a terminal event is a finding, and does not open the run again.
        let has_ended = self.terminal.is_some();
        self.erasures.finish(&self.run_id, has_ended, &options.redactions, findings);
        let mut state = match ending {
            Ending::Clean if has_ended => State::Complete,
            Ending::Clean => State::Open,
            Ending::Torn { .. } => State::Truncated,
        };
        if let Ending::Torn { offset } = ending {
            let message = format!("the last event is cut off at byte {offset}");
            findings.push(Finding::new(Part::Integrity, "torn", Some(self.links.next()), message));
        }
        let extent = Extent {
            size: self.tree.size(),
            last: self.links.next() - 1,
            first_missing: self.links.first_missing(),
            has_ended,
        };
        if let Some(standing) = &options.standing {
            let terminal = self.terminal.as_ref().map(|terminal| terminal.kind);
            let told = Told { run_id: &self.run_id, version: Version::V2, terminal, last: extent.last };
            standing.compare(&told, &mut state, findings);
        }
        let sealed_by = self.vouchers.finish(&self.run_id, extent, &mut state, &options.keys, findings);
        let findings = self.findings.finish();
        let broken = findings.iter().any(|finding| finding.part == Part::Integrity);
        Verdict {
            run_id: options.standing.as_ref().map_or(self.run_id, |standing| standing.run_id.clone()),
            schema_version: self.schema_version,
            events: self.events,
            integrity: if broken { Integrity::Broken } else { Integrity::Ok },
            state,
            findings,
            compat: None,
            merkle_root: (extent.size > 0).then(|| self.tree.root()),
            head_hash: self.links.head(),
            sealed_by: sealed_by.filter(|_| !broken),
            pruned_through: self.pruned_through,
            recorded: self.recorded,
        }
    }
}

fn check_schema_version(seq: u64, found: Option<u64>, findings: &mut Vec<Finding>) {
    let supported = u64::from(Version::V2.number());
    if found == Some(supported) {
        return;
    }
    let message = match found {
        Some(found) if found > supported => {
            format!("the log has schema {found}, newer than this r1 knows: use a newer r1")
        }
        _ => "the log's first event does not name its schema".to_owned(),
    };
    let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
    findings.push(Finding::new(Part::Structure, "schema_version", Some(seq), message).with(supported, found));
}

/// What an erase record keeps of an event for pairing.
fn remembered(kind: Kind, erase: &Erase) -> Fact {
    let turn_id = erase.turn_id.clone();
    let call = || match (&erase.call_id, erase.attempt) {
        (Some(id), Some(attempt)) => Some(Call { id: id.clone(), attempt }),
        _ => None,
    };
    let fact = match kind {
        Kind::RunStarted => erase.context.as_ref().map(|context| Fact::Started {
            schema_version: Some(Version::V2.number().into()),
            recorded: context.run_kind.as_deref() == Some("recorded"),
        }),
        Kind::TurnStarted => turn_id.map(|turn_id| Fact::TurnStarted { turn_id }),
        Kind::AssistantMessageCompleted => turn_id.map(|turn_id| Fact::TurnCompleted { turn_id }),
        Kind::BudgetExceeded => Some(Fact::BudgetExceeded { turn_id: turn_id.unwrap_or_default() }),
        Kind::TurnFailed => {
            // A failed attempt that is retried keeps no turn id in its erase record: the turn stays open.
            turn_id.map(|turn_id| Fact::TurnFailed { turn_id, will_retry: false })
        }
        Kind::ToolCallScheduled => call().map(Fact::CallScheduled),
        Kind::ToolCallCompleted | Kind::ToolCallFailed => call().map(Fact::CallEnded),
        Kind::RunResumed => Some(Fact::Resumed),
        Kind::UserMessageAppended
        | Kind::ReasoningEmitted
        | Kind::SideEffectRecorded
        | Kind::ContextTruncated
        | Kind::RunCompleted
        | Kind::RunFailed
        | Kind::RunCancelled
        | Kind::Typed
        | Kind::Other(_) => None,
    };
    fact.unwrap_or(Fact::Nothing)
}
