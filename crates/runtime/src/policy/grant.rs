//! What a person allowed until the session ends.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::tool::Subject;

/// Calls that need no further question: the same tool, and the same argv, URL origin, MCP tool or paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The tool's name.
    pub tool: String,
    /// Program and arguments, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Where it runs, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Scheme, host and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// `server/tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<String>,
    /// The files, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

impl Grant {
    /// What allowing this call for the session allows; `None` for a call that nothing else is like.
    #[must_use]
    pub fn of(tool: &str, subject: &Subject) -> Option<Self> {
        let grant = Self { tool: tool.into(), argv: None, cwd: None, origin: None, mcp: None, paths: None };
        Some(match subject {
            Subject::Internal => return None,
            Subject::Read { path } => Self { paths: Some(vec![path.clone()]), ..grant },
            Subject::Edit { paths } => Self { paths: Some(sorted(paths)), ..grant },
            Subject::Command { argv, cwd, .. } => Self { argv: Some(argv.clone()), cwd: Some(cwd.clone()), ..grant },
            Subject::Network { url, .. } => Self { origin: Some(origin(url)?), ..grant },
            Subject::Mcp { server, tool } => Self { mcp: Some(format!("{server}/{tool}")), ..grant },
        })
    }

    /// As `approval.resolved` has it.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        }
    }

    /// From `approval.resolved`; `None` if it is another producer's.
    #[must_use]
    pub fn from_json(grant: &Map<String, Value>) -> Option<Self> {
        serde_json::from_value(Value::Object(grant.clone())).ok()
    }
}

fn sorted(paths: &[String]) -> Vec<String> {
    let mut paths = paths.to_vec();
    paths.sort();
    paths.dedup();
    paths
}

fn origin(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.origin().ascii_serialization()).filter(|origin| origin != "null")
}

/// The grants of a session, by the approval that gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    grants: Vec<(String, Grant)>,
}

impl Grants {
    /// A person allowed it.
    pub fn add(&mut self, approval_id: &str, grant: Grant) {
        self.grants.push((approval_id.into(), grant));
    }

    /// A person took it back; whether there was anything to take.
    pub fn revoke(&mut self, approval_id: &str) -> bool {
        let before = self.grants.len();
        self.grants.retain(|(id, _)| id != approval_id);
        self.grants.len() < before
    }

    /// Approval and grant, in the order they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Grant)> {
        self.grants.iter().map(|(id, grant)| (id.as_str(), grant))
    }

    /// The approval that allows this call.
    #[must_use]
    pub fn covering(&self, tool: &str, subject: &Subject) -> Option<&str> {
        let wanted = Grant::of(tool, subject)?;
        self.iter().find(|(_, grant)| **grant == wanted).map(|(id, _)| id)
    }
}
