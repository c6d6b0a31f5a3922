//! Settings: what a user and a project want to be different.
//!
//! They come from flags, the environment, the project's `r1.toml` (the first one found upwards from the
//! workspace) and the user's `$R1_HOME/config.toml`; the first that says something counts. Nothing here
//! reads the environment: whoever calls passes it in.
//!
//! A project's file may be anyone's: whoever clones a repository gets it. So unless the user's file trusts
//! the directory (`trusted = ["~/work"]`), it can only make things stricter, see [`project`].

mod error;
mod merge;
mod origin;
pub mod project;
mod settings;
mod template;
mod units;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

pub use error::ConfigError;
pub use origin::{Origin, Origins};
pub use settings::*;
pub use template::template;
pub use units::{ByteSize, Period, Usd};

use crate::home::Home;

/// The project's file.
pub const PROJECT_FILE: &str = "r1.toml";
/// The user's file, in `$R1_HOME`.
pub const USER_FILE: &str = "config.toml";

/// Variables that set a value, and which one.
pub const VARIABLES: [(&str, &str); 6] = [
    ("R1_PROVIDER", "run.provider"),
    ("R1_MODEL", "run.model"),
    ("R1_APPROVE", "run.approve"),
    ("R1_MAX_TURNS", "run.max_turns"),
    ("R1_WORKSPACE", "run.workspace"),
    ("R1_BUDGET_USD", "run.budget.usd"),
];

/// What is known before any file is read.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Values of [`VARIABLES`] and others; the others are not looked at.
    pub environment: Vec<(String, String)>,
    /// Key (`run.model`), value, and the flag that gave it.
    pub flags: Vec<(String, Value, String)>,
    /// The user's home, for `~` in paths.
    pub user_home: Option<PathBuf>,
}

/// Settings, where each came from, and what was not heeded.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Where each value is from.
    pub origins: Origins,
    /// What the project's file says and may not: tell the user.
    pub ignored: Vec<project::Ignored>,
    /// The project's file, if there is one.
    pub project_file: Option<PathBuf>,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// Reads the files that count for `workspace` and puts everything together.
pub fn load(home: &Home, workspace: &Path, given: &Given) -> Result<Loaded, ConfigError> {
    let user = read(&home.path().join(USER_FILE))?;
    let project = find_project_file(workspace).map(|path| read(&path)).transpose()?.flatten();
    resolve(user, project, given)
}

/// The first `r1.toml` upwards from `workspace`.
#[must_use]
pub fn find_project_file(workspace: &Path) -> Option<PathBuf> {
    workspace.ancestors().map(|directory| directory.join(PROJECT_FILE)).find(|path| path.is_file())
}

/// Puts everything together.
pub fn resolve(
    user: Option<SettingsFile>,
    project: Option<SettingsFile>,
    given: &Given,
) -> Result<Loaded, ConfigError> {
    let mut merged = Table::new();
    let mut loaded = Loaded::default();
    let mut users = Config::default();
    if let Some(file) = &user {
        let (config, table) = parse(file)?;
        users = config;
        merge::over(&mut merged, table, &Origin::User(file.path.clone()), &mut loaded.origins);
    }
    if let Some(file) = &project {
        let (_, mut table) = parse(file)?;
        let directory = file.path.parent().unwrap_or(&file.path);
        if table.remove("trusted").is_some() {
            loaded.ignored.push(project::Ignored::trust());
        }
        if !users.trusts(directory, given.user_home.as_deref()) {
            loaded.ignored.extend(project::restrict(&mut table, &users));
        }
        merge::over(&mut merged, table, &Origin::Project(file.path.clone()), &mut loaded.origins);
        loaded.project_file = Some(file.path.clone());
    }
    for (variable, key) in VARIABLES {
        let set = given.environment.iter().find(|(name, value)| name == variable && !value.is_empty());
        if let Some((_, value)) = set {
            let origin = Origin::Environment(variable.into());
            merge::set(&mut merged, key, from_text(key, value), &origin, &mut loaded.origins);
        }
    }
    for (key, value, flag) in &given.flags {
        merge::set(&mut merged, key, value.clone(), &Origin::Flag(flag.clone()), &mut loaded.origins);
    }
    loaded.config = merged.try_into().map_err(|err| ConfigError::value(&loaded.origins, &err))?;
    loaded.config.check()?;
    Ok(loaded)
}

/// A variable's text as a value: numbers where numbers are wanted.
fn from_text(key: &str, text: &str) -> Value {
    match text.parse() {
        Ok(number) if key == "run.max_turns" => Value::Integer(number),
        _ => Value::String(text.to_owned()),
    }
}

fn parse(file: &SettingsFile) -> Result<(Config, Table), ConfigError> {
    let config = toml::from_str(&file.text).map_err(|err| ConfigError::file(file, &err))?;
    let table = toml::from_str(&file.text).map_err(|err| ConfigError::file(file, &err))?;
    Ok((config, table))
}

fn read(path: &Path) -> Result<Option<SettingsFile>, ConfigError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(SettingsFile { path: path.to_owned(), text })),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
