//! What R1 must know of a provider to talk to it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::key::KeySource;
use super::scripted::Scenario;

/// How to reach a provider: what settings say of it, and what a run's log keeps. Holds no key, only where
/// it is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSpec {
    /// Its name in logs and settings.
    pub name: String,
    /// What it speaks.
    pub wire: Wire,
    /// Where, up to and including the version (`https://api.openai.com/v1`). None of the
    /// [`Wire::Scripted`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Where its key is found; a server at home may want none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeySource>,
    /// Further headers of each request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderSource>,
    /// How long to wait.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// What a [`Wire::Scripted`] provider plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
}

impl ProviderSpec {
    /// The settings of a well-known provider.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.name == name).map(Preset::spec)
    }

    /// The names that [`preset`](Self::preset) knows.
    pub fn preset_names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.name)
    }

    /// The provider whose models cost nothing and say what they were told to.
    #[must_use]
    pub fn scripted(scenario: Scenario) -> Self {
        Self { name: "scripted".to_owned(), scenario: Some(scenario), ..Self::default() }
    }
}

/// Where a header's value is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderSource {
    /// Here. Kept in the log of each run, so nothing secret.
    Value(String),
    /// In this environment variable.
    Env(String),
    /// In this file, which nobody else may read.
    File(PathBuf),
}

/// What a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// OpenAI's Chat Completions, which nearly everybody can speak.
    OpenaiChat,
    /// Google's Gemini.
    Gemini,
    /// Nothing: it plays a [`Scenario`].
    #[default]
    Scripted,
}

impl Wire {
    /// The word in settings and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiChat => "openai-chat",
            Self::Gemini => "gemini",
            Self::Scripted => "scripted",
        }
    }
}

/// How long a provider may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// Before it says anything, in milliseconds.
    pub first_byte_ms: u64,
    /// In the middle of an answer, in milliseconds.
    pub silence_ms: u64,
}

impl Timeouts {
    /// Before it says anything.
    #[must_use]
    pub const fn first_byte(self) -> Duration {
        Duration::from_millis(self.first_byte_ms)
    }

    /// In the middle of an answer.
    #[must_use]
    pub const fn silence(self) -> Duration {
        Duration::from_millis(self.silence_ms)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte_ms: 60_000, silence_ms: 120_000 }
    }
}

struct Preset {
    name: &'static str,
    wire: Wire,
    base_url: &'static str,
    key_variable: Option<&'static str>,
}

impl Preset {
    fn spec(&self) -> ProviderSpec {
        // Without a key it is a server at home, and that may first have to load the model.
        let first_byte_ms = if self.key_variable.is_none() { 300_000 } else { Timeouts::default().first_byte_ms };
        ProviderSpec {
            name: self.name.to_owned(),
            wire: self.wire,
            base_url: Some(self.base_url.to_owned()),
            key: self.key_variable.map(|variable| KeySource::Env(variable.to_owned())),
            timeouts: Timeouts { first_byte_ms, ..Timeouts::default() },
            ..ProviderSpec::default()
        }
    }
}

const PRESETS: &[Preset] = &[
    remote("anthropic", Wire::Anthropic, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    remote("openai", Wire::OpenaiResponses, "https://api.openai.com/v1", "OPENAI_API_KEY"),
    remote("gemini", Wire::Gemini, "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
    remote("openrouter", Wire::OpenaiChat, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    remote("deepseek", Wire::OpenaiChat, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    remote("groq", Wire::OpenaiChat, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    remote("mistral", Wire::OpenaiChat, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    remote("together", Wire::OpenaiChat, "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    remote("xai", Wire::OpenaiChat, "https://api.x.ai/v1", "XAI_API_KEY"),
    local("ollama", "http://localhost:11434/v1"),
    local("vllm", "http://localhost:8000/v1"),
    local("lmstudio", "http://localhost:1234/v1"),
    local("llamacpp", "http://localhost:8080/v1"),
];

const fn remote(name: &'static str, wire: Wire, base_url: &'static str, key_variable: &'static str) -> Preset {
    Preset { name, wire, base_url, key_variable: Some(key_variable) }
}

const fn local(name: &'static str, base_url: &'static str) -> Preset {
    Preset { name, wire: Wire::OpenaiChat, base_url, key_variable: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_found_by_its_name_and_stored() {
        for name in ProviderSpec::preset_names() {
            let spec = ProviderSpec::preset(name).unwrap();
            assert_eq!(spec.name, name);
            let stored = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<ProviderSpec>(&stored).unwrap(), spec);
        }
        assert_eq!(ProviderSpec::preset("nobody"), None);
    }

    #[test]
    fn a_file_needs_to_say_only_what_is_special() {
        let spec: ProviderSpec = toml::from_str(
            r#"
            name = "work"
            wire = "openai-chat"
            base_url = "https://models.example/v1"
            key = { file = "/home/me/.key" }
            headers = { x-team = { value = "tools" }, x-gateway-key = { env = "GATEWAY_KEY" } }
            "#,
        )
        .unwrap();
        assert_eq!(spec.key, Some(KeySource::File("/home/me/.key".into())));
        assert_eq!(spec.headers["x-gateway-key"], HeaderSource::Env("GATEWAY_KEY".to_owned()));
        assert_eq!(spec.timeouts, Timeouts { first_byte_ms: 60_000, silence_ms: 120_000 });
        assert!(toml::from_str::<ProviderSpec>("name='x'\nwire='openai-chat'\napi_key='sk-1'").is_err());
    }
}
