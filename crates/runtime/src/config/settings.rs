//! The settings themselves, one struct per area. Every key may be left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use r1_protocol::data::WorkspaceMode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ConfigError;
use super::units::{ByteSize, Period, Usd};
use crate::mcp::ServerSpec;
use crate::policy::{ApprovalMode, Policy};
use crate::price::Price;
use crate::provider::{HeaderSource, KeySource, ProviderSpec, Scenario, ScenarioError, Wire};

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Directories whose `r1.toml` may say anything. Counts in the user's file only.
    pub trusted: Vec<PathBuf>,
    /// How runs are carried out.
    pub run: Run,
    /// Providers beside the well-known ones, or other settings for those.
    pub providers: BTreeMap<String, Provider>,
    /// What models cost, by `provider/model` or `model`, where the built-in list is wrong or silent.
    pub prices: BTreeMap<String, Price>,
    /// The rules for tool calls.
    pub policy: Policy,
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// What counts as secret.
    pub redaction: Redaction,
    /// Servers whose tools are offered too.
    pub mcp: Mcp,
    /// Who searches the web.
    pub web_search: Option<WebSearch>,
    /// Who reviews at the gates between phases.
    pub gates: Gates,
    /// What is recorded.
    pub record: Record,
    /// What a collector of OpenTelemetry is told by `r1 serve`.
    pub telemetry: Telemetry,
    /// Who signs receipts.
    pub signing: Signing,
}

/// What gates need beside their preset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// The model that reviews, as `provider/model`. It should be of another family than the one that works.
    pub reviewer: Option<String>,
}

/// What a collector of OpenTelemetry is told. The environment's `OTEL_…` variables win.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Its address, such as `http://127.0.0.1:4318`. Nothing is told without one.
    pub endpoint: Option<String>,
    /// Whether prompts, answers, and what tools were given and gave are told too.
    pub content: bool,
}

/// Who signs receipts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Signing {
    /// The key's id, or how it begins; without one the newest agent key signs.
    pub kid: Option<String>,
}

/// How runs are carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Who serves the model.
    pub provider: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// How much is allowed without asking.
    pub approve: ApprovalMode,
    /// How long a question waits for an answer; `0s` is for ever, and nothing said is a day.
    pub approval_timeout: Option<Period>,
    /// Where a run works.
    pub workspace: WorkspaceMode,
    /// Model calls after which a run fails.
    pub max_turns: u64,
    /// The most the model may say in one turn.
    pub max_output_tokens: u64,
    /// How much conversation the model takes.
    pub context_tokens: u64,
    /// Attempts at one turn.
    pub max_attempts: u64,
    /// Whether a budget is taken though the model's price is not known.
    pub allow_unknown_price: bool,
    /// What a run may use up.
    pub budget: Budget,
    /// Parameters for the model, as its provider names them.
    pub params: Map<String, Value>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            approve: ApprovalMode::default(),
            approval_timeout: None,
            workspace: WorkspaceMode::InPlace,
            max_turns: 200,
            max_output_tokens: 16_000,
            context_tokens: 180_000,
            max_attempts: 3,
            allow_unknown_price: false,
            budget: Budget::default(),
            params: Map::new(),
        }
    }
}

/// What a run may use up; what is left out has no limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Money.
    pub usd: Option<Usd>,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens said.
    pub output_tokens: Option<u64>,
    /// Model calls of the whole task.
    pub turns: Option<u64>,
    /// Time while running.
    pub wall_clock: Option<Period>,
    /// Percentages of the money at which a warning is given.
    pub warning_pct: Vec<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            usd: None,
            input_tokens: None,
            output_tokens: None,
            turns: None,
            wall_clock: None,
            warning_pct: vec![80],
        }
    }
}

/// A provider; what is left out is as in the well-known one of that name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provider {
    /// What it speaks.
    pub wire: Option<Wire>,
    /// Where it is, up to and including the version.
    pub base_url: Option<String>,
    /// The variable that holds its key.
    pub key_env: Option<String>,
    /// The file that holds its key.
    pub key_file: Option<PathBuf>,
    /// Further headers.
    pub headers: BTreeMap<String, HeaderSource>,
    /// How long until the first byte of an answer.
    pub first_byte_timeout: Option<Period>,
    /// How long it may be silent in the middle of one.
    pub silence_timeout: Option<Period>,
    /// The file with what it says, if it is scripted.
    pub scenario: Option<PathBuf>,
    /// How many runs of one node may use it at the same time.
    pub max_concurrent: Option<usize>,
}

/// How programs are confined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Whether runs are refused where programs cannot be confined.
    pub require: bool,
    /// Whether programs may use the network.
    pub network: bool,
    /// Whether programs may only look at the workspace.
    pub read_only: bool,
    /// What else they may read.
    pub readable: Vec<PathBuf>,
    /// What else they may change.
    pub writable: Vec<PathBuf>,
    /// Variables that they get beside the usual ones.
    pub env: Vec<String>,
    /// Processes at one time.
    pub max_processes: Option<u64>,
    /// Length of each file that they write.
    pub max_file_size: Option<ByteSize>,
}

/// What counts as secret, beside what looks like it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// Regular expressions, matched line by line.
    pub patterns: Vec<String>,
    /// Variables whose values are secret, though their names do not tell.
    pub variables: Vec<String>,
}

/// MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// By name.
    pub servers: BTreeMap<String, McpServer>,
}

/// A server: a program to start, or a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that the program gets.
    pub env: Vec<String>,
    /// Where it is.
    pub url: Option<String>,
    /// The variable that holds its token.
    pub bearer_env: Option<String>,
    /// The file that holds its token.
    pub bearer_file: Option<PathBuf>,
    /// How long it may take to begin.
    pub connect_timeout: Option<Period>,
    /// How long a call may take.
    pub call_timeout: Option<Period>,
    /// Whether it is left out.
    pub disabled: bool,
}

/// Who searches the web.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebSearch {
    /// Its name.
    pub provider: String,
    /// Where it is, if not where it usually is.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The variable that holds its key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The file that holds its key.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Record {
    /// Whether pieces of reasoning are recorded as they come.
    pub thinking_deltas: bool,
    /// Events between two checkpoints of a busy run.
    pub checkpoint_events: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self { thinking_deltas: false, checkpoint_events: 200 }
    }
}

impl Config {
    /// Whether the values make sense together.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.policy.check()?;
        for server in self.mcp_servers() {
            server.check()?;
        }
        if let Some(name) = &self.run.provider {
            self.provider(name)?;
        }
        if let Some(name) = &self.gates.reviewer {
            self.reviewer(name)?;
        }
        Ok(())
    }

    /// A reviewer that is written as `provider/model`: how to reach it, and its name there.
    pub fn reviewer(&self, name: &str) -> Result<(ProviderSpec, String), ConfigError> {
        match name.split_once('/') {
            Some((provider, model)) if !model.is_empty() => Ok((self.provider(provider)?, model.to_owned())),
            _ => Err(ConfigError::Reviewer { name: name.to_owned() }),
        }
    }

    /// How to reach a provider: the well-known one of that name with what the settings change.
    pub fn provider(&self, name: &str) -> Result<ProviderSpec, ConfigError> {
        let written = self.providers.get(name);
        let preset = ProviderSpec::preset(name);
        let is_new = preset.is_none() && name != Wire::Scripted.as_str();
        let wire = written.and_then(|provider| provider.wire);
        if is_new && wire.is_none() {
            let mut known: Vec<_> = ProviderSpec::preset_names().map(str::to_owned).collect();
            known.extend(self.providers.keys().filter(|known| *known != name).cloned());
            return Err(ConfigError::Provider { name: name.into(), known: known.join(", ") });
        }
        let mut spec = preset.unwrap_or_else(|| ProviderSpec { name: name.into(), ..ProviderSpec::default() });
        let Some(Provider {
            wire: _,
            base_url,
            key_env,
            key_file,
            headers,
            first_byte_timeout,
            silence_timeout,
            scenario,
            max_concurrent: _,
        }) = written
        else {
            return Ok(spec);
        };
        if let Some(path) = scenario {
            spec.scenario = Some(play(name, path)?);
        }
        spec.wire = wire.unwrap_or(spec.wire);
        spec.base_url = base_url.clone().or(spec.base_url);
        let key = key_env.clone().map(KeySource::Env).or_else(|| key_file.clone().map(KeySource::File));
        spec.key = key.or(spec.key);
        spec.headers.extend(headers.clone());
        if let Some(period) = first_byte_timeout {
            spec.timeouts.first_byte_ms = period.as_millis();
        }
        if let Some(period) = silence_timeout {
            spec.timeouts.silence_ms = period.as_millis();
        }
        Ok(spec)
    }

    /// The MCP servers of a run.
    #[must_use]
    pub fn mcp_servers(&self) -> Vec<ServerSpec> {
        let enabled = self.mcp.servers.iter().filter(|(_, server)| !server.disabled);
        enabled.map(|(name, server)| server.spec(name)).collect()
    }

    /// Whether the user's file trusts this directory or one above it.
    pub(super) fn trusts(&self, directory: &Path, user_home: Option<&Path>) -> bool {
        self.trusted.iter().any(|trusted| {
            let trusted = match (trusted.strip_prefix("~"), user_home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => trusted.clone(),
            };
            trusted.is_absolute() && directory.starts_with(&trusted)
        })
    }
}

fn play(name: &str, path: &Path) -> Result<Scenario, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    let wrong = |err: ScenarioError| ConfigError::Scenario { name: name.into(), path: path.to_owned(), source: err };
    Scenario::parse(&text).map_err(wrong)
}

impl McpServer {
    fn spec(&self, name: &str) -> ServerSpec {
        let Self { command, env, url, bearer_env, bearer_file, connect_timeout, call_timeout, disabled: _ } =
            self.clone();
        let milliseconds = |period: Option<Period>| period.map_or(0, Period::as_millis);
        ServerSpec {
            name: name.into(),
            command,
            env,
            url,
            bearer_env,
            bearer_file,
            connect_timeout_ms: milliseconds(connect_timeout),
            call_timeout_ms: milliseconds(call_timeout),
        }
    }
}
