//! `r1 run`: an agent works here, and everything it does is recorded.

mod order;
mod stream;

use r1_event::RunId;
use r1_runtime::engine::Claim;

use self::order::Order;
pub(super) use self::order::dollars;
use crate::ask::{self, Attendance};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::lines::{LineFormat, Lines};
use crate::output::{self, DIM};
use crate::presence::Presence;
use crate::workshop::Workshop;

/// Let an agent work on a task, in sight
///
/// The agent works in the current directory, or where --workspace says. What it says, what its tools do
/// and what it costs is shown as it happens, and all of it is in the log afterwards.
///
/// What a rule or the approval mode does not allow is asked on the terminal. Where nobody can be asked
/// (standard input is not a terminal, or --json) it is refused instead.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 completed, 1 failed, 2 usage or I/O, 3 cancelled or refused, 4 budget used up,
129 when the terminal is closed, 130 after Ctrl-C, 141 when nobody reads the output (the run is
cancelled, unless --detach), 143 after SIGTERM. Ctrl-C once stops the run in order, twice leaves at once.

Examples:
  r1 run \"make the failing test pass\"
  r1 run \"explain src/main.rs\" --approve read-only \\
      --provider anthropic --model claude-sonnet-4-5
  r1 run - --approve edits --budget-usd 0.50 < task.md
  r1 run \"add a --json flag\" --phases --accept \"cargo test json\"
  r1 run \"fix it\" --scenario script.yaml --json | jq .result   # no key needed
  r1 run \"fix it\" --output-format stream-json \\
      --input-format stream-json                   # for programs")]
pub(crate) struct Args {
    /// What to do; `-` reads it from standard input
    #[arg(value_name = "PROMPT", required_unless_present = "input_format")]
    pub(super) prompt: Option<String>,
    /// Who serves the model: anthropic, openai, gemini, ollama, … or a name from r1.toml
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// Which model
    #[arg(long, short, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// What is allowed without asking
    #[arg(long, value_name = "MODE")]
    pub(super) approve: Option<Approve>,
    /// Stop when this much is spent, in US dollars
    #[arg(long, value_name = "USD", value_parser = order::dollars)]
    pub(super) budget_usd: Option<u64>,
    /// Go on although the price of the model is not known, so that its cost cannot be counted
    #[arg(long)]
    pub(super) allow_unknown_price: bool,
    /// Stop after so many model calls
    #[arg(long, value_name = "N")]
    pub(super) max_turns: Option<u64>,
    /// Where to work [default: the current directory]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(super) workspace: Option<std::path::PathBuf>,
    /// Say this to the model instead of the usual system prompt
    #[arg(long, value_name = "TEXT")]
    pub(super) system_prompt: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub(super) system_prompt_file: Option<std::path::PathBuf>,
    /// Play this scenario instead of asking a model (see docs/scripted.md)
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    pub(super) scenario: Option<std::path::PathBuf>,
    /// Give the model a file with the prompt; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<std::path::PathBuf>,
    /// Take the task through PLAN, EXECUTE, VERIFY and COMMIT, with gates in between (see docs/gates.md)
    #[arg(long)]
    pub(super) phases: bool,
    /// Which gates: default, strict, fast, or a file [default: .stoke/gates.yaml, else default]
    #[arg(long, value_name = "PRESET", requires = "phases")]
    pub(super) gates: Option<String>,
    /// The task is done when this command succeeds, too; may be repeated
    #[arg(long, value_name = "COMMAND", requires = "phases")]
    pub(super) accept: Vec<String>,
    /// Let programs use the network
    #[arg(long)]
    pub(super) network: bool,
    /// How programs are confined
    #[arg(long, value_name = "MODE")]
    pub(super) sandbox: Option<Confine>,
    /// Show the model's reasoning too
    #[arg(long)]
    pub(super) thinking: bool,
    /// Show every event, and nothing shortened
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// What is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) output_format: OutputFormat,
    /// The same as --output-format json: nothing but one JSON line with the result at the end
    #[arg(long, conflicts_with = "output_format")]
    pub(super) json: bool,
    /// What standard input holds: nothing, or messages and answers as lines of JSON
    #[arg(long, value_name = "FORMAT", requires = "output_format")]
    pub(super) input_format: Option<LineFormat>,
    /// Go on when nobody reads the output any more, instead of cancelling the run
    #[arg(long, requires = "output_format")]
    pub(super) detach: bool,
    #[command(flatten)]
    pub(super) lines: Lines,
}

/// What is printed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// What happens, for a person
    Text,
    /// One JSON line with the result
    Json,
    /// A line of JSON for all that happens, as it happens
    StreamJson,
}

/// What is allowed without asking.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Approve {
    /// Reading
    Ask,
    /// Reading, and edits of files
    Edits,
    /// Reading, and nothing else ever
    ReadOnly,
    /// Everything that no rule forbids
    Full,
}

/// How programs are confined.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Confine {
    /// As well as this machine can
    Auto,
    /// Refuse to run programs that cannot be confined
    Require,
    /// Not at all
    None,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let is_json = args.json || args.output_format == OutputFormat::Json;
    if args.output_format == OutputFormat::StreamJson {
        return stream::run(args, context).await;
    }
    args.lines.refuse()?;
    let Some(prompt) = args.prompt.as_deref().filter(|_| args.input_format.is_none()) else {
        return Err(CliError::new("lines on standard input need lines on standard output")
            .hint("say `--output-format stream-json` too"));
    };
    let attendance = if is_json { Attendance::Nobody } else { follow::attendance() };
    let order = Order::read(&args, order::prompt(prompt)?, attendance == Attendance::Nobody, context)?;
    let workshop = Workshop::create(context, &order.config, order.sandbox).await?;
    let run = order.place(&workshop).await?;
    let look = (!is_json).then(|| follow::look(args.thinking, args.verbose));
    let follow = Follow { detached: args.detach, ..Follow::new(look, attendance) };
    carry_out(context, workshop, &run, None, follow).await
}

/// Works on a run in sight of the user until it ends, and says how it ended.
pub(super) async fn carry_out(
    context: &Context,
    workshop: Workshop,
    run: &RunId,
    message: Option<String>,
    follow: Follow,
) -> Result<Exit, CliError> {
    let (prints_result, detached) = (follow.look.is_none(), follow.detached);
    let presence = Presence::of_run(context, workshop.engine.store(), run).await;
    let claim = Claim { by_operator: true, message, caller: ask::caller() };
    let followed = follow::work(&workshop, run, claim, follow).await;
    if let Some(presence) = presence {
        presence.end(followed.as_ref().map_or(Exit::Failed, |followed| followed.exit)).await;
    }
    let followed = followed?;
    if let Some(digest) = sign(context, &workshop, run).await?
        && !prints_result
    {
        output::note(&format!("{DIM}receipt {digest}{DIM:#}"));
    }
    workshop.close().await?;
    match (prints_result, followed.result) {
        (true, Some(line)) => match output::print_line(&line) {
            Ok(()) => Ok(followed.exit),
            Err(lost) => follow::unseen(followed.exit, lost, detached),
        },
        (true, None) => Ok(followed.exit),
        (false, _) => {
            next_steps(followed.exit);
            Ok(followed.exit)
        }
    }
}

/// Makes the receipt of a run that has ended, and gives its digest. That there is none changes nothing about how
/// the run ended.
async fn sign(context: &Context, workshop: &Workshop, run: &RunId) -> Result<Option<String>, CliError> {
    let store = workshop.engine.store();
    if store.head(run).await?.is_none_or(|head| head.terminal.is_none()) {
        return Ok(None);
    }
    match super::receipt::keep(context, workshop, run).await {
        Ok((_, digest)) => Ok(Some(digest)),
        Err(err) => {
            output::print_error(&err);
            Ok(None)
        }
    }
}

/// What to try next, for a person who watches.
fn next_steps(exit: Exit) {
    if !output::stderr_is_terminal() {
        return;
    }
    output::note(match exit {
        Exit::Ok => "try `r1 log show last`, `r1 replay last`, `r1 log validate last`",
        Exit::Budget => "go on with `r1 resume last --budget-usd N`; see `r1 log show last`",
        _ => "see `r1 log show last`; go on with `r1 resume last`, or begin again with `r1 retry last`",
    });
}
