//! `r1 resume`: going on where a run stopped.

use r1_event::Seq;
use r1_protocol::api;
use r1_runtime::agent::Budget;
use r1_runtime::control::go_on::{self, Changes};
use r1_runtime::workers::Workers;
use r1_store::{Listed, RunFilter};
use tokio_util::sync::CancellationToken;

use super::run::carry_out;
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::output;
use crate::remote::{At, Remote};
use crate::signals::Signals;
use crate::workshop::Workshop;

/// Go on with a run that stopped
///
/// A run whose process was killed goes on in its own log: what was done stays done, a call that was cut
/// off is made again only if that is safe, and the log says where it was cut. A run that failed or was
/// cancelled is gone on with in a new run that knows all that was said; a completed one too, if you give
/// it something more to do.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: as of `r1 run`.

Examples:
  r1 resume                                  # the last run
  r1 resume 01K0E8 --message \"also update the changelog\"
  r1 resume last --budget-usd 2              # after its budget was used up
  r1 resume --all                            # all that nobody works on")]
pub(crate) struct Args {
    /// Which run
    #[arg(default_value = "last", value_name = "RUN")]
    run: String,
    /// Work on every open run that nobody works on, until all have ended or wait for a person
    #[arg(long, conflicts_with_all = ["run", "message", "budget_usd", "thinking", "verbose", "json"])]
    all: bool,
    /// Tell the agent something more
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// A new budget for the whole task, in US dollars (only for a run that has ended)
    #[arg(long, value_name = "USD", value_parser = super::run::dollars)]
    budget_usd: Option<u64>,
    /// Show the model's reasoning too
    #[arg(long)]
    thinking: bool,
    /// Show every event, and nothing shortened
    #[arg(long, short)]
    verbose: bool,
    /// Print nothing but one JSON line with the result at the end
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if args.all {
        return all(context).await;
    }
    if let Some(remote) = args.at.open(context)? {
        return by_daemon(args, &remote).await;
    }
    let (workshop, state) = Workshop::of_run(context, &args.run).await?;
    let given = state.run.clone();
    let is_held = follow::is_held(workshop.engine.store(), &given).await?;
    let attendance = super::demo::attendance(&state).unwrap_or_else(follow::attendance);
    let (run, message, from) = match state.terminal {
        None if is_held => {
            return Err(CliError::new(format!("run {given} is being worked on"))
                .hint(format!("watch it with `r1 tail {given}`, tell it something with `r1 send`")));
        }
        None => (given, args.message, state.last.next()),
        Some(_) => {
            let budget = args.budget_usd.map(|micros_usd| Budget { micros_usd, ..state.spec.budget.clone() });
            let changes = Changes { message: args.message, budget, ..Changes::default() };
            (go_on::resume(&workshop.engine, &given, changes, &ask::caller()).await?, None, Seq::FIRST)
        }
    };
    let look = (!args.json).then(|| follow::look(args.thinking, args.verbose));
    carry_out(context, workshop, &run, message, Follow { from, ..Follow::new(look, attendance) }).await
}

/// How many runs are worked on at a time.
const WORKERS: usize = 4;

async fn all(context: &Context) -> Result<Exit, CliError> {
    let workshop = Workshop::here(context).await?;
    let (engine, stop) = (workshop.engine.clone(), CancellationToken::new());
    let workers = Workers::new(engine.clone(), WORKERS);
    let mut work = std::pin::pin!(workers.run(stop.clone(), true));
    let mut signals = Signals::listen()?;
    let mut exit = Exit::Ok;
    loop {
        tokio::select! {
            () = &mut work => break,
            asked = signals.next() => {
                // The first time, calls may finish; the second time, nobody waits for them.
                if stop.is_cancelled() {
                    engine.hurry().cancel();
                }
                stop.cancel();
                exit = asked;
            }
        }
    }
    let open = engine.store().list(RunFilter { finished: Some(false), ..RunFilter::default() }).await?.entries;
    let open = open.into_iter().filter_map(Listed::sound).count();
    output::note(&match open {
        0 => "no run is open".to_owned(),
        open => format!("{open} open: see `r1 runs`, and what waits for you with `r1 approve`"),
    });
    workshop.close().await?;
    Ok(exit)
}

/// Has a daemon go on with a run of its own.
async fn by_daemon(args: Args, remote: &Remote) -> Result<Exit, CliError> {
    let given = remote.run(&args.run).await?.id;
    let budget = args.budget_usd.map(|micros_usd| api::Budget { micros_usd, ..api::Budget::default() });
    let wanted = api::ResumeRequest { message: args.message, budget, ..api::ResumeRequest::default() };
    let run: api::Object<api::Run> = remote.post(&format!("runs/{given}/resume"), &wanted).await?;
    if args.json {
        output::print_json(&run.data)?;
    } else {
        output::note(&format!(
            "run {} is {}: watch it with `r1 tail {0} --url URL`",
            run.data.id,
            run.data.status.as_str()
        ));
    }
    Ok(Exit::Ok)
}
