//! Checking logs.

use std::collections::HashMap;

use r1_event::cbor::Value;
use r1_event::exchange::ExchangeProblem;
use r1_event::finding::{Finding, Integrity, Part, State, Verdict};
use r1_event::payload::Payload;
use r1_event::side_record::EventRef;
use r1_event::validate::{Elsewhere, Ending, Options, Redaction, Validator};
use r1_event::{Kind, Record, RunId, Seq, SideRecord};
use r1_store::{DamagedRun, PageLimit, SharedStore, StoreError};

use crate::keys::Keyring;
use crate::source::{Log, Progress, SourceError, StoredRun};

/// Findings that payloads rebuilt from JSON may cause by themselves.
const HASHES_DIFFER: [&str; 2] = ["prev_hash_mismatch", "merkle_root_mismatch"];

/// Checks one log with all cores.
pub async fn check_log(log: Log, options: Options, progress: Progress) -> Result<Verdict, SourceError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    blocking(move || check(&log, options, threads, &progress)).await
}

/// Checks one run of a store.
pub async fn check_run(
    store: &SharedStore,
    run: &RunId,
    keyring: &Keyring,
    progress: Progress,
) -> Result<Verdict, SourceError> {
    let log = Log::Stored(StoredRun::open(store.clone(), run.clone()).await?);
    let options = options(log.side_records(), keyring, Some(store)).await?;
    check_log(log, options, progress).await
}

/// What a check draws on besides the events; redactions in other runs are looked up in `store`.
pub async fn options(
    side_records: &[SideRecord],
    keyring: &Keyring,
    store: Option<&SharedStore>,
) -> Result<Options, StoreError> {
    let mut redactions = HashMap::new();
    for record in side_records {
        if let (SideRecord::Erase(erase), Some(store)) = (record, store)
            && erase.redaction.run_id != erase.run_id
            && let Some(found) = elsewhere(store, &erase.redaction).await?
        {
            redactions.insert((erase.redaction.run_id.to_string(), erase.redaction.seq.get()), found);
        }
    }
    let keys = keyring.seal_keys();
    Ok(Options { side_records: side_records.to_vec(), keys, redactions, ..Options::default() })
}

/// The verdict on an entry of a store that no longer tells which log it is, or in which format.
#[must_use]
pub fn damaged_entry(entry: &DamagedRun) -> Verdict {
    Verdict {
        run_id: entry.id.clone(),
        schema_version: None,
        events: 0,
        integrity: Integrity::Broken,
        state: State::Truncated,
        findings: vec![Finding::new(Part::Integrity, "entry_damaged", None, damage(entry))],
        compat: None,
        merkle_root: None,
        head_hash: None,
        sealed_by: None,
        pruned_through: None,
        recorded: false,
    }
}

/// What is wrong with an entry of a store, in a sentence.
#[must_use]
pub fn damage(DamagedRun { position, id, reason }: &DamagedRun) -> String {
    let name = if id.is_empty() { String::new() } else { format!(" of `{id}`") };
    format!("the entry{name} in row {} of the store's runs is damaged: {reason}", position.0.cast_signed())
}

/// The first thing that is wrong, to be told behind a message.
pub(super) fn first_error(verdict: &Verdict) -> String {
    let errors = || verdict.findings.iter().filter(|finding| finding.part != Part::Notice);
    // What is missing or changed explains what does not pair.
    let first = errors().find(|finding| finding.part == Part::Integrity).or_else(|| errors().next());
    let rejection = verdict.compat.as_ref().and_then(|compat| compat.rejection.as_ref());
    let first = first.map(|finding| &finding.message).or(rejection.map(|why| &why.message));
    let more = errors().skip(1).count();
    match first {
        Some(message) if more == 0 => format!(": {message}"),
        Some(message) => format!(": {message}, and {more} more"),
        None => String::new(),
    }
}

/// Runs what blocks where it may.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // The task is never aborted, so this is its panic, which goes on here.
        Err(err) => std::panic::resume_unwind(err.into_panic()),
    }
}

pub(crate) fn check(log: &Log, options: Options, threads: usize, progress: &Progress) -> Result<Verdict, SourceError> {
    let options = Options { standing: log.standing().cloned(), findings: log.findings(), ..options };
    let mut verdict = check_events(log, options, threads, progress)?;
    if log.is_rebuilt() {
        let fits = !verdict.findings.iter().any(|finding| HASHES_DIFFER.contains(&finding.code));
        let message = if fits {
            "a Starling export holds no payload bytes: they were rebuilt from its JSON, and the hashes were checked \
             over that; nothing shows whether the last event's bytes are the original ones"
        } else {
            "a Starling export holds no payload bytes: they were rebuilt from its JSON, and do not give the hashes \
             that the log names. Either the export was changed, or someone else than Starling wrote these payloads; \
             only the log that was exported can tell"
        };
        verdict.findings.push(Finding::new(Part::Notice, "payloads_rebuilt", None, message));
    }
    Ok(verdict)
}

fn check_events(log: &Log, options: Options, threads: usize, progress: &Progress) -> Result<Verdict, SourceError> {
    let pages = log.pages().inspect(|page| progress.add(page.as_ref().map_or(0, Vec::len)));
    let Some(damage) = log.damage() else {
        return Validator::new(options).run(pages, threads);
    };
    let mut validator = Validator::new(options);
    for page in pages {
        page?.iter().for_each(|record| validator.push(record));
    }
    if damage.problem == ExchangeProblem::CutOff {
        return Ok(validator.finish_with(Ending::Torn { offset: damage.offset }));
    }
    let mut verdict = validator.finish();
    let place = verdict.pruned_through.map_or(0, Seq::get) + verdict.events + 1;
    let message = match place - 1 {
        0 => format!("not even the first event in the file can be read: {damage}"),
        before => format!("what follows event {before} in the file cannot be read: {damage}"),
    };
    verdict.integrity = Integrity::Broken;
    // In its place: only what is said of the log as a whole stands behind it.
    let at = verdict.findings.partition_point(|finding| finding.seq.is_some_and(|seq| seq <= place));
    verdict.findings.insert(at, Finding::new(Part::Integrity, "unreadable", Some(place), message));
    Ok(verdict)
}

/// What stands where an erase record points to; `None` if the store does not have that run.
async fn elsewhere(store: &SharedStore, event: &EventRef) -> Result<Option<Elsewhere>, StoreError> {
    match store.head(&event.run_id).await {
        Ok(None) => return Ok(None),
        // What became of its entry, a check of that run tells; its events speak for themselves.
        Ok(Some(_)) | Err(StoreError::Damaged { .. }) => {}
        Err(err) => return Err(err),
    }
    let page = store.read(&event.run_id, event.seq, PageLimit::ONE).await?;
    let found = page.records.first().and_then(|record| read_redaction(record, event));
    Ok(Some(found.map_or(Elsewhere::Nothing, Elsewhere::Redaction)))
}

/// What the `redaction.applied` event in this place says; `None` for any other event, and if the payload is not the
/// one that was written.
fn read_redaction(record: &Record, place: &EventRef) -> Option<Redaction> {
    let header = record.header().ok()?;
    let is_in_place = header.seq == place.seq && header.run_id == place.run_id.as_str();
    if !is_in_place || header.kind != Kind::Typed || !record.has_its_payload() {
        return None;
    }
    let Ok(Payload::Typed(typed)) = Payload::decode(header.kind, record.payload.as_ref()?) else { return None };
    if typed.r#type != "redaction.applied" {
        return None;
    }
    let data = typed.data.value().ok()?;
    let sequences = data.get("sequences")?.as_array()?.iter().map(Value::as_uint).collect::<Option<_>>()?;
    let run_id = data.get("run_id")?.as_text()?.into();
    Some(Redaction { hash: record.hash(), ts: header.ts, run_id, sequences })
}
