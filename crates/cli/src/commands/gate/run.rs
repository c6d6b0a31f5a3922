use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anstyle::Style;
use r1_protocol::data::GateVerdict;
use r1_runtime::agent::{RunSpec, SandboxWish};
use r1_runtime::config::Config;
use r1_runtime::control::gate::{self, Asked};
use r1_runtime::engine::World as _;
use r1_runtime::gate::{Base, Criterion, GateContext, ModelName, Preset, Reviewer, Rules};
use r1_runtime::provider;
use r1_runtime::sandbox::SandboxMode;
use r1_runtime::workspace::Workspace;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::project;
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTICE, print_json};
use crate::render::text::visible;
use crate::settings;
use crate::signals::Signals;
use crate::workshop;

/// Hold the files as they are against the gates
///
/// Compares the working tree with HEAD, also what is not committed yet, and asks every gate of the
/// preset, or those that are named. Nothing is recorded. Commands run in the sandbox of `r1.toml`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 all allow, 1 one blocks, 2 usage or I/O, 3 none blocks but one wants a person.

Examples:
  r1 gate run
  r1 gate run syntax secrets scope
  r1 gate run tests --accept 'test -f CHANGELOG.md'
  r1 gate run --gates strict --base main --json | \\
      jq '.gates[] | select(.verdict != \"allow\")'")]
pub(crate) struct Args {
    /// Only these [default: all of the preset]
    #[arg(value_name = "GATE")]
    names: Vec<String>,
    /// default, strict, fast, a name in .stoke/gates.d/, or a file [default: .stoke/gates.yaml, else default]
    #[arg(long, value_name = "NAME|FILE")]
    gates: Option<String>,
    /// The revision to compare with
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    base: String,
    /// A command that says by its exit code whether the work is done; may be given several times
    #[arg(long, value_name = "COMMAND")]
    accept: Vec<String>,
    /// The model that reviews, for example `openai/gpt-5`
    #[arg(long, value_name = "PROVIDER/MODEL")]
    reviewer: Option<String>,
    /// What the work is for; the reviewer reads it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    goal: String,
    /// Print all that each gate saw
    #[arg(long)]
    evidence: bool,
    /// Where [default: the repository that the current directory is in]
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let project = project(&args.workspace)?;
    let preset = Arc::new(Preset::load(&project, args.gates.as_deref())?);
    let rules = gate::chosen(&preset, &args.names)?;
    let config = settings::load(context, &project, Vec::new())?;
    let mut surroundings = surroundings(&args, context, &config, project, Arc::clone(&preset)).await?;
    gate::look(&surroundings, &args.base).await?;
    let mut signals = Signals::listen()?;
    let mut out = (!args.json).then(output::stdout);
    if let Some(out) = &mut out {
        writeln!(out, "{DIM}preset {}, against {}{DIM:#}", visible(&preset.name), visible(&args.base))?;
    }
    let mut asked = Vec::new();
    for rule in rules {
        // Whoever interrupts ends what a gate runs with it.
        let said = tokio::select! {
            said = gate::ask(rule, &mut surroundings) => said,
            exit = signals.next() => return Ok(exit),
        };
        if let Some(out) = &mut out {
            // Each as it comes: tests may take their time.
            write!(out, "{}", text(&said, args.evidence))?;
            out.flush()?;
        }
        asked.push(said);
    }
    let verdict = gate::verdict(&asked);
    if args.json {
        let gates: Vec<_> = asked.iter().map(as_json).collect();
        print_json(&json!({
            "verdict": verdict,
            "preset": preset.name,
            "preset_hash": preset.hash(),
            "base": args.base,
            "gates": gates,
        }))?;
    }
    Ok(match verdict {
        GateVerdict::Allow => Exit::Ok,
        GateVerdict::Escalate => Exit::Escalated,
        GateVerdict::Block | GateVerdict::Other(_) => Exit::Failed,
    })
}

/// All that the gates may look at.
async fn surroundings(
    args: &Args,
    context: &Context,
    config: &Config,
    project: PathBuf,
    preset: Arc<Preset>,
) -> Result<GateContext, CliError> {
    let machine = workshop::machine(config, SandboxMode::Auto);
    let failed = |err| CliError::new(format!("cannot work in {}", project.display())).because(err);
    let workspace = Workspace::open(&project).map_err(failed)?;
    let confinement = &config.sandbox;
    let wish =
        SandboxWish { network: confinement.network, read_only: confinement.read_only, require: confinement.require };
    let spec = RunSpec { sandbox: wish, ..RunSpec::default() };
    let sandbox = machine.sandbox(&spec, &workspace).await.map_err(|err| CliError::new(err.to_string()))?;
    let criteria = (1..)
        .zip(&args.accept)
        .map(|(number, command): (usize, _)| Criterion { id: format!("ac-{number}"), command: command.clone() });
    Ok(GateContext {
        preset,
        workspace: project,
        base: Base::Revision(args.base.clone()),
        sandbox: Arc::new(sandbox),
        redactor: workshop::passing_redactor(context, config)?,
        rules: Rules { policy: config.policy.clone(), mode: config.run.approve, workspace_mode: "in_place".into() },
        goal: args.goal.clone(),
        declared: Vec::new(),
        criteria: criteria.collect(),
        author: ModelName {
            provider: config.run.provider.clone().unwrap_or_default(),
            model: config.run.model.clone().unwrap_or_default(),
        },
        reviewer: args.reviewer.as_deref().map(|given| reviewer(given, config)).transpose()?,
        earlier: Vec::new(),
        commit_message: None,
        verified: None,
        cancel: CancellationToken::new(),
    })
}

fn reviewer(given: &str, config: &Config) -> Result<Reviewer, CliError> {
    let (name, model) = given.split_once('/').ok_or_else(|| {
        CliError::new(format!("`{given}` names no model")).hint("write provider and model, for example `openai/gpt-5`")
    })?;
    let spec = config.provider(name)?;
    let provider = provider::open(&spec, &environment::variable)?;
    Ok(Reviewer { provider, model: model.to_owned(), max_output_tokens: config.run.max_output_tokens, price: None })
}

/// Lines of evidence that are shown of a gate that does not allow.
const SHOWN: usize = 12;

fn text(asked: &Asked, whole: bool) -> String {
    let Asked { placed, rule, outcome } = asked;
    let style = style(&outcome.verdict);
    let score = outcome.score.map_or("–".to_owned(), |score| score.to_string());
    let took = if outcome.duration_ms >= 1000 { format!("  {} s", outcome.duration_ms / 1000) } else { String::new() };
    let command = outcome.command.as_ref().map(|command| format!("  $ {}", visible(command))).unwrap_or_default();
    let (verdict, id, needed) = (outcome.verdict.as_str(), visible(&placed.gate_id), rule.threshold);
    let mut text = format!(
        "{style}{verdict:<8}{style:#}  {BOLD}{id:<10}{BOLD:#}  {score:>4} of {needed:<4}  {}{DIM}{command}{took}{DIM:#}\n",
        outcome.reason
    );
    let lines: Vec<_> = outcome.evidence.lines().collect();
    let shown = if whole {
        &lines[..]
    } else if outcome.verdict == GateVerdict::Allow {
        &[]
    } else {
        &lines[lines.len().saturating_sub(SHOWN)..]
    };
    if !shown.is_empty() && shown.len() < lines.len() {
        text.push_str(&format!(
            "          {DIM}… {} lines before; see all with --evidence{DIM:#}\n",
            lines.len() - shown.len()
        ));
    }
    for line in shown {
        text.push_str(&format!("          {DIM}{}{DIM:#}\n", visible(line)));
    }
    text
}

fn style(verdict: &GateVerdict) -> Style {
    match verdict {
        GateVerdict::Allow => GOOD,
        GateVerdict::Block | GateVerdict::Other(_) => BAD,
        GateVerdict::Escalate => NOTICE,
    }
}

fn as_json(asked: &Asked) -> Value {
    let Asked { placed, rule, outcome } = asked;
    json!({
        "gate_id": placed.gate_id,
        "boundary": placed.boundary,
        "verdict": outcome.verdict,
        "reason_code": outcome.reason.as_str(),
        "score": outcome.score,
        "threshold": rule.threshold,
        "blocker": rule.blocker,
        "command": outcome.command,
        "exit_code": outcome.exit_code,
        "excluded": outcome.excluded,
        "inputs_hash": outcome.inputs_hash,
        "duration_ms": outcome.duration_ms,
        "evidence": outcome.evidence,
    })
}
