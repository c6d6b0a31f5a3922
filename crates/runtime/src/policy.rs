//! Which tool calls run, which are asked about, which are refused.
//!
//! [`Policy::decide`] is pure: rules, grants and situation come from the log, so a replay decides the
//! same. Rules are tried in the order of their file and the first that matches counts; where none does,
//! the [`ApprovalMode`] says what happens. A line for a shell is taken apart first: to be allowed, each
//! command in it must be; to be denied, one is enough.

mod command;
mod grant;
mod pattern;
mod rule;
mod shell;

use r1_event::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::{Subject, ToolSpec};

pub use grant::{Grant, Grants};
pub use rule::{Action, Approver, BadRule, Rule};

use command::CommandLine;

/// The rules of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Tried in this order.
    #[serde(rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Which models are not used, and which instead; the first that matches counts.
    #[serde(rename = "model", skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRule>,
}

/// A model that is not to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRule {
    /// Its name: it stands in the log as `policy_id`.
    pub id: String,
    /// The model asked for; `*` stands for anything.
    pub model: String,
    /// The one that is used instead.
    pub instead: String,
    /// What people are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How much is allowed where no rule says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Reading, and edits in a workspace of the run's own; the rest is asked.
    #[default]
    Ask,
    /// Edits in every workspace; the rest is asked.
    Edits,
    /// Reading only: edits are refused, the rest needs a rule that allows it.
    ReadOnly,
    /// Everything but what a rule asks about or denies.
    Full,
}

impl ApprovalMode {
    /// The word in settings and flags.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::ReadOnly => "read-only",
            Self::Full => "full",
        }
    }
}

/// What is known about a run when one of its calls is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// clone, worktree, in_place or none.
    pub workspace_mode: String,
    /// Whether nobody is there to be asked.
    pub unattended: bool,
    /// Whether what the call would write seems to hold a secret.
    pub contains_secrets: bool,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It runs; nothing else was ever in question.
    Run,
    /// It runs, though it would have been asked about.
    Allowed {
        /// Why.
        reason: String,
        /// The rule.
        policy_id: Option<String>,
        /// The approval that allowed it for the session.
        grant_approval_id: Option<String>,
    },
    /// A person decides.
    Ask {
        /// Why.
        reason: String,
        /// The rule.
        policy_id: Option<String>,
        /// Who may answer.
        approver: Approver,
    },
    /// It does not run.
    Deny {
        /// Why; the model reads it.
        reason: String,
        /// The rule.
        policy_id: Option<String>,
    },
}

impl Policy {
    /// The rule that wants another model than this one.
    #[must_use]
    pub fn model_instead_of(&self, model: &str) -> Option<&ModelRule> {
        let rule = self.models.iter().find(|rule| pattern::matches(&rule.model, model, None));
        rule.filter(|rule| rule.instead != model)
    }

    /// Decides about one call.
    #[must_use]
    pub fn decide(&self, tool: &ToolSpec, subject: &Subject, grants: &Grants, situation: &Situation) -> Ruling {
        let rule = self.first_match(tool, subject);
        if let Some(rule) = rule.filter(|rule| rule.action == Action::Deny) {
            return Ruling::Deny { reason: rule.explain(), policy_id: Some(rule.id.clone()) };
        }
        if situation.contains_secrets && matches!(subject, Subject::Edit { .. }) {
            let reason = "the change seems to contain a secret; a person must look at it";
            return ask(reason.into(), None, Approver::Human, situation);
        }
        let standard = standard(subject, situation);
        if let Standard::Deny(reason) = &standard
            && (matches!(subject, Subject::Edit { .. }) || rule.is_none_or(|rule| rule.action != Action::Allow))
        {
            return Ruling::Deny { reason: (*reason).into(), policy_id: None };
        }
        let (reason, policy_id, approver) = match rule {
            Some(rule) if rule.action == Action::Allow => {
                return match standard {
                    Standard::Run => Ruling::Run,
                    Standard::Ask(_) | Standard::Deny(_) => Ruling::Allowed {
                        reason: rule.explain(),
                        policy_id: Some(rule.id.clone()),
                        grant_approval_id: None,
                    },
                };
            }
            Some(rule) => (rule.explain(), Some(rule.id.clone()), rule.approver),
            None => match standard {
                Standard::Run => return Ruling::Run,
                Standard::Ask(reason) | Standard::Deny(reason) => (reason.into(), None, Approver::Any),
            },
        };
        if let Some(approval) = grants.covering(&tool.name, subject) {
            return Ruling::Allowed {
                reason: "a person allowed it for this session".into(),
                policy_id: None,
                grant_approval_id: Some(approval.to_owned()),
            };
        }
        ask(reason, policy_id, approver, situation)
    }

    /// The rule that counts for a call.
    fn first_match(&self, tool: &ToolSpec, subject: &Subject) -> Option<&Rule> {
        let Subject::Command { argv, .. } = subject else {
            return self.rules.iter().find(|rule| rule.matches(&tool.name, subject));
        };
        let line = CommandLine::of(argv);
        let mut strictest: Option<&Rule> = None;
        let mut all_allowed = line.is_transparent;
        for command in &line.commands {
            let is_match = |rule: &&Rule| rule.matches_command(&tool.name, command);
            match self.rules.iter().find(is_match) {
                Some(rule) => {
                    all_allowed &= rule.action == Action::Allow;
                    if strictest.is_none_or(|strictest| rule.action > strictest.action) {
                        strictest = Some(rule);
                    }
                }
                None => all_allowed = false,
            }
        }
        strictest.filter(|rule| rule.action != Action::Allow || all_allowed)
    }
}

/// Names a call by what it would do: BLAKE3 of the tool's name and its canonical input.
#[must_use]
pub fn subject_hash(tool: &str, input: &Value) -> Digest {
    let mut subject = tool.as_bytes().to_vec();
    // An input that came as JSON has a canonical form; the plain one is as good a name if it had not.
    subject.extend(serde_json_canonicalizer::to_vec(input).unwrap_or_else(|_| input.to_string().into_bytes()));
    Digest::blake3(&subject)
}

/// What happens where no rule says anything.
enum Standard {
    Run,
    Ask(&'static str),
    Deny(&'static str),
}

fn standard(subject: &Subject, situation: &Situation) -> Standard {
    let own_workspace = matches!(situation.workspace_mode.as_str(), "clone" | "worktree");
    let asked = match subject {
        Subject::Internal | Subject::Read { .. } | Subject::Command { reads_only: true, .. } => return Standard::Run,
        Subject::Edit { .. } => match situation.mode {
            ApprovalMode::Edits | ApprovalMode::Full => return Standard::Run,
            ApprovalMode::ReadOnly => return Standard::Deny("this run may only read"),
            ApprovalMode::Ask if own_workspace => return Standard::Run,
            ApprovalMode::Ask => "it changes files of yours",
        },
        Subject::Command { .. } => "it runs a program",
        Subject::Network { .. } => "it uses the network",
        Subject::Mcp { .. } => "it calls another server's tool",
    };
    match situation.mode {
        ApprovalMode::Full => Standard::Run,
        ApprovalMode::ReadOnly => Standard::Deny("this run may only read; a rule can allow more"),
        ApprovalMode::Ask | ApprovalMode::Edits => Standard::Ask(asked),
    }
}

fn ask(reason: String, policy_id: Option<String>, approver: Approver, situation: &Situation) -> Ruling {
    if situation.unattended {
        let reason = format!("nobody is there to approve it ({reason})");
        return Ruling::Deny { reason, policy_id };
    }
    Ruling::Ask { reason, policy_id, approver }
}

#[cfg(test)]
mod tests;
