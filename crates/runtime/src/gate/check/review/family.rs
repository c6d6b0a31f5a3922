//! Whose models are of one lineage.

/// How names of models tell their lineage; the first that occurs in a name counts.
const LINEAGES: &[(&str, &[&str])] = &[
    ("anthropic", &["claude"]),
    ("openai", &["gpt", "chatgpt", "codex", "davinci", "o1", "o3", "o4"]),
    ("google", &["gemini", "gemma", "palm"]),
    ("meta", &["llama", "codellama"]),
    ("mistral", &["mistral", "mixtral", "codestral", "devstral", "magistral", "ministral", "pixtral"]),
    ("deepseek", &["deepseek"]),
    ("qwen", &["qwen", "qwq", "qvq"]),
    ("xai", &["grok"]),
];

/// The lineage of a model; of one that no table knows, its provider's id.
pub(super) fn family<'a>(provider: &'a str, model: &str) -> &'a str {
    let model = model.to_ascii_lowercase();
    let mut words = model.split(|char: char| !char.is_ascii_alphanumeric());
    let lineage = words.find_map(|word| {
        let begins = |name: &&str| word.strip_prefix(*name).is_some_and(|rest| fits(name, rest));
        LINEAGES.iter().find(|(_, names)| names.iter().any(|name| begins(&name)))
    });
    lineage.map_or(provider, |(family, _)| family)
}

/// Short names stand alone; longer ones may have a version or more behind them.
fn fits(name: &str, rest: &str) -> bool {
    name.len() > 3 || rest.is_empty() || (name == "gpt" && rest.starts_with(|char: char| char.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_family_of_its_lineage_whoever_serves_it() {
        let cases = [
            ("anthropic", "claude-sonnet-4-5", "anthropic"),
            ("openrouter", "anthropic/claude-opus-4", "anthropic"),
            ("bedrock", "eu.anthropic.claude-3-haiku", "anthropic"),
            ("openai", "gpt-5.1-codex", "openai"),
            ("azure", "o3-mini", "openai"),
            ("groq", "openai/gpt-oss-120b", "openai"),
            ("google", "gemini-3-pro", "google"),
            ("ollama", "llama3.3:70b", "meta"),
            ("ollama", "codellama:7b", "meta"),
            ("mistral", "codestral-latest", "mistral"),
            ("ollama", "deepseek-r1", "deepseek"),
            ("ollama", "qwen3-coder", "qwen"),
            ("xai", "grok-4", "xai"),
            ("scripted", "scripted", "scripted"),
            ("acme", "o1x", "acme"),
        ];
        for (provider, model, expected) in cases {
            assert_eq!(family(provider, model), expected, "{provider} {model}");
        }
    }
}
