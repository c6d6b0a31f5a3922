use std::io::Write as _;

use clap::ArgGroup;
use r1_event::{Seq, UnixNanos};
use r1_runtime::control::check;
use r1_runtime::control::prune::{self, Plan, PlanOlder};
use r1_runtime::location::Purpose;
use r1_runtime::source::Progress;
use serde::Serialize;

use crate::args::parse_seq;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, print_json};
use crate::progress::Ticker;
use crate::render::text::{count, visible};
use crate::target::stored_run;

/// Remove the events of finished runs, and keep what proves the rest
///
/// Only a beginning goes, never the terminal event. A prune record keeps the last hash and the tree's
/// frontier, so that what is left, its seal and all proofs still verify.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("which").required(true).args(["run", "older_than"]),
    after_long_help = "\
Exit codes: 0 done, 1 some runs cannot be pruned because their entries in the store are damaged,
2 usage or I/O.

Examples:
  r1 prune --older-than 30d --dry-run
  r1 prune --run 01K0E8 --through 500"
)]
pub(crate) struct Args {
    /// This run: any unique prefix of its id, or `last`
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Through this event, instead of all but the last
    #[arg(long, value_name = "SEQ", requires = "run", value_parser = parse_seq)]
    through: Option<Seq>,
    /// All runs that ended longer ago than this: 30d, 12h, 90m, 4w
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    older_than: Option<i64>,
    /// Why, for the record
    #[arg(long, default_value = "retention", value_name = "TEXT")]
    reason: String,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Print what went as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    runs: Vec<RunReport>,
}

#[derive(Serialize)]
struct RunReport {
    run_id: String,
    through: u64,
    events: u64,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (store, PlanOlder { plans, damaged }) = match (&args.run, args.older_than) {
        (Some(run), _) => {
            let (store, run) = stored_run(context, run, Purpose::Change).await?;
            let plan = prune::plan(&store, &run, args.through).await?;
            (store, PlanOlder { plans: vec![plan], damaged: Vec::new() })
        }
        (None, age) => {
            let store = context.open_store(Purpose::Change).await?;
            let before = UnixNanos(context.now().0.saturating_sub(age.unwrap_or(0)));
            let older = prune::plan_older(&store, before).await?;
            (store, older)
        }
    };
    if !args.dry_run {
        let keyring = context.keyring()?;
        let progress = Progress::default();
        let _ticker = Ticker::start(&progress, "checked");
        for plan in &plans {
            prune::prune(&store, plan, &keyring, &args.reason, context.now(), progress.clone()).await?;
        }
        if !plans.is_empty() {
            store.compact().await?;
        }
    }
    store.close().await?;
    if args.json {
        print_json(&report(&plans, args.dry_run))?
    } else {
        print(&plans, args.dry_run)?
    }
    for entry in &damaged {
        output::note(&format!("{}; it stays as it is", visible(&check::damage(entry))));
    }
    Ok(if damaged.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn report(plans: &[Plan], dry_run: bool) -> Report {
    let run =
        |plan: &Plan| RunReport { run_id: plan.run_id.to_string(), through: plan.through.get(), events: plan.events };
    Report { dry_run, runs: plans.iter().map(run).collect() }
}

fn print(plans: &[Plan], dry_run: bool) -> Result<(), CliError> {
    let mut out = output::stdout();
    let verb = if dry_run { "would be removed" } else { "removed" };
    for Plan { run_id, through, events } in plans {
        let id = visible(run_id.as_str());
        writeln!(out, "{BOLD}{id}{BOLD:#}  {} {verb}, through {through}", count(*events, "event"))?;
    }
    if plans.is_empty() {
        output::note("no run is that old");
    }
    Ok(out.flush()?)
}

/// Nanoseconds of an age like `30d`.
fn parse_age(text: &str) -> Result<i64, String> {
    let wrong = || "expected a number and a unit, like 30d, 12h, 90m or 4w".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    if number < 0 {
        return Err(wrong());
    }
    number.checked_mul(seconds).and_then(|seconds| seconds.checked_mul(1_000_000_000)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        assert_eq!(parse_age("2h"), Ok(7_200_000_000_000));
        assert_eq!(parse_age("4w"), Ok(4 * 7 * 86_400 * 1_000_000_000));
        for wrong in ["", "d", "30", "-1d", "1.5d", "1y", "99999999999w", "3é"] {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
    }
}
