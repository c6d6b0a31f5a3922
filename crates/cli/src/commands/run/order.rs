//! From what was typed to a run that is wanted.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use r1_protocol::data::WorkspaceMode;
use r1_runtime::agent::prompt::{Surroundings, system_prompt};
use r1_runtime::agent::{Budget, RunSpec, SandboxWish};
use r1_runtime::config::Config;
use r1_runtime::control::create::{Attachment, NewRun};
use r1_runtime::machine::Machine;
use r1_runtime::policy::ApprovalMode;
use r1_runtime::price::PriceBook;
use r1_runtime::provider::{self, ProviderSpec, Scenario, Wire};
use r1_runtime::sandbox::{SandboxLayer, SandboxMode};

use super::{Approve, Args, Confine};
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::output::{self, NOTICE};
use crate::render::number::exact_usd;
use crate::settings::{self, Flag};

/// A run that is wanted, and checked as far as it can be before anything is made.
pub(super) struct Order {
    prompt: String,
    model: String,
    system_prompt: Option<String>,
    workspace: PathBuf,
    attachments: Vec<Attachment>,
    spec: RunSpec,
    pub(super) config: Config,
    pub(super) sandbox: SandboxMode,
}

impl Order {
    /// Reads settings, files, standard input and keys; makes nothing yet.
    pub(super) fn read(args: &Args, unattended: bool, context: &Context) -> Result<Self, CliError> {
        let workspace = workspace(args.workspace.as_deref())?;
        let config = settings::load(context, &workspace, flags(args))?;
        if config.run.workspace != WorkspaceMode::InPlace {
            return Err(CliError::new(format!(
                "`run.workspace = \"{}\"` is not for runs of one's own",
                config.run.workspace
            ))
            .hint("`r1 run` works in the directory itself: leave it out, or set it to \"in_place\""));
        }
        let (provider, model) = provider_and_model(args, &config)?;
        provider::open(&provider, &environment::variable)?;
        Ok(Self {
            prompt: prompt(&args.prompt)?,
            system_prompt: match (&args.system_prompt, &args.system_prompt_file) {
                (Some(text), _) => Some(text.clone()),
                (None, Some(path)) => Some(read_text(path)?),
                (None, None) => None,
            },
            workspace,
            attachments: args.attach.iter().map(|path| attachment(path)).collect::<Result<_, _>>()?,
            spec: spec(&config, provider, &model, unattended),
            model,
            config,
            sandbox: match args.sandbox {
                None | Some(Confine::Auto) => SandboxMode::Auto,
                Some(Confine::Require) => SandboxMode::Require,
                Some(Confine::None) => SandboxMode::Only(SandboxLayer::None),
            },
        })
    }

    /// A script says itself what it costs.
    pub(super) fn allows_unknown_price(&self) -> bool {
        self.config.run.allow_unknown_price || self.spec.provider.wire == Wire::Scripted
    }

    /// The run, with the tools that this machine and its MCP servers have.
    pub(super) async fn new_run(&self, machine: &Machine) -> Result<NewRun, CliError> {
        let (tools, missing) = machine.tool_specs(&self.workspace, &self.spec.mcp_servers).await?;
        for (server, reason) in missing {
            output::note(&format!("{NOTICE}note:{NOTICE:#} the tools of `{server}` are missing: {reason}"));
        }
        let spec = RunSpec { tools, ..self.spec.clone() };
        Ok(NewRun {
            prompt: self.prompt.clone(),
            system_prompt: self.system_prompt.clone().unwrap_or_else(|| usual_prompt(&self.workspace, &spec)),
            spec,
            model: self.model.clone(),
            workspace_path: self.workspace.to_string_lossy().into_owned(),
            workspace_mode: WorkspaceMode::InPlace.to_string(),
            attachments: self.attachments.clone(),
            ..NewRun::default()
        })
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

fn spec(config: &Config, provider: ProviderSpec, model: &str, unattended: bool) -> RunSpec {
    let prices = PriceBook::new(config.prices.clone());
    // The price is that of the model which will be used.
    let model = config.policy.model_instead_of(model).map_or(model, |rule| &rule.instead);
    let price = prices.price(&provider.name, provider.base_url.as_deref(), model, std::time::SystemTime::now());
    let (run, budget) = (&config.run, &config.run.budget);
    RunSpec {
        unattended,
        approval: run.approve,
        approval_timeout_s: run.approval_timeout.as_millis() / 1000,
        policy: config.policy.clone(),
        provider,
        params: run.params.clone(),
        price,
        budget: Budget {
            micros_usd: budget.usd.map_or(0, |usd| usd.0),
            input_tokens: budget.input_tokens.unwrap_or(0),
            output_tokens: budget.output_tokens.unwrap_or(0),
            turns: budget.turns.unwrap_or(0),
            wall_clock_ms: budget.wall_clock.map_or(0, |period| period.as_millis()),
            warning_pct: budget.warning_pct.clone(),
        },
        max_turns: run.max_turns,
        max_output_tokens: run.max_output_tokens,
        context_tokens: run.context_tokens,
        max_attempts: run.max_attempts,
        checkpoint_events: config.record.checkpoint_events,
        sandbox: SandboxWish {
            network: config.sandbox.network,
            read_only: config.sandbox.read_only,
            require: config.sandbox.require,
        },
        mcp_servers: config.mcp_servers(),
        thinking_deltas: config.record.thinking_deltas,
        ..RunSpec::default()
    }
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

/// What the model is told where the user says nothing else.
pub(in crate::commands) fn usual_prompt(workspace: &Path, spec: &RunSpec) -> String {
    let instructions =
        ["AGENTS.md", "CLAUDE.md"].iter().find_map(|name| std::fs::read_to_string(workspace.join(name)).ok());
    let date = jiff::Zoned::now().date().to_string();
    system_prompt(&Surroundings {
        workspace: &workspace.to_string_lossy(),
        platform: &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date: &date,
        is_git: workspace.ancestors().any(|directory| directory.join(".git").exists()),
        network: spec.sandbox.network,
        instructions: instructions.as_deref(),
    })
}

fn provider_and_model(args: &Args, config: &Config) -> Result<(ProviderSpec, String), CliError> {
    if let Some(path) = &args.scenario {
        let scenario = Scenario::parse(&read_text(path)?).map_err(|err| {
            CliError::new(format!("the scenario {} cannot be played", path.display()))
                .because(err)
                .hint("docs/scripted.md says what a scenario may have")
        })?;
        return Ok((ProviderSpec::scripted(scenario), args.model.clone().unwrap_or_else(|| "scripted".into())));
    }
    let Some(name) = &config.run.provider else {
        let known = ProviderSpec::preset_names().collect::<Vec<_>>().join(", ");
        return Err(CliError::new("which model? none is configured").hint(format!(
            "say `--provider NAME --model NAME`, or set them in r1.toml (`r1 init`); known are {known}"
        )));
    };
    match &config.run.model {
        Some(model) => Ok((config.provider(name)?, model.clone())),
        None => Err(CliError::new(format!("which model of {name}?")).hint("say `--model NAME`, or set it in r1.toml")),
    }
}

fn workspace(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = given.unwrap_or(Path::new("."));
    let failed = |err| CliError::new(format!("cannot work in {}", path.display())).because(err);
    let path = path.canonicalize().map_err(failed)?;
    if path.is_dir() { Ok(path) } else { Err(CliError::new(format!("{} is not a directory", path.display()))) }
}

fn prompt(given: &str) -> Result<String, CliError> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|err| CliError::new("cannot read the prompt from standard input").because(err))?;
    Ok(text)
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
