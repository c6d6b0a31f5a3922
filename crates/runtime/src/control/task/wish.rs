//! What is asked of tasks, checked before anything is made. Each fault names its place in the request.

use std::path::{Path, PathBuf};
use std::time::Duration;

use r1_protocol::api::{
    self, ApprovalPolicy, CommandLine, ErrorDetail, ExternalEvent, NewTask, Operation, PatchTask, TaskKind,
};
use r1_protocol::data::{Object, WorkspaceMode};
use serde_json::Value;

use super::TaskError;
use crate::agent::Budget;
use crate::agent::command::TaskChanges;
use crate::config::{Config, McpServer, Period, Usd};
use crate::control::append::may_append;
use crate::control::caller::Caller;
use crate::control::order::{Order, Work};
use crate::policy::ApprovalMode;
use crate::provider::ProviderSpec;

/// The longest title, in bytes.
const MAX_TITLE: usize = 512;
/// The most tags, and the longest name and text of one, in bytes.
const MAX_TAGS: usize = 64;
const MAX_TAG: usize = 256;
/// The most that an event from outside may say, in bytes.
const MAX_EXTERNAL: usize = 256 << 10;

/// A task that is wanted, as far as its request alone tells.
pub(super) struct Wish {
    wanted: NewTask,
    work: Work,
    workspace: PathBuf,
    mode: Option<WorkspaceMode>,
}

impl Wish {
    /// Checks a request. Work for which it names no place is done in `directory`.
    pub(super) fn read(wanted: NewTask, directory: &Path) -> Result<Self, Vec<ErrorDetail>> {
        let mut faults = Faults::default();
        let work = work(&wanted, &mut faults);
        check_title(wanted.title.as_deref(), &mut faults);
        check_tags(wanted.tags.as_ref(), &mut faults);
        check_budget(wanted.budget.as_ref(), &mut faults);
        if wanted.kind != TaskKind::AgentLoop {
            let unused = [
                ("/model", wanted.model.is_some()),
                ("/provider", wanted.provider.is_some()),
                ("/system_prompt", wanted.system_prompt.is_some()),
                ("/mcp_servers", wanted.mcp_servers.is_some()),
            ];
            for (path, _) in unused.into_iter().filter(|(_, given)| *given) {
                faults.add(path, format!("a task of kind {} has no model", wanted.kind.as_str()));
            }
        }
        let (workspace, mode) = workspace(&wanted, directory, &mut faults);
        match work {
            Some(work) if faults.0.is_empty() => Ok(Self { wanted, work, workspace, mode }),
            _ => Err(faults.0),
        }
    }

    /// The directory whose settings count.
    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The order, and what of it stands above the settings put into these.
    pub(super) fn order(self, config: &mut Config, trace_parent: Option<String>) -> Result<Order, Vec<ErrorDetail>> {
        let mut faults = Faults::default();
        let NewTask {
            kind: _,
            prompt: _,
            command: _,
            operations: _,
            title,
            model,
            provider,
            system_prompt,
            workspace,
            sandbox,
            budget,
            approval,
            mcp_servers,
            priority,
            tags,
            start,
        } = self.wanted;
        if let Some(name) = provider {
            match config.provider(&name) {
                // The model that the settings name is of another one.
                Ok(_) if config.run.provider.as_ref() != Some(&name) => config.run.model = None,
                Ok(_) => {}
                Err(err) => faults.add("/provider", err.to_string()),
            }
            config.run.provider = Some(name);
        }
        config.run.model = model.or_else(|| config.run.model.take());
        config.run.workspace = self.mode.unwrap_or_else(|| config.run.workspace.clone());
        if let Some(sandbox) = sandbox {
            config.sandbox.network = sandbox.network.unwrap_or(config.sandbox.network);
            config.sandbox.read_only = sandbox.read_only.unwrap_or(config.sandbox.read_only);
        }
        if let Some(budget) = budget {
            allow(config, budget);
        }
        if let Some(approval) = approval {
            config.run.approve = approval.policy.map_or(config.run.approve, mode_of);
            let seconds = approval.timeout_seconds.map(|seconds| Period(Duration::from_secs(seconds)));
            config.run.approval_timeout = seconds.or(config.run.approval_timeout);
        }
        for (place, server) in mcp_servers.unwrap_or_default().into_iter().enumerate() {
            if let Err(reason) = add_server(config, server) {
                faults.add(&format!("/mcp_servers/{place}"), reason);
            }
        }
        if faults.0.is_empty() && self.work.kind() == TaskKind::AgentLoop {
            check_model(config, &mut faults);
        }
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        Ok(Order {
            title,
            system_prompt,
            base: workspace.and_then(|workspace| workspace.base),
            priority: priority.map(|priority| priority.as_str().into()),
            tags: tags.unwrap_or_default(),
            held: start == Some(false),
            trace_parent,
            ..Order::new(self.work, self.workspace)
        })
    }
}

/// What of a task is to change.
pub(super) fn changes(wanted: PatchTask) -> Result<TaskChanges, Vec<ErrorDetail>> {
    let mut faults = Faults::default();
    check_title(wanted.title.as_deref(), &mut faults);
    check_tags(wanted.tags.as_ref(), &mut faults);
    check_budget(wanted.budget.as_ref(), &mut faults);
    if wanted == PatchTask::default() {
        faults.add("", "say what is to change: title, priority, tags or budget");
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let PatchTask { title, priority, tags, budget } = wanted;
    Ok(TaskChanges {
        title,
        priority: priority.map(|priority| priority.as_str().into()),
        tags,
        budget: budget.map(Budget::from),
    })
}

/// An event from outside that `caller` may tell: its type, and what it says.
pub(super) fn external(event: ExternalEvent, caller: &Caller) -> Result<(String, Object), TaskError> {
    let ExternalEvent { type_name, data } = event;
    let invalid =
        |path: &str, reason: &str| TaskError::Invalid(vec![ErrorDetail { path: path.into(), reason: reason.into() }]);
    if !is_type_name(&type_name) {
        return Err(invalid("/type", "a type is words of a-z, 0-9 and _ with dots between, such as external.build"));
    }
    if !may_append(&type_name, caller) {
        return Err(TaskError::Reserved { type_name });
    }
    if serde_json::to_string(&data).is_ok_and(|text| text.len() > MAX_EXTERNAL) {
        return Err(invalid("/data", "an event from outside may say 256 KiB; store what is larger as an artifact"));
    }
    Ok((type_name, data))
}

/// Whether a text could name a type of events.
fn is_type_name(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_')
    };
    text.len() <= 128 && text.contains('.') && text.split('.').all(is_word)
}

#[derive(Default)]
struct Faults(Vec<ErrorDetail>);

impl Faults {
    fn add(&mut self, path: &str, reason: impl Into<String>) {
        self.0.push(ErrorDetail { path: path.into(), reason: reason.into() });
    }
}

/// What is to be done; what belongs to another kind of work is a fault.
fn work(wanted: &NewTask, faults: &mut Faults) -> Option<Work> {
    let kind = wanted.kind;
    let needs = match kind {
        TaskKind::AgentLoop => "/prompt",
        TaskKind::Shell | TaskKind::Git => "/command",
        TaskKind::File => "/operations",
    };
    let given = [
        ("/prompt", wanted.prompt.is_some()),
        ("/command", wanted.command.is_some()),
        ("/operations", wanted.operations.is_some()),
    ];
    for (path, is_given) in given {
        if path == needs && !is_given {
            faults.add(path, format!("a task of kind {} needs it", kind.as_str()));
        } else if path != needs && is_given {
            faults.add(path, format!("a task of kind {} has none", kind.as_str()));
        }
    }
    match kind {
        TaskKind::AgentLoop => {
            let prompt = wanted.prompt.clone()?;
            if prompt.trim().is_empty() {
                faults.add("/prompt", "say what is to be done");
            }
            Some(Work::Agent(prompt))
        }
        TaskKind::Shell => {
            let command = wanted.command.clone()?;
            let is_empty = match &command {
                CommandLine::Argv(argv) => argv.first().is_none_or(String::is_empty),
                CommandLine::Line(line) => line.trim().is_empty(),
            };
            if is_empty {
                faults.add("/command", "name a program");
            }
            Some(Work::Shell(command))
        }
        TaskKind::Git => {
            let mut args = match wanted.command.clone()? {
                CommandLine::Argv(argv) => argv,
                CommandLine::Line(line) if line.contains(['"', '\'', '\\']) => {
                    faults.add("/command", "give a command with quotes as a list of arguments");
                    return None;
                }
                CommandLine::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            };
            if args.first().is_some_and(|first| first == "git") {
                args.remove(0);
            }
            if args.is_empty() {
                faults.add("/command", "name a git command");
            }
            Some(Work::Git(args))
        }
        TaskKind::File => {
            let operations = wanted.operations.clone()?;
            if operations.is_empty() {
                faults.add("/operations", "name at least one");
            }
            for (place, operation) in operations.iter().enumerate() {
                let at = |member: &str| format!("/operations/{place}/{member}");
                if operation.path.is_empty() {
                    faults.add(&at("path"), "name a file");
                }
                match (operation.op, &operation.content) {
                    (Operation::Write | Operation::Append, None) => faults.add(&at("content"), "say what to write"),
                    (Operation::Delete, Some(_)) => faults.add(&at("content"), "a deleted file has none"),
                    (Operation::Write | Operation::Append, Some(_)) | (Operation::Delete, None) => {}
                }
            }
            Some(Work::File(operations))
        }
    }
}

fn workspace(wanted: &NewTask, directory: &Path, faults: &mut Faults) -> (PathBuf, Option<WorkspaceMode>) {
    let Some(place) = &wanted.workspace else { return (directory.to_owned(), None) };
    let mode = place.mode.as_deref().map(WorkspaceMode::from);
    if let Some(WorkspaceMode::Other(mode)) = &mode {
        faults.add("/workspace/mode", format!("`{mode}` is none of clone, worktree, in_place and none"));
    }
    let is_made = matches!(mode, None | Some(WorkspaceMode::Clone | WorkspaceMode::Worktree));
    if place.base.is_some() && !is_made {
        faults.add("/workspace/base", "only a clone or worktree begins with a revision");
    }
    let Some(path) = &place.path else { return (directory.to_owned(), mode) };
    let given = Path::new(path);
    if !given.is_absolute() {
        faults.add("/workspace/path", "give an absolute path of the machine that does the work");
    }
    match given.canonicalize() {
        Ok(found) if found.is_dir() => (found, mode),
        Ok(_) => {
            faults.add("/workspace/path", "it is no directory");
            (given.to_owned(), mode)
        }
        Err(err) => {
            faults.add("/workspace/path", format!("it cannot be used: {err}"));
            (given.to_owned(), mode)
        }
    }
}

fn check_title(title: Option<&str>, faults: &mut Faults) {
    match title {
        Some(title) if title.trim().is_empty() => faults.add("/title", "it is empty"),
        Some(title) if title.len() > MAX_TITLE => faults.add("/title", format!("it has more than {MAX_TITLE} bytes")),
        Some(_) | None => {}
    }
}

fn check_tags(tags: Option<&Object>, faults: &mut Faults) {
    let Some(tags) = tags else { return };
    if tags.len() > MAX_TAGS {
        faults.add("/tags", format!("there are more than {MAX_TAGS}"));
    }
    for (name, value) in tags {
        let path = format!("/tags/{}", name.replace('~', "~0").replace('/', "~1"));
        match value {
            _ if name.is_empty() || name.len() > MAX_TAG => {
                faults.add(&path, format!("a name has 1 to {MAX_TAG} bytes"))
            }
            Value::String(text) if text.len() <= MAX_TAG => {}
            _ => faults.add(&path, format!("a tag is a text of up to {MAX_TAG} bytes")),
        }
    }
}

fn check_budget(budget: Option<&api::Budget>, faults: &mut Faults) {
    for (place, percent) in budget.iter().flat_map(|budget| budget.warning_pct.iter().enumerate()) {
        if !(1..=100).contains(percent) {
            faults.add(&format!("/budget/warning_pct/{place}"), "it is a percentage from 1 to 100");
        }
    }
}

fn check_model(config: &Config, faults: &mut Faults) {
    let Some(name) = &config.run.provider else {
        let known = ProviderSpec::preset_names().collect::<Vec<_>>().join(", ");
        return faults.add("/provider", format!("none is configured; known are {known}"));
    };
    let is_scripted = config.provider(name).is_ok_and(|provider| provider.scenario.is_some());
    if config.run.model.is_none() && !is_scripted {
        faults.add("/model", format!("no model of {name} is configured"));
    }
}

fn mode_of(policy: ApprovalPolicy) -> ApprovalMode {
    match policy {
        ApprovalPolicy::Ask => ApprovalMode::Ask,
        ApprovalPolicy::Edits => ApprovalMode::Edits,
        ApprovalPolicy::ReadOnly => ApprovalMode::ReadOnly,
        ApprovalPolicy::Full => ApprovalMode::Full,
    }
}

/// Puts the limits that a request names above those of the settings.
fn allow(config: &mut Config, wanted: api::Budget) {
    let api::Budget { micros_usd, input_tokens, output_tokens, turns, wall_clock_ms, warning_pct } = wanted;
    let budget = &mut config.run.budget;
    let some = |limit: u64| (limit > 0).then_some(limit);
    budget.usd = some(micros_usd).map(Usd).or(budget.usd);
    budget.input_tokens = some(input_tokens).or(budget.input_tokens);
    budget.output_tokens = some(output_tokens).or(budget.output_tokens);
    budget.turns = some(turns).or(budget.turns);
    budget.wall_clock = some(wall_clock_ms).map(|ms| Period(Duration::from_millis(ms))).or(budget.wall_clock);
    if !warning_pct.is_empty() {
        budget.warning_pct = warning_pct;
    }
}

/// Adds a server as `r1.toml` would name it, with its name beside the rest.
fn add_server(config: &mut Config, mut server: Object) -> Result<(), String> {
    let Some(Value::String(name)) = server.remove("name") else { return Err("it needs a name".into()) };
    let server: McpServer = serde_json::from_value(Value::Object(server)).map_err(|err| err.to_string())?;
    config.mcp.servers.insert(name.clone(), server);
    let added = config.mcp_servers().into_iter().find(|server| server.name == name);
    added.map_or(Ok(()), |server| server.check().map_err(|err| err.to_string()))
}
