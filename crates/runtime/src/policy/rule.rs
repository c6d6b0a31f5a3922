//! One rule of the file.

use serde::{Deserialize, Serialize};
use url::Url;

use super::command::SimpleCommand;
use super::pattern;
use crate::tool::Subject;

/// Bytes of a rule's name, which stands in the log and in receipts.
const MAX_ID: usize = 256;

/// What to do with calls that match. Everything that is given must match; nothing given matches all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name: it stands in the log as `policy_id`.
    pub id: String,
    /// What happens.
    pub action: Action,
    /// The tool's name; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How the command begins, word by word; `*` stands for anything within a word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The file, relative to the workspace; `*` within a directory, `**` across directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The host of the URL; `*.example.com` is every host below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// `server/tool`; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<String>,
    /// Who may answer, if asked.
    #[serde(default)]
    pub approver: Approver,
    /// What people and the model are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a rule does; the stricter is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The call runs.
    Allow,
    /// A person decides.
    Ask,
    /// The call does not run.
    Deny,
}

/// Who may answer a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approver {
    /// Whoever may approve.
    #[default]
    Any,
    /// A person only, never another agent.
    Human,
}

impl Approver {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Human => "human",
        }
    }
}

impl Rule {
    /// Whether it can be used as it is.
    pub fn check(&self) -> Result<(), BadRule> {
        if self.id.trim().is_empty() {
            return Err(BadRule::NoId);
        }
        if self.id.len() > MAX_ID {
            return Err(BadRule::LongId { bytes: self.id.len() });
        }
        if self.command.iter().any(|prefix| prefix.trim().is_empty()) {
            return Err(BadRule::EmptyCommand { id: self.id.clone() });
        }
        if self.mcp.as_ref().is_some_and(|mcp| !mcp.contains('/')) {
            return Err(BadRule::McpForm { id: self.id.clone() });
        }
        Ok(())
    }

    /// Why, for people and for the model.
    pub(super) fn explain(&self) -> String {
        self.reason.clone().unwrap_or_else(|| format!("rule `{}`", self.id))
    }

    /// Whether it is about this call, which runs no command.
    pub(super) fn matches(&self, tool: &str, subject: &Subject) -> bool {
        self.is_for_tool(tool)
            && self.command.is_empty()
            && self.matches_paths(subject)
            && self.host.as_ref().is_none_or(|host| matches_host(host, subject))
            && self.mcp.as_ref().is_none_or(|mcp| matches_mcp(mcp, subject))
    }

    /// Whether it is about this command, one of those that a call would run.
    pub(super) fn matches_command(&self, tool: &str, command: &SimpleCommand) -> bool {
        let is_about_commands = self.path.is_none() && self.host.is_none() && self.mcp.is_none();
        let is_match = |prefix: &String| match self.action {
            Action::Allow => command.is_plainly(prefix),
            Action::Ask | Action::Deny => command.may_be(prefix),
        };
        self.is_for_tool(tool) && is_about_commands && (self.command.is_empty() || self.command.iter().any(is_match))
    }

    fn is_for_tool(&self, tool: &str) -> bool {
        self.tool.as_ref().is_none_or(|pattern| pattern::matches(pattern, tool, None))
    }

    /// Allowing takes all of the paths, anything stricter one of them.
    fn matches_paths(&self, subject: &Subject) -> bool {
        let Some(pattern) = &self.path else { return true };
        let is_match = |path: &String| pattern::matches(pattern, path, Some('/'));
        match (subject, self.action) {
            (Subject::Read { path }, _) => is_match(path),
            (Subject::Edit { paths }, Action::Allow) => !paths.is_empty() && paths.iter().all(is_match),
            (Subject::Edit { paths }, Action::Ask | Action::Deny) => paths.iter().any(is_match),
            (Subject::Internal | Subject::Command { .. } | Subject::Network { .. } | Subject::Mcp { .. }, _) => false,
        }
    }
}

fn matches_host(pattern: &str, subject: &Subject) -> bool {
    let Subject::Network { url, .. } = subject else { return false };
    let Ok(url) = Url::parse(url) else { return false };
    url.host_str().is_some_and(|host| pattern::matches(&pattern.to_ascii_lowercase(), host, None))
}

fn matches_mcp(pattern: &str, subject: &Subject) -> bool {
    let Subject::Mcp { server, tool } = subject else { return false };
    pattern::matches(pattern, &format!("{server}/{tool}"), None)
}

/// A rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// It has no name.
    #[error("a policy rule needs an `id`: it stands in the log for every call that it decides")]
    NoId,
    /// Its name is no name.
    #[error("a policy rule has an `id` of {bytes} bytes; give it one of at most {MAX_ID}")]
    LongId {
        /// How many.
        bytes: usize,
    },
    /// A prefix of nothing matches everything.
    #[error("rule `{id}` has an empty `command`; leave the key out to match every command")]
    EmptyCommand {
        /// Which.
        id: String,
    },
    /// Not `server/tool`.
    #[error("`mcp` of rule `{id}` must be `server/tool`, for example `github/*`")]
    McpForm {
        /// Which.
        id: String,
    },
    /// Two rules have one name.
    #[error("two policy rules have the id `{id}`; give one of them another")]
    Twice {
        /// Which.
        id: String,
    },
}

impl super::Policy {
    /// Whether all of its rules can be used as they are.
    pub fn check(&self) -> Result<(), BadRule> {
        for (at, rule) in self.rules.iter().enumerate() {
            rule.check()?;
            if self.rules[..at].iter().any(|earlier| earlier.id == rule.id) {
                return Err(BadRule::Twice { id: rule.id.clone() });
            }
        }
        Ok(())
    }
}
