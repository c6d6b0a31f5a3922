//! The presets that come with R1, and where gates stand unless a preset says otherwise.

use super::{Composite, GateRule, NotApplicable, Preset, Scope, file, gate_id};
use crate::config::PROJECT_FILE;
use crate::gate::phase::{Boundary, Phase, Side};

/// A gate of a built-in preset: name, threshold, whether it blocks, weight.
type Row = (&'static str, u64, bool, u64);

const DEFAULT: &[Row] = &[
    (gate_id::SYNTAX, 1000, true, 2000),
    (gate_id::TESTS, 1000, true, 2000),
    (gate_id::LINT, 900, false, 1000),
    (gate_id::REVIEW, 800, true, 1500),
    (gate_id::SCOPE, 1000, true, 1000),
    (gate_id::SECRETS, 1000, true, 0),
    (gate_id::POLICY, 1000, true, 0),
];

const STRICT: &[Row] = &[
    (gate_id::SYNTAX, 1000, true, 2000),
    (gate_id::TESTS, 1000, true, 2000),
    (gate_id::LINT, 1000, true, 1500),
    (gate_id::REVIEW, 900, true, 2000),
    (gate_id::SCOPE, 1000, true, 1000),
    (gate_id::SECRETS, 1000, true, 0),
    (gate_id::POLICY, 1000, true, 0),
];

const FAST: &[Row] = &[
    (gate_id::SYNTAX, 1000, true, 2000),
    (gate_id::TESTS, 1000, true, 2000),
    (gate_id::LINT, 500, false, 500),
    (gate_id::REVIEW, 500, false, 500),
    (gate_id::SCOPE, 800, false, 1000),
    (gate_id::SECRETS, 1000, true, 0),
    (gate_id::POLICY, 1000, true, 0),
];

impl Preset {
    /// The presets that come with R1.
    pub const BUILTIN: [&'static str; 3] = ["default", "strict", "fast"];

    /// The preset of this name that comes with R1.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let (threshold, rows, description) = match name {
            "default" => (800, DEFAULT, "Tests, review and scope must hold; lint advises."),
            "strict" => (950, STRICT, "Everything must hold, lint too."),
            "fast" => (600, FAST, "Syntax, tests, secrets and rules must hold; the rest advises."),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            composite: Composite {
                threshold,
                weights: rows.iter().map(|(id, _, _, weight)| ((*id).to_owned(), *weight)).collect(),
            },
            gates: rows.iter().map(|(id, threshold, blocker, _)| rule(id, *threshold, *blocker)).collect(),
            scope: Scope { allow: Vec::new(), protected: protected() },
        })
    }
}

fn rule(id: &str, threshold: u64, blocker: bool) -> GateRule {
    GateRule {
        id: id.to_owned(),
        threshold,
        blocker,
        at: places(id),
        command: None,
        timeout_ms: file::DEFAULT_TIMEOUT_MS,
        when_not_applicable: NotApplicable::Allow,
    }
}

/// Where a built-in gate stands; others stand nowhere by themselves.
pub(super) fn places(id: &str) -> Vec<Boundary> {
    use Phase::{Commit, Execute, Plan, Verify};
    use Side::{Entry, Exit};
    let places: &[(Phase, Side)] = match id {
        gate_id::POLICY => &[(Plan, Entry), (Execute, Entry), (Verify, Entry), (Commit, Entry)],
        gate_id::SCOPE => &[(Plan, Exit), (Execute, Exit), (Commit, Exit)],
        gate_id::SYNTAX => &[(Execute, Exit)],
        gate_id::SECRETS => &[(Execute, Exit), (Commit, Entry)],
        gate_id::TESTS | gate_id::LINT | gate_id::REVIEW | gate_id::COMPOSITE => &[(Verify, Exit)],
        _ => &[],
    };
    places.iter().filter_map(|(phase, side)| Boundary::new(*phase, *side)).collect()
}

/// What no task changes unless a preset says otherwise: what decides about tasks, and what holds secrets.
pub(super) fn protected() -> Vec<String> {
    [".stoke/", ".git/", ".env*", ".claude/", "CLAUDE.md", PROJECT_FILE].map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stoke_24_every_boundary_of_a_built_in_preset_has_a_gate() {
        for name in Preset::BUILTIN {
            let preset = Preset::builtin(name).unwrap();
            let rules = preset.rules();
            for boundary in Boundary::ALL {
                assert!(rules.iter().any(|rule| rule.at.contains(&boundary)), "{name}: {boundary}");
            }
        }
        assert_eq!(Preset::builtin("other"), None);
    }
}
