//! Which lines of a run are wanted, where it is printed as lines of JSON.

use std::ffi::OsString;
use std::io::Write as _;

use r1_protocol::stoke::Options;
use r1_protocol::stoke::process::{self, Completion};
use r1_runtime::control::stoke::{Wanted, moment};

use crate::error::CliError;

/// The one form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LineFormat {
    /// Lines of JSON
    StreamJson,
}

/// Whether arguments that cannot be read ask `r1 run` for lines all the same: then a program reads our output,
/// and waits for its last line.
pub(crate) fn are_wanted(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let runs = arguments.any(|argument| argument == "run");
    let rest: Vec<_> = arguments.collect();
    let has_pair = rest.windows(2).any(|pair| pair[0] == "--output-format" && pair[1] == "stream-json");
    runs && (has_pair || rest.iter().any(|argument| argument == "--output-format=stream-json"))
}

/// The lines of a process that cannot even begin.
pub(crate) fn print_wrong_use(message: &str, exit_code: u8) {
    let mut out = std::io::stdout().lock();
    let lines = [
        moment(None).map(|moment| process::error(moment, process::ErrorKind::Usage, message)),
        moment(None).map(|moment| process::complete(moment, Completion { exit_code, ..Completion::default() })),
    ];
    // Without random numbers a line has no name, and without a reader nobody misses it.
    lines.into_iter().flatten().for_each(|line| drop(out.write_all(&line)));
}

/// Lines beyond the usual ones.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Lines {
    /// With stream-json or stoke: the pieces of an answer as they come, too
    #[arg(long)]
    include_partial_messages: bool,
    /// With stream-json or stoke: the model's reasoning, too
    #[arg(long)]
    include_thinking: bool,
    /// With stream-json or stoke: what people said, too
    #[arg(long)]
    replay_user_messages: bool,
    /// With stream-json or stoke: `all` for a line of every event
    #[arg(long, value_name = "WHICH")]
    events: Option<Events>,
    /// With stream-json: the lines of child runs, too
    #[arg(long)]
    include_child_runs: bool,
}

/// Which events have a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Events {
    /// Every one
    All,
}

impl Lines {
    fn options(&self) -> Options {
        Options {
            partial_messages: self.include_partial_messages,
            thinking: self.include_thinking,
            replay_user_messages: self.replay_user_messages,
            all_events: self.events == Some(Events::All),
            parent_call: None,
        }
    }

    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { options: self.options(), children: self.include_child_runs, ..Wanted::default() }
    }

    /// Where no lines are printed, none can be wanted.
    pub(crate) fn refuse(&self) -> Result<(), CliError> {
        if self.options() == Options::default() && !self.include_child_runs {
            return Ok(());
        }
        Err(CliError::new("more lines can only be wanted where lines are printed")
            .hint("say `--output-format stream-json` too, or `--format stoke` for an export"))
    }

    /// The lines of one log alone.
    pub(crate) fn of_one_log(&self) -> Result<Options, CliError> {
        if self.include_child_runs {
            return Err(CliError::new("an export is of one run; its child runs are logs of their own")
                .hint("interleave them with `r1 tail RUN --output-format stream-json --include-child-runs`"));
        }
        Ok(self.options())
    }
}
