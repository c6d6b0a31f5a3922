use std::io::Write as _;

use r1_event::Seq;
use r1_runtime::control::redact::{self, Request};
use r1_runtime::keys;
use r1_runtime::location::Purpose;
use r1_store::Traces;
use serde::Serialize;

use crate::args::parse_seq;
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, print_json};
use crate::render::text::count;
use crate::target::stored_run;

/// Erase what events say: a leaked secret, personal data
///
/// Who erases what and why is written down first, as an event. Then the payloads are overwritten in
/// the store's files. Hashes, proofs and seals go on to hold. Gates, phases, redactions and the
/// terminal event are never erased: verdicts rest on them.
///
/// Exits with 1 if bytes of them were left in the store's files, and says what to do about it; the
/// same command once more clears them away.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 redact last --seq 7 --reason 'API key in tool output'
  r1 redact 01K0E8 --seq 3,9-12 --by operator:alice \\
      --reason 'request by a customer'")]
pub(crate) struct Args {
    /// A run id: any unique prefix, or `last`
    run: String,
    /// Which events: 7 or 3,9-12
    #[arg(long, required = true, value_name = "SEQS", value_parser = parse_seqs)]
    seq: Vec<Seqs>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who, for the record [default: operator: and your user name]
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// Print what was erased as JSON
    #[arg(long)]
    json: bool,
}

/// Places in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seqs(Vec<Seq>);

#[derive(Serialize)]
struct Report {
    run_id: String,
    erased: Vec<u64>,
    erased_before: Vec<u64>,
    redaction: RedactionReport,
    /// Why bytes are still in the store's files, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<LeftReport>,
}

#[derive(Serialize)]
struct LeftReport {
    reason: String,
    remedy: String,
}

#[derive(Serialize)]
struct RedactionReport {
    run_id: String,
    seq: u64,
    hash: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (store, run) = stored_run(context, &args.run, Purpose::Change).await?;
    let mut seqs: Vec<Seq> = args.seq.into_iter().flat_map(|seqs| seqs.0).collect();
    seqs.sort();
    seqs.dedup();
    let by = args.by.unwrap_or_else(environment::operator);
    let request = Request { run: run.clone(), seqs, by, reason: args.reason };
    let now = context.now();
    let key = keys::find_agent_key(&context.home, now)?;
    let done = redact::redact(&store, &request, &context.instance, key, now).await?;
    store.close().await?;
    let numbers = |seqs: &[Seq]| seqs.iter().map(|seq| seq.get()).collect();
    let report = Report {
        run_id: run.to_string(),
        erased: numbers(&done.erased),
        erased_before: numbers(&done.erased_before),
        redaction: RedactionReport {
            run_id: done.redaction.run_id.to_string(),
            seq: done.redaction.seq.get(),
            hash: done.redaction.hash.to_string(),
        },
        left: match done.traces {
            Traces::Gone => None,
            Traces::Left { reason, remedy } => Some(LeftReport { reason, remedy }),
        },
    };
    if args.json {
        print_json(&report)?;
    } else {
        print(&report)?;
    }
    match report.left {
        None => Ok(Exit::Ok),
        Some(LeftReport { reason, remedy }) => Err(CliError::left("the payloads are erased", reason, remedy)),
    }
}

fn print(report: &Report) -> Result<(), CliError> {
    let Report { run_id, erased, erased_before, redaction, left } = report;
    let RedactionReport { run_id: by_run, seq, .. } = redaction;
    let mut out = output::stdout();
    write!(out, "{BOLD}{run_id}{BOLD:#}")?;
    for (seqs, what) in [(erased, "erased"), (erased_before, "erased before")] {
        let places: Vec<_> = seqs.iter().map(ToString::to_string).collect();
        if !places.is_empty() {
            write!(out, "  {} {what}: {}", count(places.len() as u64, "payload"), places.join(", "))?;
        }
    }
    writeln!(out, "\n  event {seq} of {by_run} says who and why")?;
    if left.is_none() && !erased_before.is_empty() {
        writeln!(out, "  the store's files were cleared of them once more")?;
    }
    out.flush()?;
    output::note("copies elsewhere (exports, backups) are not touched");
    Ok(())
}

/// Reads `7` or `3,9-12`.
fn parse_seqs(text: &str) -> Result<Seqs, String> {
    const MOST: u64 = 100_000;
    let wrong = || "expected places like 7 or 3,9-12, counted from 1".to_owned();
    let place = |text: &str| match text.trim().parse::<u64>() {
        Ok(_) => parse_seq(text.trim()).map(Seq::get),
        Err(_) => Err(wrong()),
    };
    let mut seqs = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (place(first)?, place(last)?),
            None => (place(part)?, place(part)?),
        };
        if last < first || last - first >= MOST {
            return Err(wrong());
        }
        seqs.extend((first..=last).filter_map(Seq::new));
    }
    Ok(Seqs(seqs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbers_and_ranges() {
        let seqs = |text: &str| parse_seqs(text).map(|seqs| seqs.0.iter().map(|seq| seq.get()).collect::<Vec<_>>());
        assert_eq!(seqs("3,9-11"), Ok(vec![3, 9, 10, 11]));
        for wrong in ["", "0", "a", "4-2", "1-99999999999", "1,,2"] {
            assert!(seqs(wrong).is_err(), "{wrong}");
        }
    }
}
