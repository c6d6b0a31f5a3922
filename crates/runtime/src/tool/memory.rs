//! What the agent remembers beyond its conversation.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::work::lost;
use super::{
    BadInput, Failure, MAX_OUTPUT, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input,
};
use crate::memory::{self, MemoryError, Tier};

/// The most keys that a list has.
const MAX_LISTED: usize = 1000;

/// The three tools.
#[must_use]
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(MemoryGet::new()), Arc::new(MemoryPut::new()), Arc::new(MemoryList::new())]
}

const TIERS: &str = "L0: who you are here (read only). L1: what matters to this task. L2: what this phase works \
    with; forgotten afterwards, and the least used first when there is too much. L3: what this workspace knows, for \
    all tasks to come.";

fn spec(name: &str, description: String, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        kind: ToolKind::Memory,
        description,
        input_schema: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
        idempotent: true,
        prepares: false,
        mcp: None,
    }
}

fn tier_of(text: &str) -> Result<Tier, BadInput> {
    text.parse().map_err(|err: memory::UnknownTier| BadInput(err.to_string()))
}

fn failed(err: MemoryError) -> ToolError {
    let failure = match &err {
        MemoryError::AppendOnly { .. } => Failure::Denied,
        MemoryError::Writer(_) => Failure::Cancelled,
        _ => Failure::Tool,
    };
    ToolError { failure, ..lost(err) }
}

/// Gives what stands under a key.
#[derive(Debug)]
pub struct MemoryGet {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    tier: String,
    key: String,
}

impl MemoryGet {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        let description = format!("Gives what is remembered under a key. {TIERS}");
        let properties = json!({
            "tier": { "type": "string", "enum": ["L0", "L1", "L2", "L3"] },
            "key": { "type": "string", "description": "Of L3: the key that memory_put gave, or an alias." },
        });
        Self { spec: spec("memory_get", description, properties, &["tier", "key"]) }
    }
}

impl Default for MemoryGet {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for MemoryGet {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let Get { tier, .. } = input::read(input)?;
        tier_of(&tier).map(|_| Subject::Internal)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Get { tier, key } = input::read(&call.input)?;
            let tier = tier_of(&tier)?;
            let found = context.memory.get(tier, &key, &call.call_id).await.map_err(failed)?;
            let (output, summary) = match found {
                None => (json!({ "found": false }), format!("{tier} has no `{key}`")),
                Some(value) => {
                    let size = value.bytes().len();
                    (shown(&value), format!("{tier} `{key}`, {size} bytes"))
                }
            };
            Ok(ToolOutput { output, summary, artifact_id: None })
        })
    }
}

/// What the model receives of a value.
fn shown(value: &memory::Value) -> Value {
    // What is longer would be cut anyway, and a cut JSON document is none.
    let most = MAX_OUTPUT - 1024;
    if value.bytes().len() <= most {
        return json!({ "found": true, "value": value.to_json() });
    }
    let text = String::from_utf8_lossy(value.bytes());
    let head = &text[..text.floor_char_boundary(most / 2)];
    json!({ "found": true, "size": value.bytes().len(), "beginning": head })
}

/// Remembers something.
#[derive(Debug)]
pub struct MemoryPut {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Put {
    tier: String,
    key: Option<String>,
    value: Value,
    alias: Option<String>,
}

impl MemoryPut {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        let description = format!(
            "Remembers a value: text, or any JSON. In L1 and L2 it replaces what was under the key. In L3 give no \
             key: it follows from the value and is returned; an alias is a name of your own for it. Secrets are \
             replaced before anything is kept. {TIERS}"
        );
        let properties = json!({
            "tier": { "type": "string", "enum": ["L1", "L2", "L3"] },
            "key": { "type": "string", "description": "Of L1 and L2; at most 512 bytes." },
            "value": { "description": "Text or any JSON." },
            "alias": { "type": "string", "description": "Of L3: a name for the value." },
        });
        Self { spec: spec("memory_put", description, properties, &["tier", "value"]) }
    }
}

impl Default for MemoryPut {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for MemoryPut {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let Put { tier, .. } = input::read(input)?;
        tier_of(&tier).map(|_| Subject::Internal)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Put { tier, key, value, alias } = input::read(&call.input)?;
            let tier = tier_of(&tier)?;
            let value = memory::Value::of_json(&value);
            let put = context.memory.put(tier, key.as_deref(), value, alias.as_deref(), &call.call_id);
            let key = put.await.map_err(failed)?;
            let summary = format!("{tier} `{key}`");
            Ok(ToolOutput { output: json!({ "key": key }), summary, artifact_id: None })
        })
    }
}

/// Lists keys.
#[derive(Debug)]
pub struct MemoryList {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    tier: String,
    prefix: Option<String>,
}

impl MemoryList {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        let description = format!("Lists what is remembered: keys and sizes, not values. {TIERS}");
        let properties = json!({
            "tier": { "type": "string", "enum": ["L0", "L1", "L2", "L3"] },
            "prefix": { "type": "string", "description": "Only keys that begin so." },
        });
        Self { spec: spec("memory_list", description, properties, &["tier"]) }
    }
}

impl Default for MemoryList {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for MemoryList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let List { tier, .. } = input::read(input)?;
        tier_of(&tier).map(|_| Subject::Internal)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let List { tier, prefix } = input::read(&call.input)?;
            let tier = tier_of(&tier)?;
            let prefix = prefix.unwrap_or_default();
            let listed = context.memory.list(tier, &prefix, &call.call_id).await.map_err(failed)?;
            let entry = |listed: &memory::Listed| match &listed.target {
                Some(target) => json!({ "alias": listed.key, "key": target }),
                None => json!({ "key": listed.key, "size": listed.size }),
            };
            let entries: Vec<_> = listed.iter().take(MAX_LISTED).map(entry).collect();
            let mut output = json!({ "entries": entries });
            if listed.len() > MAX_LISTED {
                output["left_out"] = (listed.len() - MAX_LISTED).into();
            }
            let summary = format!("{} in {tier}", listed.len());
            Ok(ToolOutput { output, summary, artifact_id: None })
        })
    }
}
