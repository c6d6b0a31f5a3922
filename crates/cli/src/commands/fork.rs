//! `r1 fork`: another way from some point on.

use r1_event::Seq;
use r1_runtime::control::go_on::{self, Changes};

use super::run::carry_out;
use crate::args::parse_seq;
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::workshop::Workshop;

/// Go another way from some event of a run on
///
/// The new run knows all that was said up to that event, and the old one stays as it is. It works in a copy
/// of the workspace, restored from the last checkpoint before that event; if the old run never changed a
/// file, in the same directory.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: as of `r1 run`.

Examples:
  r1 log show last                                       # find the event
  r1 fork last --at 17 --message \"try it without a new dependency\"
  r1 fork last --at 17 --model claude-opus-4-5
  r1 diff 01K0E8 last                                    # and compare")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// The last event that both share, as `r1 log show` numbers them
    #[arg(long, value_name = "SEQ", value_parser = parse_seq)]
    at: Seq,
    /// Tell the agent something there
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// With another model of the same provider
    #[arg(long, short, value_name = "NAME", value_parser = model_name)]
    model: Option<String>,
    /// Print nothing but one JSON line with the result at the end
    #[arg(long)]
    json: bool,
}

/// Whoever means `-m` as git does gives a sentence, and no model is called like one.
fn model_name(text: &str) -> Result<String, String> {
    if text.contains(char::is_whitespace) {
        return Err("this is no name of a model; tell the agent something with `--message`".into());
    }
    Ok(text.to_owned())
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (workshop, state) = Workshop::of_run(context, &args.run).await?;
    let changes = Changes { message: args.message, model: args.model, ..Changes::default() };
    let run = go_on::fork(&workshop.engine, &state.run, args.at, changes, &ask::caller()).await?;
    let look = (!args.json).then(|| follow::look(false, false));
    let attendance = super::demo::attendance(&state).unwrap_or_else(follow::attendance);
    carry_out(context, workshop, &run, None, Follow::new(look, attendance)).await
}
