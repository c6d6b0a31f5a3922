//! A preset to edit.

use std::fmt::Write as _;

use super::file::decimal;
use super::{GateRule, Preset, gate_id};

impl Preset {
    /// A file with a built-in preset and what can be said beside it, for people to edit.
    #[must_use]
    pub fn template(name: &str) -> Option<String> {
        let preset = Self::builtin(name)?;
        let Self { name, description, composite, gates, scope } = &preset;
        let weights: Vec<_> = gates.iter().map(|rule| weight(rule, &preset)).collect();
        let mut text = format!(
            "# Gates that a task must pass. `r1 gate show` explains this file, `r1 gate run` tries it.\n\
             preset: {name}\ndescription: {}\n\ncomposite:\n  threshold: {}   # of the weighted mean, from 0 to 1\n  \
             weights: {{{}}}\n\ngates:\n",
            description.as_deref().unwrap_or_default(),
            decimal(composite.threshold),
            weights.join(", "),
        );
        gates.iter().for_each(|rule| text.push_str(&line(rule)));
        let protected: Vec<_> = scope.protected.iter().map(|pattern| format!("\"{pattern}\"")).collect();
        let _ = write!(
            text,
            "  # One of your own: exit code 0 allows, 10 asks a person, anything else blocks.\n  \
             # - {{id: licences, threshold: 1, at: [COMMIT.entry], command: ./tools/licences, timeout_s: 60}}\n\n\
             scope:   # patterns as in .gitignore\n  # allow: [src/, tests/]\n  protected: [{}]\n",
            protected.join(", "),
        );
        Some(text)
    }
}

fn weight(rule: &GateRule, preset: &Preset) -> String {
    let weight = preset.composite.weights.get(&rule.id).copied().unwrap_or_default();
    format!("{}: {}", rule.id, decimal(weight))
}

fn line(rule: &GateRule) -> String {
    let blocker = if rule.blocker { ", blocker: true" } else { "" };
    let mut line = format!("  - {{id: {}, threshold: {}{blocker}}}", rule.id, decimal(rule.threshold));
    let note = match rule.id.as_str() {
        gate_id::SYNTAX => "   # parses changed files; `command: …` builds instead",
        gate_id::TESTS | gate_id::LINT => "   # `command: …`, if not the one that the project shows",
        gate_id::REVIEW => "   # by a model of another family",
        _ => "",
    };
    line.push_str(note);
    line.push('\n');
    line
}
