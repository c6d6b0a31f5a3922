//! Ways to falsify a log.

use bytes::Bytes;
use r1_event::finding::Verdict;
use r1_event::payload::Payload;
use r1_event::validate::{Options, Validator};
use r1_event::{Batch, Chain, Digest, Header, Kind, Record, RunId};

use crate::error::CliError;

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tampering {
    FlipBit,
    Drop,
    ChangeFinalText,
    Rewrite,
}

impl Tampering {
    pub(super) const ALL: [Self; 4] = [Self::FlipBit, Self::Drop, Self::ChangeFinalText, Self::Rewrite];

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::FlipBit => "one bit of the model's first answer is flipped",
            Self::Drop => "the failed test run is left out",
            Self::ChangeFinalText => "the final answer is replaced, and its hash with it",
            Self::Rewrite => "the whole log is written anew: every hash and link fits, but nobody has the key",
        }
    }

    /// The log as it is afterwards.
    pub(super) fn apply(self, records: &[Record], run: &RunId) -> Result<Vec<Record>, CliError> {
        let mut log = records.to_vec();
        match self {
            Self::FlipBit => {
                let answer = place_of(&log, Kind::AssistantMessageCompleted);
                if let Some(payload) = answer.and_then(|at| log[at].payload.as_mut()) {
                    let mut bytes = payload.to_vec();
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0b0000_0100;
                    *payload = bytes.into();
                }
            }
            Self::Drop => {
                if let Some(failed) = place_of(&log, Kind::ToolCallFailed) {
                    log.remove(failed);
                }
            }
            Self::ChangeFinalText => {
                if let Some(last) = log.last_mut() {
                    *last = with_final_text(last, "Fixed by deleting the test.")?;
                }
            }
            Self::Rewrite => log = rewritten(records, run)?,
        }
        Ok(log)
    }
}

fn place_of(log: &[Record], kind: Kind) -> Option<usize> {
    log.iter().position(|record| record.header().is_ok_and(|header| header.kind == kind))
}

/// Checks a log that is in memory.
pub(super) fn check(records: &[Record], options: Options) -> Verdict {
    let mut validator = Validator::new(options);
    records.iter().for_each(|record| validator.push(record));
    validator.finish()
}

fn with_final_text(record: &Record, text: &str) -> Result<Record, CliError> {
    let header = record.header().map_err(broken)?;
    let payload = changed(decode(record)?, text).encode();
    let header = Header { payload_hash: Digest::blake3(&payload), payload_size: payload.len() as u64, ..header };
    Ok(Record { header: header.encode().into(), payload: Some(payload) })
}

/// The log as a forger with all of R1's tools, but without the key, would write it.
fn rewritten(records: &[Record], run: &RunId) -> Result<Vec<Record>, CliError> {
    let mut batch = Batch::new(&Chain::new(run.clone()));
    for record in records {
        let ts = record.header().map_err(broken)?.ts;
        batch.push(ts, changed(decode(record)?, "Fixed. Nothing else was changed.")).map_err(broken)?;
    }
    Ok(batch.records().to_vec())
}

fn changed(payload: Payload, text: &str) -> Payload {
    match payload {
        Payload::RunCompleted(mut body) => {
            body.final_text = text.into();
            Payload::RunCompleted(body)
        }
        other => other,
    }
}

fn decode(record: &Record) -> Result<Payload, CliError> {
    let kind = record.header().map_err(broken)?.kind;
    let nothing = Bytes::new();
    Payload::decode(kind, record.payload.as_ref().unwrap_or(&nothing)).map_err(broken)
}

fn broken(err: impl std::error::Error + Send + Sync + 'static) -> CliError {
    CliError::new("the demo's own log cannot be read").because(err)
}
