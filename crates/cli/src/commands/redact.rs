use std::io::Write as _;

use r1_event::Seq;
use r1_runtime::control::redact::{self, Request};
use r1_runtime::keys;
use r1_runtime::location::Purpose;
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
    redaction: RedactionReport,
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
    let report = Report {
        run_id: run.to_string(),
        erased: done.erased.iter().map(|seq| seq.get()).collect(),
        redaction: RedactionReport {
            run_id: done.redaction.run_id.to_string(),
            seq: done.redaction.seq.get(),
            hash: done.redaction.hash.to_string(),
        },
    };
    if args.json {
        print_json(&report)?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    let places: Vec<_> = report.erased.iter().map(ToString::to_string).collect();
    let RedactionReport { run_id: by_run, seq, .. } = &report.redaction;
    writeln!(out, "{BOLD}{run}{BOLD:#}  {} erased: {}", count(places.len() as u64, "payload"), places.join(", "))?;
    writeln!(out, "  event {seq} of {by_run} says who and why")?;
    out.flush()?;
    output::note("copies elsewhere (exports, backups) are not touched");
    Ok(Exit::Ok)
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
