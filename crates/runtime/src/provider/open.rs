//! From settings to a provider that can be called.

use std::sync::Arc;

use super::anthropic::Anthropic;
use super::gemini::Gemini;
use super::http::{Http, HttpError};
use super::key::{Environment, KeyError, KeySource, Secret};
use super::openai_chat::OpenaiChat;
use super::openai_responses::OpenaiResponses;
use super::remote::{Dialect, Remote};
use super::scripted::Scripted;
use super::spec::{HeaderSource, ProviderSpec, Wire};
use super::{Provider, ProviderError, ProviderFailure};

/// Makes a provider ready. Fetches its key; talks to nobody yet.
pub fn open(spec: &ProviderSpec, environment: Environment<'_>) -> Result<Arc<dyn Provider>, OpenError> {
    Ok(match spec.wire {
        Wire::Anthropic => Arc::new(remote(spec, environment, |_| Anthropic)?),
        Wire::OpenaiResponses => Arc::new(remote(spec, environment, |_| OpenaiResponses)?),
        Wire::OpenaiChat => Arc::new(remote(spec, environment, |http| OpenaiChat::at(http.base_url()))?),
        Wire::Gemini => Arc::new(remote(spec, environment, |_| Gemini)?),
        Wire::Scripted => {
            let scenario = spec.scenario.clone().ok_or_else(|| OpenError::NoScenario { name: spec.name.clone() })?;
            Arc::new(Scripted::new(&spec.name, Arc::new(scenario)))
        }
    })
}

/// A provider that cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its key is missing or cannot be used.
    #[error("provider `{name}`: {source}")]
    Key {
        /// Its name.
        name: String,
        /// What is wrong with the key.
        source: KeyError,
    },
    /// Nobody said where it is.
    #[error("provider `{name}` has no base URL: set `base_url` in its settings")]
    NoBaseUrl {
        /// Its name.
        name: String,
    },
    /// Its settings make no client.
    #[error("provider `{name}`: {source}")]
    Http {
        /// Its name.
        name: String,
        /// What is wrong with them.
        source: HttpError,
    },
    /// Nobody said what to play.
    #[error("provider `{name}` plays a scenario, and none was given")]
    NoScenario {
        /// Its name.
        name: String,
    },
}

impl From<OpenError> for ProviderError {
    fn from(err: OpenError) -> Self {
        let kind = match err {
            OpenError::Key { .. } => ProviderFailure::Unauthorized,
            OpenError::NoBaseUrl { .. } | OpenError::Http { .. } | OpenError::NoScenario { .. } => {
                ProviderFailure::Rejected
            }
        };
        Self { kind, status: 0, message: err.to_string(), retry_after: None }
    }
}

fn remote<D: Dialect>(
    spec: &ProviderSpec,
    environment: Environment<'_>,
    dialect: impl FnOnce(&Http) -> D,
) -> Result<Remote<D>, OpenError> {
    let name = || spec.name.clone();
    let base_url = spec.base_url.as_deref().ok_or_else(|| OpenError::NoBaseUrl { name: name() })?;
    let fetch =
        |source: &KeySource| source.resolve(environment).map_err(|source| OpenError::Key { name: name(), source });
    let mut headers = Vec::new();
    let mut secrets = Vec::new();
    if let Some(source) = &spec.key {
        let key = fetch(source)?;
        headers.push(D::KEY.with(&key));
        secrets.push(key);
    }
    for (header, source) in &spec.headers {
        let source = match source {
            HeaderSource::Value(value) => {
                headers.push((header.clone(), Secret::new(value)));
                continue;
            }
            HeaderSource::Env(variable) => KeySource::Env(variable.clone()),
            HeaderSource::File(path) => KeySource::File(path.clone()),
        };
        let value = fetch(&source)?;
        headers.push((header.clone(), value.clone()));
        secrets.push(value);
    }
    let http = Http::new(base_url, &headers, secrets, spec.timeouts)
        .map_err(|source| OpenError::Http { name: name(), source })?;
    let dialect = dialect(&http);
    Ok(Remote::new(&spec.name, http, dialect))
}

#[cfg(test)]
mod tests {
    use super::super::scripted::Scenario;
    use super::*;

    #[test]
    fn every_preset_opens_with_its_key_and_says_which_one_is_missing() {
        for name in ProviderSpec::preset_names() {
            let spec = ProviderSpec::preset(name).unwrap();
            let provider = open(&spec, &|_| Some("sk-1".to_owned())).unwrap();
            assert_eq!(provider.id(), name);
            let without = open(&spec, &|_| None);
            match (without, &spec.key) {
                (Ok(_), None) => {}
                (Err(err @ OpenError::Key { .. }), Some(_)) => assert!(err.to_string().contains("_API_KEY"), "{err}"),
                (Ok(_), Some(_)) => panic!("`{name}` opens without its key"),
                (Err(err), _) => panic!("`{name}`: {err}"),
            }
        }
    }

    #[test]
    fn a_scripted_provider_needs_a_scenario() {
        assert!(matches!(open(&ProviderSpec::default(), &|_| None), Err(OpenError::NoScenario { .. })));
        assert!(open(&ProviderSpec::scripted(Scenario::default()), &|_| None).is_ok());
    }
}
