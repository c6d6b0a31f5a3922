//! Which gates stand where, and how much they demand.

mod builtin;
mod error;
mod file;
mod load;
mod template;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::phase::{Boundary, Transition};
pub use error::PresetError;
pub use file::decimal;
pub use load::PresetSource;

/// The names of the built-in gates. Others need a `command`, and places to stand at.
pub mod gate_id {
    /// Do the files parse, or does it build?
    pub const SYNTAX: &str = "syntax";
    /// Do the tests pass?
    pub const TESTS: &str = "tests";
    /// Is the linter content?
    pub const LINT: &str = "lint";
    /// Is there a secret in what is new?
    pub const SECRETS: &str = "secrets";
    /// Do the rules allow what comes next?
    pub const POLICY: &str = "policy";
    /// What does a model of another family say?
    pub const REVIEW: &str = "review";
    /// Are only those files changed that may be?
    pub const SCOPE: &str = "scope";
    /// What do all of them say together?
    pub const COMPOSITE: &str = "composite";
}

/// The whole configuration that counts for a task; nothing is left to defaults. Every number is a thousand
/// times that of the file, so that there are only integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Its name.
    #[serde(rename = "preset")]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What all gates must reach together.
    pub composite: Composite,
    /// All gates but the composite.
    pub gates: Vec<GateRule>,
    /// Which files may be changed.
    pub scope: Scope,
}

/// What all gates must reach together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Composite {
    /// The weighted mean must be at least this, of 1000.
    pub threshold: u64,
    /// How much each gate counts, in thousandths. Every gate of the preset has one.
    pub weights: BTreeMap<String, u64>,
}

/// One gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateRule {
    /// Its name.
    pub id: String,
    /// The score that it takes, of 1000.
    pub threshold: u64,
    /// Whether a lower score holds the task up, or is only recorded.
    pub blocker: bool,
    /// Where it stands.
    pub at: Vec<Boundary>,
    /// A line for bash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How long a command may take: the file's `timeout_s`, in milliseconds.
    pub timeout_ms: u64,
    /// What it says if there is nothing to judge.
    pub when_not_applicable: NotApplicable,
}

/// What a gate says if there is nothing to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotApplicable {
    /// The task may go on.
    #[default]
    Allow,
    /// A person decides.
    Escalate,
}

/// Which files may be changed. Patterns as in `.gitignore`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// These; none named: all but the protected ones.
    pub allow: Vec<String>,
    /// Never these.
    pub protected: Vec<String>,
}

/// A gate at a border: `EXECUTE.exit/syntax`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placed {
    /// Where.
    pub boundary: Boundary,
    /// Which.
    pub gate_id: String,
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.boundary, self.gate_id)
    }
}

impl GateRule {
    /// How long a command may take.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

impl Preset {
    /// Names it: 64 hex digits of SHA-256 over its canonical JSON.
    #[must_use]
    pub fn hash(&self) -> String {
        hash_of(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The gate of this name; the composite is one too.
    #[must_use]
    pub fn rule(&self, gate_id: &str) -> Option<GateRule> {
        if gate_id == gate_id::COMPOSITE {
            return Some(self.composite_rule());
        }
        self.gates.iter().find(|rule| rule.id == gate_id).cloned()
    }

    /// All gates, the composite last.
    #[must_use]
    pub fn rules(&self) -> Vec<GateRule> {
        self.gates.iter().cloned().chain([self.composite_rule()]).collect()
    }

    /// The gates that a step takes, in the order of their texts.
    #[must_use]
    pub fn required(&self, transition: Transition) -> Vec<Placed> {
        let mut required: Vec<_> = transition.boundaries().into_iter().flat_map(|at| self.placed(at)).collect();
        required.sort_by_key(ToString::to_string);
        required
    }

    /// The gates at one border.
    fn placed(&self, boundary: Boundary) -> Vec<Placed> {
        let here = self.rules().into_iter().filter(|rule| rule.at.contains(&boundary));
        here.map(|rule| Placed { boundary, gate_id: rule.id }).collect()
    }

    fn composite_rule(&self) -> GateRule {
        GateRule {
            id: gate_id::COMPOSITE.to_owned(),
            threshold: self.composite.threshold,
            blocker: true,
            at: builtin::places(gate_id::COMPOSITE),
            command: None,
            timeout_ms: file::DEFAULT_TIMEOUT_MS,
            when_not_applicable: NotApplicable::Escalate,
        }
    }
}

/// SHA-256 of the canonical JSON of a value.
pub(super) fn hash_of(value: &Value) -> String {
    let digest = Sha256::digest(r1_protocol::canonical::to_vec(value));
    r1_event::id::to_hex(&digest)
}
