//! The file that `r1 init` writes.

/// A commented `r1.toml`: every key, with the value that holds without it.
#[must_use]
pub fn template() -> String {
    include_str!("template.toml").to_owned()
}
