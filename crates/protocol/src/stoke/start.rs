//! What a run's first event says: the lines that open its stream.

use r1_event::payload::RunStarted;
use serde_json::{Value, json};

use crate::data::Object;
use crate::json;

/// The longest title of a session, in characters.
const MAX_TITLE: usize = 120;

/// `system`/`init`: with what the agent begins.
pub(super) fn init(started: &RunStarted) -> Object {
    let spec = started.spec.as_ref().map(json::from_raw).unwrap_or_default();
    let workspace = started.workspace.as_ref().map(json::from_raw).unwrap_or_default();
    let tools: Vec<_> = started.tool_schemas.iter().flatten().map(|tool| tool.name.as_str()).collect();
    let mut init = Object::new();
    let mut put = |key: &str, value: Value| init.insert(key.into(), value);
    put("subtype", "init".into());
    if let Some(path) = workspace["path"].as_str().filter(|path| !path.is_empty()) {
        put("cwd", path.into());
    }
    put("tools", json!(tools));
    put("mcp_servers", mcp_servers(&spec));
    put("model", started.model_id.as_str().into());
    put("permissionMode", permission_mode(&spec).into());
    put("apiKeySource", spec["provider"]["key"]["env"].as_str().unwrap_or("none").into());
    put("output_style", "default".into());
    for key in ["slash_commands", "agents", "skills", "plugins"] {
        put(key, json!([]));
    }
    if !started.app_version.is_empty() {
        put("_stoke.dev/r1_version", started.app_version.as_str().into());
    }
    init
}

/// The body of `stoke.session.start` for a run that is its own session.
pub(super) fn session_start(started: &RunStarted) -> Object {
    let title = Some(&started.goal).filter(|goal| !goal.is_empty()).or(started.title.as_ref());
    let mut body = Object::new();
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        body.insert("title".into(), title.chars().take(MAX_TITLE).collect::<String>().into());
    }
    body.insert("task_count".into(), 1.into());
    body
}

/// A server whose tools are offered was reached; the others were not.
fn mcp_servers(spec: &Value) -> Value {
    let offers = |server: &Value| {
        let tools = spec["tools"].as_array().into_iter().flatten();
        tools.into_iter().any(|tool| tool["mcp"][0] == *server)
    };
    let status = |name: &Value| if offers(name) { "connected" } else { "failed" };
    let servers = spec["mcp_servers"].as_array().into_iter().flatten();
    servers.map(|server| json!({ "name": server["name"], "status": status(&server["name"]) })).collect()
}

fn permission_mode(spec: &Value) -> &'static str {
    match spec["approval"].as_str() {
        Some("edits") => "acceptEdits",
        Some("read-only" | "read_only") => "plan",
        Some("full") => "bypassPermissions",
        _ => "default",
    }
}
