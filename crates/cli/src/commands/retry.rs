//! `r1 retry`: the same task once more.

use r1_runtime::control::go_on::{self, Changes};

use super::run::carry_out;
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::workshop::Workshop;

/// Begin a task again, in a new run that knows nothing of the old one
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: as of `r1 run`.

Examples:
  r1 retry last
  r1 retry 01K0E8 --model claude-opus-4-5")]
pub(crate) struct Args {
    /// Which run
    #[arg(default_value = "last", value_name = "RUN")]
    run: String,
    /// With another model of the same provider
    #[arg(long, short, value_name = "NAME")]
    model: Option<String>,
    /// Print nothing but one JSON line with the result at the end
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (workshop, state) = Workshop::of_run(context, &args.run).await?;
    let changes = Changes { model: args.model, ..Changes::default() };
    let run = go_on::retry(&workshop.engine, &state.run, changes, &ask::caller()).await?;
    let look = (!args.json).then(|| follow::look(false, false));
    let attendance = super::demo::attendance(&state).unwrap_or_else(follow::attendance);
    carry_out(context, workshop, &run, None, Follow::new(look, attendance)).await
}
