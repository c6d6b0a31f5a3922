//! Checking a v1 log event by event: what Starling would say, and all that it would not.

use std::borrow::Cow;

use super::examine::{Examined, NotV1, examine};
use super::kind::{KindName, Quoted};
use super::lenient::Unreadable;
use super::merkle;
use super::pairing::Pairing;
use super::strict::Strict;
use crate::cbor::Malformed;
use crate::finding::{Compat, Finding, NOT_TERMINAL, Part, Rejection, State};
use crate::id::{Digest, to_hex};
use crate::kind::Kind;
use crate::record::Record;

/// Checks one v1 log in a single pass. Memory does not grow with the log, only with what is open in it:
/// the calls of a turn, and the findings if the caller keeps them.
#[derive(Debug, Default)]
pub struct Validator {
    events: u64,
    run_id: Vec<u8>,
    schema_version: Option<u32>,
    previous: Option<Previous>,
    /// Over every event but the last one.
    tree: merkle::Tree,
    pairing: Pairing,
    strict: Strict,
    rejections: Rejections,
}

/// What is kept of the event before.
#[derive(Debug)]
struct Previous {
    seq: u64,
    kind: u8,
    hash: Result<Digest, Malformed>,
    /// The root that it names, if it is a terminal event.
    root: Option<Result<Vec<u8>, Unreadable>>,
}

/// The first problem of each of Starling's stages. An earlier stage wins, wherever its problem is.
#[derive(Debug, Default)]
struct Rejections {
    envelope: Option<Rejection>,
    terminal: Option<Rejection>,
    semantics: Option<Rejection>,
    merkle: Option<Rejection>,
}

/// What there is to say once every event was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The run, as the first event spells it.
    pub run_id: String,
    /// What RunStarted says, if it can be read.
    pub schema_version: Option<u32>,
    /// How many events there were.
    pub events: u64,
    /// Starling's verdict.
    pub compat: Compat,
    /// [`State::Open`] as long as no terminal event was seen.
    pub state: State,
    /// Root that the terminal event has to name: over every event before it, or over all events of an
    /// open log.
    pub merkle_root: Digest,
    /// Hash of the last event; `None` for an empty log, or if its payload is malformed.
    pub head_hash: Option<Digest>,
}

impl Validator {
    /// Examines and observes one event.
    pub fn check(&mut self, record: &Record, findings: &mut Vec<Finding>) -> Result<(), NotV1> {
        self.observe(&examine(record)?, findings);
        Ok(())
    }

    /// Takes the next event of the log, and adds what is found to `findings`.
    pub fn observe(&mut self, event: &Examined, findings: &mut Vec<Finding>) {
        let index = self.events;
        self.events += 1;
        findings.extend_from_slice(&event.notices);
        let mut report = Report { index, seq: event.seq, findings };
        self.envelope(event, &mut report);
        self.terminal_before_end(&mut report);
        if index == 0 {
            self.start(event, &mut report);
        }
        let open_calls = self.pairing.open_calls();
        self.pairing.observe(event, &mut report, &mut self.rejections.semantics);
        self.strict.observe(event, open_calls, &mut report);
        if let Some(previous) = &self.previous {
            push(&mut self.tree, previous.hash);
        }
        self.previous = Some(Previous::of(event));
    }

    /// Says what the log as a whole amounts to.
    #[must_use]
    pub fn finish(mut self, findings: &mut Vec<Finding>) -> Outcome {
        let Some(last) = self.previous.take() else {
            return Outcome {
                run_id: String::new(),
                schema_version: None,
                events: 0,
                compat: Compat { rejection: Some(rejection("no_events", None, None, "no events")) },
                state: State::Open,
                merkle_root: self.tree.root(),
                head_hash: None,
            };
        };
        let index = self.events - 1;
        let mut report = Report { index, seq: last.seq, findings };
        let ended_before = self.rejections.terminal.is_some();
        let ends = is_terminal(last.kind);
        if ends {
            self.root(&last, &mut report);
            report.findings.extend(self.pairing.left_open());
        } else {
            push(&mut self.tree, last.hash);
            let text = format!("last event kind {} is not terminal", KindName(last.kind));
            self.rejections.terminal = Some(rejection(NOT_TERMINAL, Some(index), Some(last.seq), &text));
        }
        let Rejections { envelope, terminal, semantics, merkle } = self.rejections;
        Outcome {
            run_id: text(&self.run_id).into_owned(),
            schema_version: self.schema_version,
            events: self.events,
            compat: Compat { rejection: envelope.or(terminal).or(semantics).or(merkle) },
            state: if ends || ended_before { State::Complete } else { State::Open },
            merkle_root: self.tree.root(),
            head_hash: last.hash.ok(),
        }
    }

    /// Run, position and link to the event before.
    fn envelope(&mut self, event: &Examined, report: &mut Report<'_>) {
        let stage = &mut self.rejections.envelope;
        match &self.previous {
            None => {
                self.run_id = event.run_id().to_vec();
                first_envelope(event, report, stage);
            }
            Some(previous) => next_envelope(event, &self.run_id, previous, report, stage),
        }
        if let Err(malformed) = event.hash {
            report.integrity("malformed_payload", format!("the payload is not well-formed: {malformed}"));
        }
    }

    fn terminal_before_end(&mut self, report: &mut Report<'_>) {
        let Some(previous) = self.previous.as_ref().filter(|event| is_terminal(event.kind)) else { return };
        let (index, seq) = (report.index - 1, previous.seq);
        let text = format!("terminal event at index {index} before end");
        let message = format!("{} ends the run, but events follow", KindName(previous.kind));
        report.findings.push(Finding::new(Part::Structure, "terminal_before_end", Some(seq), message));
        self.rejections.terminal.get_or_insert_with(|| rejection("terminal_before_end", Some(index), Some(seq), &text));
    }

    /// The first event says what log this is.
    fn start(&mut self, event: &Examined, report: &mut Report<'_>) {
        let stage = &mut self.rejections.semantics;
        match (&event.fields, event.kind) {
            (Some(Ok(fields)), 1) => {
                let version = fields.uint("schema_version");
                self.schema_version = u32::try_from(version).ok();
                if version != 1 {
                    let text = format!("RunStarted.SchemaVersion {version} unsupported (max 1)");
                    report.reject(
                        stage,
                        Part::Structure,
                        "schema_version",
                        &text,
                        Some(("1".into(), version.to_string())),
                    );
                }
            }
            (Some(Err(why)), 1) => {
                let text = format!("decode RunStarted: event: decode RunStarted payload: {}", why.starling_text());
                report.reject_for(
                    stage,
                    Part::Structure,
                    "decode",
                    &text,
                    &format!("RunStarted cannot be read: {why}"),
                );
            }
            (_, kind) => {
                let text = format!("event[0].Kind = {}, want RunStarted", KindName(kind));
                let sides = ("RunStarted".into(), KindName(kind).to_string());
                report.reject(stage, Part::Structure, "first_kind", &text, Some(sides));
            }
        }
    }

    /// The root that the terminal event names.
    fn root(&mut self, last: &Previous, report: &mut Report<'_>) {
        let stage = &mut self.rejections.merkle;
        match &last.root {
            Some(Ok(found)) => {
                let expected = self.tree.root();
                if found != expected.as_bytes() {
                    let sides = (expected.to_string(), to_hex(found));
                    report.reject(stage, Part::Integrity, "merkle_root_mismatch", "merkle root mismatch", Some(sides));
                }
            }
            Some(Err(why)) => {
                let kind = KindName(last.kind);
                let text = format!("decode terminal payload: event: decode {kind} payload: {}", why.starling_text());
                let message = format!("{kind} cannot be read: {why}");
                report.reject_for(stage, Part::Integrity, "decode_terminal", &text, &message);
            }
            None => {}
        }
    }
}

fn first_envelope(event: &Examined, report: &mut Report<'_>, stage: &mut Option<Rejection>) {
    if event.run_id().is_empty() {
        report.reject(stage, Part::Integrity, "empty_run_id", "event[0] has empty RunID", None);
    }
    if event.seq != 1 {
        let text = format!("event[0].Seq = {}, want 1", event.seq);
        report.reject(stage, Part::Integrity, "first_seq", &text, Some(("1".into(), event.seq.to_string())));
    }
    match event.prev_hash() {
        None => {}
        Some([]) => {
            report.notice("first_prev_hash_form", "the first event links to an empty hash instead of none".into())
        }
        Some(hash) => {
            let sides = ("null".into(), to_hex(hash));
            report.reject(stage, Part::Integrity, "first_prev_hash", "event[0].PrevHash is non-empty", Some(sides));
        }
    }
}

fn next_envelope(
    event: &Examined,
    run_id: &[u8],
    previous: &Previous,
    report: &mut Report<'_>,
    stage: &mut Option<Rejection>,
) {
    let index = report.index;
    if event.run_id() != run_id {
        let (found, expected) = (text(event.run_id()), text(run_id));
        let text = format!("RunID mismatch at index {index}: {} vs {}", Quoted(&found), Quoted(&expected));
        let sides = (expected.into_owned(), found.into_owned());
        report.reject(stage, Part::Integrity, "run_id_mismatch", &text, Some(sides));
    }
    let expected = previous.seq.wrapping_add(1);
    if event.seq != expected {
        let text = format!("seq gap at index {index}: want {expected} got {}", event.seq);
        report.reject(stage, Part::Integrity, "seq_gap", &text, Some((expected.to_string(), event.seq.to_string())));
    }
    match previous.hash {
        Ok(hash) => {
            let found = event.prev_hash().unwrap_or_default();
            if found != hash.as_bytes() {
                let text = format!("prev-hash mismatch at index {index}");
                let sides = (hash.to_string(), to_hex(found));
                report.reject(stage, Part::Integrity, "prev_hash_mismatch", &text, Some(sides));
            }
        }
        // The finding was made when that event was observed.
        Err(_) => {
            let before = index - 1;
            stage.get_or_insert_with(|| {
                rejection("marshal", Some(before), Some(previous.seq), &format!("marshal event[{before}]: cbor:"))
            });
        }
    }
}

fn push(tree: &mut merkle::Tree, hash: Result<Digest, Malformed>) {
    // An event without a hash broke the log already; zeros keep its place.
    tree.push(hash.unwrap_or(Digest::new([0; 32])));
}

impl Previous {
    fn of(event: &Examined) -> Self {
        let root = event.fields.as_ref().filter(|_| is_terminal(event.kind)).map(|fields| match fields {
            Ok(fields) => Ok(fields.bytes("merkle_root").unwrap_or_default().to_vec()),
            Err(why) => Err(why.clone()),
        });
        Self { seq: event.seq, kind: event.kind, hash: event.hash, root }
    }
}

/// Text that was read as such, to be shown.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

pub(super) const fn is_terminal(kind: u8) -> bool {
    Kind::from_number(kind as u64).is_terminal()
}

fn rejection(code: &'static str, index: Option<u64>, seq: Option<u64>, text: &str) -> Rejection {
    Rejection { code, index, seq, message: format!("eventlog: log failed validation: {text}") }
}

/// Where findings about one event go.
pub(super) struct Report<'a> {
    pub(super) index: u64,
    pub(super) seq: u64,
    pub(super) findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    /// A problem that Starling refuses the log for, in Starling's words.
    pub(super) fn reject(
        &mut self,
        stage: &mut Option<Rejection>,
        part: Part,
        code: &'static str,
        text: &str,
        sides: Option<(String, String)>,
    ) {
        self.reject_for(stage, part, code, text, text);
        if let (Some(finding), Some((expected, found))) = (self.findings.last_mut(), sides) {
            finding.expected = Some(expected);
            finding.found = Some(found);
        }
    }

    /// The same, where Starling's words alone do not tell enough.
    pub(super) fn reject_for(
        &mut self,
        stage: &mut Option<Rejection>,
        part: Part,
        code: &'static str,
        text: &str,
        message: &str,
    ) {
        self.findings.push(Finding::new(part, code, Some(self.seq), message));
        stage.get_or_insert_with(|| rejection(code, Some(self.index), Some(self.seq), text));
    }

    fn integrity(&mut self, code: &'static str, message: String) {
        self.findings.push(Finding::new(Part::Integrity, code, Some(self.seq), message));
    }

    /// Something that Starling accepts although it should not.
    pub(super) fn notice(&mut self, code: &'static str, message: String) {
        self.findings.push(Finding::new(Part::Notice, code, Some(self.seq), message));
    }

    /// The same, with what should be there and what is.
    pub(super) fn notice_with(
        &mut self,
        code: &'static str,
        message: String,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) {
        self.findings.push(Finding::new(Part::Notice, code, Some(self.seq), message).with(expected, found));
    }
}
