//! Which variables programs get to see.

use std::collections::BTreeMap;

/// Names that tell where programs are and how to talk to a person, and nothing about whom we work for.
const HARMLESS: [&str; 7] = ["PATH", "LANG", "LANGUAGE", "TERM", "TZ", "COLORTERM", "NO_COLOR"];

/// Of all `variables` those that programs may see: the harmless ones, and the `configured` names.
#[must_use]
pub fn allowed(
    variables: impl IntoIterator<Item = (String, String)>,
    configured: &[String],
) -> BTreeMap<String, String> {
    variables
        .into_iter()
        .filter(|(name, _)| HARMLESS.contains(&&**name) || name.starts_with("LC_") || configured.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_and_configured_names_pass() {
        let variables = ["PATH", "LC_ALL", "SSH_AUTH_SOCK", "GITHUB_TOKEN", "CARGO_HOME", "HOME"];
        let variables = variables.map(|name| (name.to_owned(), "x".to_owned()));
        let names: Vec<String> = allowed(variables, &["CARGO_HOME".to_owned()]).into_keys().collect();
        assert_eq!(names, ["CARGO_HOME", "LC_ALL", "PATH"]);
    }
}
