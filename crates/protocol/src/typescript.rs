//! TypeScript types of the events and of the API, made from the same tables as everything else.

mod api;
mod events;

pub use api::api;
pub use events::events;

use std::fmt::Write as _;

const HEADER: &str = "// Made by `cargo run -p r1-protocol --example generate`; do not edit.\n";

/// A growing source file.
struct Source(String);

impl Source {
    fn new() -> Self {
        Self(HEADER.into())
    }

    /// A line at this depth.
    fn line(&mut self, depth: usize, text: &str) {
        // Text into memory: there is nothing that could fail.
        let _ = writeln!(self.0, "{:width$}{text}", "", width = depth * 2);
    }

    /// A comment, if there is something to say.
    fn comment(&mut self, depth: usize, text: &str) {
        let lines: Vec<_> = text.lines().collect();
        match lines.as_slice() {
            [] => {}
            [line] => self.line(depth, &format!("/** {line} */")),
            lines => {
                self.line(depth, "/**");
                lines.iter().for_each(|line| self.line(depth, format!(" * {line}").trim_end()));
                self.line(depth, " */");
            }
        }
    }

    /// Text as it is, after an empty line.
    fn block(&mut self, text: &str) {
        self.0.push('\n');
        self.0.push_str(text.trim_start_matches('\n'));
    }
}

/// A name as a type of TypeScript: `tool.shell.exited` is `ToolShellExited`, `agent.*` is `Agent`.
fn type_name(name: &str) -> String {
    name.split(['.', '_', '*']).map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// A literal.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One of these.
fn union<T: AsRef<str>>(choices: impl IntoIterator<Item = T>) -> String {
    let choices: Vec<_> = choices.into_iter().map(|choice| choice.as_ref().to_owned()).collect();
    if choices.is_empty() { "never".into() } else { choices.join(" | ") }
}

/// An array of this.
fn array(of: &str) -> String {
    if of.contains('|') { format!("({of})[]") } else { format!("{of}[]") }
}
