//! What the file of a project may say that nobody vouched for.
//!
//! A cloned repository must not be able to allow itself anything, to start programs, to send code or keys
//! to a server of its choice, or to spend money. So from such a file only this counts: rules that ask or
//! deny, a stricter approval mode, smaller limits, more that is secret, and what is recorded. Everything
//! else is left out, and the user is told.

use std::fmt;

use toml::{Table, Value};

use super::settings::Config;
use crate::policy::ApprovalMode;

/// Something that a project's file says and may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The key, or `policy.rule` with the rule's id.
    pub key: String,
    /// Why.
    pub reason: &'static str,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of the project's file is ignored: {}", self.key, self.reason)
    }
}

impl Ignored {
    pub(super) fn trust() -> Self {
        Self { key: "trusted".into(), reason: "a project cannot trust itself" }
    }
}

const NOT_TRUSTED: &str = "its directory is not among `trusted` in your own settings";

/// Leaves in `table` only what makes things stricter than the user's settings.
pub(super) fn restrict(table: &mut Table, user: &Config) -> Vec<Ignored> {
    let mut ignored = Vec::new();
    let mut ignore = |key: String| ignored.push(Ignored { key, reason: NOT_TRUSTED });
    table.retain(|area, value| match (area, value) {
        ("run", Value::Table(run)) => {
            run.retain(|key, value| {
                keeps_run(key, value, user) || {
                    ignore(format!("run.{key}"));
                    false
                }
            });
            true
        }
        ("policy", Value::Table(policy)) => {
            if policy.remove("model").is_some() {
                ignore("policy.model".to_owned());
            }
            if let Some(Value::Array(rules)) = policy.get_mut("rule") {
                rules.retain(|rule| {
                    is_strict(rule) || {
                        ignore(format!("policy.rule {}", rule.get("id").and_then(Value::as_str).unwrap_or("?")));
                        false
                    }
                });
            }
            true
        }
        ("sandbox", Value::Table(sandbox)) => {
            sandbox.retain(|key, value| {
                keeps_sandbox(key, value) || {
                    ignore(format!("sandbox.{key}"));
                    false
                }
            });
            true
        }
        ("redaction" | "record", _) => true,
        (area, _) => {
            ignore(area.to_owned());
            false
        }
    });
    ignored
}

fn is_strict(rule: &Value) -> bool {
    matches!(rule.get("action").and_then(Value::as_str), Some("ask" | "deny"))
}

fn keeps_run(key: &str, value: &Value, user: &Config) -> bool {
    let at_most =
        |limit: u64| value.as_integer().and_then(|given| u64::try_from(given).ok()).is_some_and(|given| given <= limit);
    match key {
        "approve" => {
            let given = value.as_str();
            [ApprovalMode::ReadOnly, ApprovalMode::Ask, ApprovalMode::Edits, ApprovalMode::Full]
                .into_iter()
                .take_while(|mode| *mode != user.run.approve)
                .chain([user.run.approve])
                .any(|mode| given == Some(mode.as_str()))
        }
        "max_turns" => at_most(user.run.max_turns),
        "max_output_tokens" => at_most(user.run.max_output_tokens),
        "max_attempts" => at_most(user.run.max_attempts),
        "context_tokens" => at_most(user.run.context_tokens),
        // A heading with nothing below it.
        _ if value.as_table().is_some_and(Table::is_empty) => true,
        "workspace" => matches!(value.as_str(), Some("clone" | "worktree")),
        _ => false,
    }
}

fn keeps_sandbox(key: &str, value: &Value) -> bool {
    match key {
        "require" | "read_only" => value.as_bool() == Some(true),
        "network" => value.as_bool() == Some(false),
        _ => false,
    }
}
