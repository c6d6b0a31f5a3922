//! From settings to a provider that can be called.

use std::sync::Arc;

use super::Provider;
use super::anthropic::Anthropic;
use super::config::{ProviderConfig, Wire};
use super::gemini::Gemini;
use super::http::{Http, HttpError};
use super::key::{Environment, KeyError};
use super::openai_chat::OpenaiChat;
use super::openai_responses::OpenaiResponses;
use super::remote::{Dialect, Remote};
use super::scripted::{Scenario, Scripted};

/// Makes a provider ready. Fetches its key; talks to nobody yet.
///
/// `scenario` is what a [`Wire::Scripted`] one plays; the others do not look at it.
pub fn open(
    config: &ProviderConfig,
    scenario: Option<Arc<Scenario>>,
    environment: Environment<'_>,
) -> Result<Arc<dyn Provider>, OpenError> {
    Ok(match config.wire {
        Wire::Anthropic => Arc::new(remote(config, environment, |_| Anthropic)?),
        Wire::OpenaiResponses => Arc::new(remote(config, environment, |_| OpenaiResponses)?),
        Wire::OpenaiChat => Arc::new(remote(config, environment, |http| OpenaiChat::at(http.base_url()))?),
        Wire::Gemini => Arc::new(remote(config, environment, |_| Gemini)?),
        Wire::Scripted => {
            let scenario = scenario.ok_or_else(|| OpenError::NoScenario { name: config.name.clone() })?;
            Arc::new(Scripted::new(&config.name, scenario))
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

fn remote<D: Dialect>(
    config: &ProviderConfig,
    environment: Environment<'_>,
    dialect: impl FnOnce(&Http) -> D,
) -> Result<Remote<D>, OpenError> {
    let name = || config.name.clone();
    let base_url = config.base_url.as_deref().ok_or_else(|| OpenError::NoBaseUrl { name: name() })?;
    let key = match &config.key {
        Some(source) => {
            let key = source.resolve(environment).map_err(|source| OpenError::Key { name: name(), source })?;
            Some((key, D::KEY))
        }
        None => None,
    };
    let http = Http::new(base_url, key, &config.headers, config.timeouts)
        .map_err(|source| OpenError::Http { name: name(), source })?;
    let dialect = dialect(&http);
    Ok(Remote::new(&config.name, http, dialect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_opens_with_its_key_and_says_which_one_is_missing() {
        for name in ProviderConfig::preset_names() {
            let config = ProviderConfig::preset(name).unwrap();
            let provider = open(&config, None, &|_| Some("sk-1".to_owned())).unwrap();
            assert_eq!(provider.id(), name);
            let without = open(&config, None, &|_| None);
            match (without, &config.key) {
                (Ok(_), None) => {}
                (Err(err @ OpenError::Key { .. }), Some(_)) => assert!(err.to_string().contains("_API_KEY"), "{err}"),
                (Ok(_), Some(_)) => panic!("`{name}` opens without its key"),
                (Err(err), _) => panic!("`{name}`: {err}"),
            }
        }
    }

    #[test]
    fn a_scripted_provider_needs_a_scenario() {
        let config = ProviderConfig::scripted();
        assert!(matches!(open(&config, None, &|_| None), Err(OpenError::NoScenario { .. })));
        assert!(open(&config, Some(Arc::default()), &|_| None).is_ok());
    }
}
