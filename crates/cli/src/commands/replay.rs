//! `r1 replay`: would the loop decide the same again?

use std::io::Write as _;

use r1_runtime::agent::Toolset;
use r1_runtime::location::Purpose;
use r1_runtime::replay::{Difference, Divergence, DivergenceKind, Report, Shown, replay};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NAME, print_json};
use crate::render::text::{count, one_line, visible};
use crate::target::stored_run;

/// Run an agent's loop again on what was recorded, and compare every decision
///
/// No model is asked, no tool is run and nothing is changed: everything that came from outside is taken
/// from the log, and everything that the loop decided must come out the same, byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 the same, 1 it diverges, 2 usage, or the run cannot be replayed.

Examples:
  r1 replay last
  r1 replay 01K0E8 --json | jq .divergence.seq")]
pub(crate) struct Args {
    /// Which run
    #[arg(default_value = "last", value_name = "RUN")]
    run: String,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (store, run) = stored_run(context, &args.run, Purpose::Read).await?;
    let started = std::time::Instant::now();
    let report = replay(&store, &run, Toolset::recorded).await?;
    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    if args.json {
        print_json(&as_json(run.as_str(), &report))?;
    } else {
        let mut out = output::stdout();
        out.write_all(text(run.as_str(), &report, Some(took)).as_bytes())?;
        out.flush()?;
    }
    Ok(if report.divergence.is_none() { Exit::Ok } else { Exit::Failed })
}

/// A report as text, several lines. Without a time where texts are compared.
pub(super) fn text(run: &str, report: &Report, took_ms: Option<u64>) -> String {
    let Report { events, compared, taken, divergence } = report;
    let took = took_ms.map(|ms| format!(" in {}", crate::render::number::duration(ms))).unwrap_or_default();
    let Some(divergence) = divergence else {
        let inputs = events.saturating_sub(compared + taken);
        let mut out = format!(
            "{BOLD}{run}{BOLD:#}  {GOOD}replays the same{GOOD:#}  {DIM}{}{took}{DIM:#}\n  \
             {compared} decisions of the loop came out byte for byte as recorded; {inputs} came from outside\n",
            count(*events, "event"),
        );
        if *taken > 0 {
            out.push_str(&format!("  {taken} more were taken as recorded: the log holds too little to repeat them\n"));
        }
        return out;
    };
    let Divergence { seq, kind, expected, found, differences } = divergence;
    let mut out = format!("{BOLD}{run}{BOLD:#}  {BAD}diverges at event {seq}{BAD:#}\n");
    out.push_str(&match kind {
        DivergenceKind::Differs => "  the loop would have written this event otherwise\n".to_owned(),
        DivergenceKind::Unexpected => "  the loop would not have written an event here\n".to_owned(),
    });
    for (name, side) in [("replayed", expected), ("recorded", found)] {
        let said = side.as_ref().map_or_else(|| format!("{DIM}nothing{DIM:#}"), shown);
        out.push_str(&format!("  {DIM}{name:<9}{DIM:#} {said}\n"));
    }
    for Difference { path, expected, found } in differences.iter().take(SHOWN) {
        out.push_str(&format!("    {BOLD}{}{BOLD:#}\n", visible(path)));
        out.push_str(&format!("      {GOOD}replayed{GOOD:#}  {}\n", value(expected.as_ref())));
        out.push_str(&format!("      {BAD}recorded{BAD:#}  {}\n", value(found.as_ref())));
    }
    if differences.len() > SHOWN {
        out.push_str(&format!("    {DIM}… {} more; see `--json`{DIM:#}\n", differences.len() - SHOWN));
    }
    out.push_str(&format!("  {compared} decisions before it came out as recorded\n"));
    out
}

/// Differences named in a report.
const SHOWN: usize = 12;

fn shown(side: &Shown) -> String {
    format!("{NAME}{}{NAME:#} {}", visible(&side.type_name), one_line(&side.data.to_string(), 160))
}

fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| format!("{DIM}(not there){DIM:#}"), |value| one_line(&value.to_string(), 200))
}

fn as_json(run: &str, report: &Report) -> Value {
    let side = |side: &Option<Shown>| side.as_ref().map(|side| json!({ "type": side.type_name, "data": side.data }));
    let divergence = report.divergence.as_ref().map(|divergence| {
        let difference = |difference: &Difference| {
            json!({ "path": difference.path, "replayed": difference.expected, "recorded": difference.found })
        };
        json!({
            "seq": divergence.seq.get(),
            "kind": match divergence.kind {
                DivergenceKind::Differs => "differs",
                DivergenceKind::Unexpected => "unexpected",
            },
            "replayed": side(&divergence.expected),
            "recorded": side(&divergence.found),
            "differences": divergence.differences.iter().map(difference).collect::<Vec<_>>(),
        })
    });
    json!({
        "run_id": run,
        "equal": divergence.is_none(),
        "events": report.events,
        "compared": report.compared,
        "taken": report.taken,
        "divergence": divergence,
    })
}

#[cfg(test)]
mod tests {
    use r1_event::Seq;

    use super::*;

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&text("run_1", report, None)).to_string()
    }

    #[test]
    fn a_divergence_shows_both_sides_and_where_they_differ() {
        let side = |reason: &str| {
            Some(Shown { type_name: "policy.tool_allowed".into(), data: json!({ "reason": reason, "same": 1 }) })
        };
        let differences = vec![
            Difference { path: "/reason".into(), expected: Some("a rule".into()), found: Some("no rule".into()) },
            Difference { path: "/policy_id".into(), expected: None, found: Some("x".into()) },
        ];
        let seq = Seq::new(17).unwrap();
        let differs = Divergence {
            seq,
            kind: DivergenceKind::Differs,
            expected: side("a rule"),
            found: side("no rule"),
            differences,
        };
        let unexpected =
            Divergence { kind: DivergenceKind::Unexpected, expected: None, differences: Vec::new(), ..differs.clone() };
        let report = |divergence| Report { events: 20, compared: 9, taken: 0, divergence };
        insta::assert_snapshot!("replay_same", plain(&report(None)));
        insta::assert_snapshot!("replay_taken", plain(&Report { taken: 2, ..report(None) }));
        insta::assert_snapshot!("replay_differs", plain(&report(Some(differs))));
        insta::assert_snapshot!("replay_unexpected", plain(&report(Some(unexpected))));
    }
}
