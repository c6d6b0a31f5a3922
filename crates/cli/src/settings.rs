//! The settings that count: flags, then the environment, then the project's file, then the user's.

use std::path::Path;

use r1_runtime::config::{self, Config, ConfigError, Given, Loaded};

use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::output;

/// A flag that stands for a setting.
pub(crate) struct Flag {
    /// The setting, such as `run.model`.
    pub(crate) key: &'static str,
    pub(crate) value: toml::Value,
    /// As it was typed.
    pub(crate) flag: &'static str,
}

/// The settings for work in `workspace`. What a project's file says and may not is told to the user.
pub(crate) fn load(context: &Context, workspace: &Path, flags: Vec<Flag>) -> Result<Config, CliError> {
    let loaded = read(context, workspace, flags)?;
    for ignored in &loaded.ignored {
        output::note(&format!("{}note:{:#} {ignored}", output::NOTICE, output::NOTICE));
    }
    Ok(loaded.config)
}

/// The settings for work in `workspace`, with where each came from.
pub(crate) fn read(context: &Context, workspace: &Path, flags: Vec<Flag>) -> Result<Loaded, ConfigError> {
    config::load(&context.home, workspace, &given(flags))
}

/// What was said when the process was started.
pub(crate) fn given(flags: Vec<Flag>) -> Given {
    Given {
        environment: environment::variables().collect(),
        flags: flags.into_iter().map(|Flag { key, value, flag }| (key.into(), value, flag.into())).collect(),
        user_home: environment::user_home(),
    }
}
