//! Telling a collector what this server works on, if somebody named one.

use r1_runtime::config::Config;
use r1_runtime::engine::Engine;
use r1_server::{Telemetry, TelemetrySettings};

use crate::environment;
use crate::error::CliError;

/// Begins, if the environment or the settings say where; a wrong word there is no reason to guess.
pub(super) async fn start(engine: &Engine, config: &Config) -> Result<Option<Telemetry>, CliError> {
    let wanted = &config.telemetry;
    let settings =
        TelemetrySettings::from_environment(&environment::variable, wanted.endpoint.as_deref(), wanted.content);
    let Some(settings) = settings.map_err(|err| CliError::new("telemetry cannot be sent").because(err))? else {
        return Ok(None);
    };
    Ok(Some(Telemetry::start(engine.store().clone(), engine.instance(), settings).await?))
}
