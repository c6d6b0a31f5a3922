//! From what is wanted and what the settings say to a run that can be made, for every surface alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_protocol::api::{CommandLine, FileOperation, TaskKind};
use r1_protocol::data::{Object, WorkspaceMode};
use serde_json::{Value, json};

use super::create::{Attachment, NewRun};
use crate::Home;
use crate::agent::prompt::{Surroundings, system_prompt};
use crate::agent::{Budget, PhasePlan, PlannedCall, ReviewerSpec, RunSpec, SandboxWish, WorkspaceSource};
use crate::config::{self, Config, ConfigError, Given, Loaded};
use crate::gate::{Preset, PresetError};
use crate::machine::{Machine, Variables};
use crate::net::NetError;
use crate::price::{Price, PriceBook};
use crate::provider::{self, OpenError, ProviderSpec, Scenario, Wire};
use crate::tool::{ToolSpec, file_operations};
use crate::world;

/// What a process makes runs with: this machine, and the settings of each place.
pub struct Shop {
    /// Where tools are found.
    pub machine: Arc<Machine>,
    /// Where the user's settings are.
    pub home: Home,
    /// What was said when the process was started.
    pub given: Given,
    /// Where runs work for which nobody names a place.
    pub directory: PathBuf,
}

impl Shop {
    /// The settings that count in `workspace`.
    pub fn settings(&self, workspace: &Path) -> Result<Loaded, ConfigError> {
        config::load(&self.home, workspace, &self.given)
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Work {
    /// A model is told this.
    Agent(String),
    /// One command.
    Shell(CommandLine),
    /// One git command, without the word `git`.
    Git(Vec<String>),
    /// Changes to files.
    File(Vec<FileOperation>),
}

impl Work {
    /// What kind of work it is.
    #[must_use]
    pub const fn kind(&self) -> TaskKind {
        match self {
            Self::Agent(_) => TaskKind::AgentLoop,
            Self::Shell(_) => TaskKind::Shell,
            Self::Git(_) => TaskKind::Git,
            Self::File(_) => TaskKind::File,
        }
    }

    /// In words.
    fn goal(&self) -> String {
        match self {
            Self::Agent(prompt) => prompt.clone(),
            Self::Shell(CommandLine::Line(line)) => line.clone(),
            Self::Shell(CommandLine::Argv(argv)) => argv.join(" "),
            Self::Git(args) => format!("git {}", args.join(" ")),
            Self::File(operations) => {
                let paths: Vec<_> = operations.iter().map(|operation| operation.path.as_str()).collect();
                format!("change {}", paths.join(", "))
            }
        }
    }

    /// The calls that do it without a model.
    fn plan(&self) -> Vec<PlannedCall> {
        let (tool, input) = match self {
            Self::Agent(_) => return Vec::new(),
            Self::Shell(CommandLine::Line(line)) => ("shell", json!({ "command": line })),
            Self::Shell(CommandLine::Argv(argv)) => ("shell", json!({ "argv": argv })),
            Self::Git(args) => ("git", json!({ "args": args })),
            Self::File(operations) => (file_operations::NAME, json!({ "operations": operations })),
        };
        let input = if let Value::Object(input) = input { input } else { Object::new() };
        vec![PlannedCall { tool: tool.into(), input }]
    }
}

/// A task that is to go through phases, with gates between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseWish {
    /// Which gates: the name of a preset, or a file; else what the project or R1 itself says.
    pub gates: Option<String>,
    /// Commands that say whether the task is done.
    pub criteria: Vec<String>,
}

/// A run that is wanted, beside what the settings say.
#[derive(Clone, Debug)]
pub struct Order {
    /// What is to be done.
    pub work: Work,
    /// In a few words.
    pub title: Option<String>,
    /// What the model is told first, instead of the usual.
    pub system_prompt: Option<String>,
    /// The directory that it is about.
    pub workspace: PathBuf,
    /// Of a clone or worktree: the revision to begin with.
    pub base: Option<String>,
    /// A script instead of a model.
    pub scenario: Option<Scenario>,
    /// Files that come with the prompt.
    pub attachments: Vec<Attachment>,
    /// Nobody is there to answer.
    pub unattended: bool,
    /// low, normal or high.
    pub priority: Option<String>,
    /// What its owner calls it.
    pub tags: Object,
    /// Whether it waits for its release.
    pub held: bool,
    /// W3C trace context of whoever asks.
    pub trace_parent: Option<String>,
    /// Whether the task goes through phases, and how.
    pub phases: Option<PhaseWish>,
}

impl Order {
    /// An order of `work` in `workspace`, and nothing else.
    #[must_use]
    pub fn new(work: Work, workspace: PathBuf) -> Self {
        Self {
            work,
            title: None,
            system_prompt: None,
            workspace,
            base: None,
            scenario: None,
            attachments: Vec::new(),
            unattended: false,
            priority: None,
            tags: Object::new(),
            held: false,
            trace_parent: None,
            phases: None,
        }
    }

    /// How the task goes through its phases, if it does and its gates can be read.
    pub fn phase_plan(&self, config: &Config) -> Result<Option<PhasePlan>, OrderError> {
        let Some(PhaseWish { gates, criteria }) = &self.phases else { return Ok(None) };
        let repository = self.workspace.ancestors().find(|directory| directory.join(".git").exists());
        let preset = Preset::load(repository.unwrap_or(&self.workspace), gates.as_deref())?;
        let reviewer = config.gates.reviewer.as_ref().map(|name| config.reviewer(name)).transpose()?;
        let reviewer = reviewer.map(|(provider, model)| {
            let price = price(config, &provider, &model);
            ReviewerSpec { provider, model, price, needs_room: true }
        });
        Ok(Some(PhasePlan {
            preset,
            reviewer,
            criteria: criteria.clone(),
            is_git: repository.is_some(),
            commits_own_changes: true,
        }))
    }

    /// Who is to be asked, if it can be reached; what there is no need of is not looked at.
    pub fn model(&self, config: &Config, variables: &Variables) -> Result<(ProviderSpec, String), OrderError> {
        if self.work.kind() != TaskKind::AgentLoop {
            return Ok((ProviderSpec { name: NONE.into(), ..ProviderSpec::default() }, NONE.into()));
        }
        let (provider, model) = match (&self.scenario, &config.run.provider) {
            (Some(scenario), _) => (ProviderSpec::scripted(scenario.clone()), scripted_model(config)),
            (None, Some(name)) => {
                let provider = config.provider(name)?;
                let model = match (&config.run.model, provider.wire) {
                    (Some(model), _) => model.clone(),
                    (None, Wire::Scripted) => scripted_model(config),
                    (None, _) => return Err(OrderError::NoModel { provider: name.clone() }),
                };
                (provider, model)
            }
            (None, None) => return Err(OrderError::NoProvider),
        };
        if model.len() > MAX_MODEL {
            return Err(OrderError::LongModel { bytes: model.len() });
        }
        provider::open(&provider, &|name| variables(name))?;
        Ok((provider, model))
    }

    /// The run, with the tools that this machine and its MCP servers have; and the servers that did not
    /// answer, with the reason.
    pub async fn new_run(
        self,
        config: &Config,
        machine: &Machine,
        workspaces: &Path,
    ) -> Result<(NewRun, Vec<(String, String)>), OrderError> {
        let (provider, model) = self.model(config, &machine.environment)?;
        let mut spec = spec(config, provider, &model, self.unattended);
        let (tools, missing) = self.tools(&spec, machine).await?;
        spec.tools = tools;
        spec.plan = self.work.plan();
        spec.phases = self.phase_plan(config)?;
        let mode = config.run.workspace.clone();
        let mut workspace = self.workspace.clone();
        if mode != WorkspaceMode::InPlace {
            workspace = own_place(workspaces);
        }
        if matches!(mode, WorkspaceMode::Clone | WorkspaceMode::Worktree) {
            let path = self.workspace.to_string_lossy().into_owned();
            spec.workspace_source = Some(WorkspaceSource { path, base: self.base });
        }
        let system_prompt = match (self.system_prompt, &self.work) {
            (Some(given), _) => given,
            (None, Work::Agent(_)) => usual_prompt(&self.workspace, &workspace, &spec),
            (None, Work::Shell(_) | Work::Git(_) | Work::File(_)) => String::new(),
        };
        let new = NewRun {
            kind: self.work.kind(),
            prompt: self.work.goal(),
            title: self.title,
            spec,
            model,
            system_prompt,
            workspace_path: workspace.to_string_lossy().into_owned(),
            workspace_mode: mode.to_string(),
            attachments: self.attachments,
            number: 1,
            priority: self.priority,
            tags: self.tags,
            trace_parent: self.trace_parent,
            held: self.held,
            ..NewRun::default()
        };
        Ok((new, missing))
    }

    async fn tools(
        &self,
        spec: &RunSpec,
        machine: &Machine,
    ) -> Result<(Vec<ToolSpec>, Vec<(String, String)>), OrderError> {
        if let Some(call) = self.work.plan().first() {
            let own = machine.own_spec(&self.workspace, &call.tool)?;
            return Ok((own.into_iter().collect(), Vec::new()));
        }
        Ok(machine.tool_specs(&self.workspace, &spec.mcp_servers).await?)
    }
}

/// Bytes of a model's name, which stands in every thought of a receipt.
const MAX_MODEL: usize = 1 << 10;

/// Stands where a run has no model.
const NONE: &str = "none";

fn scripted_model(config: &Config) -> String {
    config.run.model.clone().unwrap_or_else(|| Wire::Scripted.as_str().into())
}

/// Whether a budget in money is taken although nobody knows the price. A script says itself what it costs.
#[must_use]
pub fn allows_unknown_price(config: &Config, new: &NewRun) -> bool {
    config.run.allow_unknown_price || new.spec.provider.wire == Wire::Scripted || new.kind != TaskKind::AgentLoop
}

/// What a model costs now, if anybody knows.
fn price(config: &Config, provider: &ProviderSpec, model: &str) -> Option<Price> {
    let prices = PriceBook::new(config.prices.clone());
    prices.price(&provider.name, provider.base_url.as_deref(), model, world::system_time())
}

fn spec(config: &Config, provider: ProviderSpec, model: &str, unattended: bool) -> RunSpec {
    // The price is that of the model which will be used.
    let model = config.policy.model_instead_of(model).map_or(model, |rule| &rule.instead);
    let price = price(config, &provider, model);
    let (run, budget, usual) = (&config.run, &config.run.budget, RunSpec::default());
    RunSpec {
        unattended,
        approval: run.approve,
        approval_timeout_s: run.approval_timeout.map_or(usual.approval_timeout_s, |period| period.as_millis() / 1000),
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
        ..usual
    }
}

/// A place for a workspace of a run's own.
pub(crate) fn own_place(workspaces: &Path) -> PathBuf {
    workspaces.join(world::new_id("ws"))
}

/// What the model is told where nobody says anything else; `project` is what its workspace is made from.
#[must_use]
pub fn usual_prompt(project: &Path, workspace: &Path, spec: &RunSpec) -> String {
    let instructions =
        ["AGENTS.md", "CLAUDE.md"].iter().find_map(|name| std::fs::read_to_string(project.join(name)).ok());
    let date = world::today();
    system_prompt(&Surroundings {
        workspace: &workspace.to_string_lossy(),
        platform: &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date: &date,
        is_git: project.ancestors().any(|directory| directory.join(".git").exists()),
        network: spec.sandbox.network,
        instructions: instructions.as_deref(),
    })
}

/// Why what is wanted cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// Nobody said who serves the model.
    #[error("which model? none is configured")]
    NoProvider,
    /// Nobody said which.
    #[error("which model of {provider}?")]
    NoModel {
        /// Who serves it.
        provider: String,
    },
    /// No model has such a name.
    #[error("the name of the model has {bytes} bytes, and at most {MAX_MODEL} are kept")]
    LongModel {
        /// How many.
        bytes: usize,
    },
    /// The settings do not fit.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The gates cannot be read.
    #[error(transparent)]
    Gates(#[from] PresetError),
    /// The provider cannot be reached.
    #[error(transparent)]
    Provider(#[from] OpenError),
    /// Tools cannot reach others.
    #[error(transparent)]
    Net(#[from] NetError),
}
