//! From what was typed to a run that is wanted.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use r1_event::RunId;
use r1_runtime::config::{Config, Period};
use r1_runtime::control::create::{Attachment, NewRun, create};
use r1_runtime::control::order::{self, PhaseWish, Work};
use r1_runtime::machine::Variables;
use r1_runtime::policy::ApprovalMode;
use r1_runtime::provider::Scenario;
use r1_runtime::sandbox::{SandboxLayer, SandboxMode};
use tokio::sync::oneshot;

use super::{Approve, Args, Confine};
use crate::ask;
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::output::{self, NOTICE};
use crate::render::number::exact_usd;
use crate::settings::{self, Flag};
use crate::workshop::Workshop;

/// How long a question waits for a program, if the settings do not say.
const PROGRAM_PATIENCE: Period = Period(Duration::from_secs(3_600));

/// A run that is wanted, and checked as far as it can be before anything is made.
pub(super) struct Order {
    order: order::Order,
    pub(super) config: Config,
    pub(super) sandbox: SandboxMode,
}

impl Order {
    /// Reads settings, files, standard input and keys; makes nothing yet.
    pub(super) fn read(args: &Args, prompt: String, unattended: bool, context: &Context) -> Result<Self, CliError> {
        let workspace = workspace(args.workspace.as_deref())?;
        let mut config = settings::load(context, &workspace, flags(args))?;
        if args.input_format.is_some() {
            // A program that does not answer has most likely gone wrong; a person may be asleep.
            config.run.approval_timeout.get_or_insert(PROGRAM_PATIENCE);
        }
        let order = order::Order {
            system_prompt: match (&args.system_prompt, &args.system_prompt_file) {
                (Some(text), _) => Some(text.clone()),
                (None, Some(path)) => Some(read_text(path)?),
                (None, None) => None,
            },
            scenario: args.scenario.as_deref().map(scenario).transpose()?,
            attachments: args.attach.iter().map(|path| attachment(path)).collect::<Result<_, _>>()?,
            unattended,
            trace_parent: environment::variable("TRACEPARENT"),
            phases: args.phases.then(|| PhaseWish { gates: args.gates.clone(), criteria: args.accept.clone() }),
            ..order::Order::new(Work::Agent(prompt), workspace)
        };
        let variables: Variables = Arc::new(environment::variable);
        order.model(&config, &variables)?;
        order.phase_plan(&config)?;
        Ok(Self {
            order,
            config,
            sandbox: match args.sandbox {
                None | Some(Confine::Auto) => SandboxMode::Auto,
                Some(Confine::Require) => SandboxMode::Require,
                Some(Confine::None) => SandboxMode::Only(SandboxLayer::None),
            },
        })
    }

    /// Makes the run, with the tools that this machine and its MCP servers have.
    pub(super) async fn place(self, workshop: &Workshop) -> Result<RunId, CliError> {
        self.ready(workshop).await?.place(workshop).await
    }

    /// Finds out which tools this machine and its MCP servers have; makes nothing yet.
    pub(super) async fn ready(self, workshop: &Workshop) -> Result<Ready, CliError> {
        let Workshop { engine, machine, .. } = workshop;
        let (new, missing) = self.order.new_run(&self.config, machine, engine.workspaces()).await?;
        for (server, reason) in missing {
            output::note(&format!("{NOTICE}note:{NOTICE:#} the tools of `{server}` are missing: {reason}"));
        }
        let allow_unknown_price = order::allows_unknown_price(&self.config, &new);
        Ok(Ready { new, allow_unknown_price })
    }
}

/// A run that can be made.
pub(super) struct Ready {
    new: NewRun,
    allow_unknown_price: bool,
}

impl Ready {
    pub(super) async fn place(self, workshop: &Workshop) -> Result<RunId, CliError> {
        Ok(create(&workshop.engine, self.new, self.allow_unknown_price, &ask::caller()).await?)
    }
}

/// Flags as the settings that they stand for.
fn flags(args: &Args) -> Vec<Flag> {
    let text = |key, value: Option<String>, flag| value.map(|value| Flag { key, value: value.into(), flag });
    let yes = |key, given: bool, flag| given.then(|| Flag { key, value: true.into(), flag });
    let turns = args.max_turns.map(|turns| i64::try_from(turns).unwrap_or(i64::MAX));
    [
        text("run.provider", args.provider.clone(), "--provider"),
        text("run.model", args.model.clone(), "--model"),
        text("run.approve", args.approve.map(|mode| ApprovalMode::from(mode).as_str().into()), "--approve"),
        text("run.budget.usd", args.budget_usd.map(exact_usd), "--budget-usd"),
        turns.map(|turns| Flag { key: "run.max_turns", value: turns.into(), flag: "--max-turns" }),
        yes("run.allow_unknown_price", args.allow_unknown_price, "--allow-unknown-price"),
        yes("sandbox.network", args.network, "--network"),
        yes("sandbox.require", matches!(args.sandbox, Some(Confine::Require)), "--sandbox require"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl From<Approve> for ApprovalMode {
    fn from(mode: Approve) -> Self {
        match mode {
            Approve::Ask => Self::Ask,
            Approve::Edits => Self::Edits,
            Approve::ReadOnly => Self::ReadOnly,
            Approve::Full => Self::Full,
        }
    }
}

fn scenario(path: &Path) -> Result<Scenario, CliError> {
    Scenario::parse(&read_text(path)?).map_err(|err| {
        CliError::new(format!("the scenario {} cannot be played", path.display()))
            .because(err)
            .hint("docs/scripted.md says what a scenario may have")
    })
}

fn workspace(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = given.unwrap_or(Path::new("."));
    let failed = |err| CliError::new(format!("cannot work in {}", path.display())).because(err);
    let path = path.canonicalize().map_err(failed)?;
    if path.is_dir() { Ok(path) } else { Err(CliError::new(format!("{} is not a directory", path.display()))) }
}

/// What to do: as it was typed, or from standard input.
pub(super) fn prompt(given: &str) -> Result<String, CliError> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|err| CliError::new("cannot read the prompt from standard input").because(err))?;
    Ok(text)
}

/// The same, in a thread of its own: a read cannot be cancelled, and must not hold up the end.
pub(super) async fn prompt_meanwhile(given: &str) -> Result<String, CliError> {
    let (send, read) = oneshot::channel();
    let given = given.to_owned();
    // Nobody may wait for it any more.
    std::thread::spawn(move || drop(send.send(prompt(&given))));
    read.await.map_err(|err| CliError::new("cannot read the prompt from standard input").because(err))?
}

fn read_text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|err| CliError::new(format!("cannot read {}", path.display())).because(err))
}

fn attachment(path: &Path) -> Result<Attachment, CliError> {
    let content =
        std::fs::read(path).map_err(|err| CliError::new(format!("cannot read {}", path.display())).because(err))?;
    let name = path.file_name().map_or_else(|| "attachment".into(), |name| name.to_string_lossy().into_owned());
    let mime = mime(path, &content);
    Ok(Attachment { name, mime: mime.into(), content: content.into() })
}

/// The type of a file that comes with a prompt, as far as it matters to a model.
fn mime(path: &Path, content: &[u8]) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        _ if std::str::from_utf8(content).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}

/// Dollars as micro-dollars, exactly.
pub(in crate::commands) fn dollars(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no amount of dollars, such as 5 or 0.25");
    let (whole, fraction) = text.trim_start_matches('$').split_once('.').unwrap_or((text.trim_start_matches('$'), ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 6 {
        return Err(wrong());
    }
    let micros: u64 = format!("{fraction:0<6}").parse().map_err(|_| wrong())?;
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1_000_000)
        .and_then(|whole| whole.checked_add(micros))
        .filter(|micros| *micros > 0)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_exact_and_nonsense_is_refused() {
        assert_eq!(["5", "0.25", "$1.000001"].map(|text| dollars(text).unwrap()), [5_000_000, 250_000, 1_000_001]);
        for wrong in ["", "0", ".5", "-1", "1e3", "1,5", "0.0000001", "99999999999999"] {
            assert!(dollars(wrong).is_err(), "{wrong}");
        }
    }
}
