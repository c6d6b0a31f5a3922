//! Names that every model takes.

use std::collections::BTreeSet;

/// The longest name of a tool that all providers take.
const MAX_LEN: usize = 64;

/// Gives each tool a name of its own.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// `mcp__server__tool`, with what models do not take replaced. A name that is too long or taken ends
    /// with a digest of the whole instead.
    pub(super) fn unique(&mut self, server: &str, tool: &str) -> String {
        let whole = format!("mcp__{server}__{tool}");
        let is_taken = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        let plain: String = whole.chars().map(|char| if is_taken(char) { char } else { '_' }).collect();
        let name = if plain.len() > MAX_LEN || self.0.contains(&plain) {
            let digest = blake3::hash(whole.as_bytes()).to_hex();
            let kept = plain.len().min(MAX_LEN - 9);
            format!("{}_{}", &plain[..kept], &digest[..8])
        } else {
            plain
        };
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_every_model_takes_and_all_different() {
        let mut names = Names::default();
        assert_eq!(names.unique("github", "list_issues"), "mcp__github__list_issues");
        let dotted = names.unique("s", "a.b");
        assert_eq!(dotted, "mcp__s__a_b");
        let other = names.unique("s", "a/b");
        assert!(other.starts_with("mcp__s__a_b_") && other != dotted, "{other}");
        let long = names.unique("s", &"x".repeat(100));
        assert_eq!(long.len(), MAX_LEN);
        assert_ne!(long, names.unique("s", &"x".repeat(101)));
    }
}
