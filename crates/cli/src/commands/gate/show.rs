use std::io::Write as _;
use std::path::{Path, PathBuf};

use r1_runtime::gate::{GateRule, Preset, PresetSource, decimal, detected_command, gate_id};
use serde_json::json;

use super::project;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, NAME, print_json};
use crate::render::text::visible;

/// Show which gates count here, where they stand and what they demand
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 gate show
  r1 gate show --gates strict
  r1 gate show --gates ../house-rules.yaml --json | jq .preset_hash")]
pub(crate) struct Args {
    /// default, strict, fast, a name in .stoke/gates.d/, or a file [default: .stoke/gates.yaml, else default]
    #[arg(long, value_name = "NAME|FILE")]
    gates: Option<String>,
    /// Where [default: the repository that the current directory is in]
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
    /// Print the whole configuration as JSON, numbers a thousand times
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let project = project(&args.workspace)?;
    let source = Preset::find(&project, args.gates.as_deref())?;
    let preset = source.load()?;
    if args.json {
        let detected = [gate_id::TESTS, gate_id::LINT].map(|id| (id.to_owned(), command(&preset, id, &project).into()));
        print_json(&json!({
            "source": source.to_string(),
            "preset_hash": preset.hash(),
            "configuration": preset,
            "commands": serde_json::Map::from_iter(detected),
        }))?;
        return Ok(Exit::Ok);
    }
    print(&source, &preset, &project)?;
    Ok(Exit::Ok)
}

fn print(source: &PresetSource, preset: &Preset, project: &Path) -> Result<(), CliError> {
    let mut out = output::stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", visible(&preset.name), visible(&source.to_string()))?;
    if let Some(description) = &preset.description {
        writeln!(out, "{}", visible(description))?;
    }
    writeln!(out, "{DIM}sha256 {}{DIM:#}\n", preset.hash())?;
    writeln!(out, "{DIM}{:<12}  {:>6}  {:<8}  {:>6}  at{DIM:#}", "gate", "needs", "if below", "weight")?;
    for rule in preset.rules() {
        writeln!(out, "{}", line(&rule, preset))?;
        if let Some(command) = command(preset, &rule.id, project).or(rule.command) {
            writeln!(out, "{:<14}{DIM}$ {}{DIM:#}", "", visible(&command))?;
        }
    }
    for (word, patterns) in [("may change", &preset.scope.allow), ("protected", &preset.scope.protected)] {
        if !patterns.is_empty() {
            writeln!(out, "\n{word}: {}", visible(&patterns.join("  ")))?;
        }
    }
    Ok(out.flush()?)
}

fn line(rule: &GateRule, preset: &Preset) -> String {
    let weight = preset.composite.weights.get(&rule.id).map(|weight| decimal(*weight)).unwrap_or_default();
    let below = if rule.blocker { "blocks" } else { "advises" };
    let at: Vec<_> = rule.at.iter().map(ToString::to_string).collect();
    let (id, needs) = (visible(&rule.id), decimal(rule.threshold));
    format!("{NAME}{id:<12}{NAME:#}  {needs:>6}  {below:<8}  {weight:>6}  {}", at.join(" "))
}

/// What the gate would run: what the preset says, or what the project shows.
fn command(preset: &Preset, id: &str, project: &Path) -> Option<String> {
    preset.rule(id).and_then(|rule| rule.command).or_else(|| detected_command(id, project))
}
