//! MCP servers as tools, against servers that speak the protocol over pipes and over HTTP.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use r1_event::Payload;
use r1_protocol::data::ToolKind;
use r1_runtime::artifact::Artifacts;
use r1_runtime::emit::{EmitRequest, Emitter};
use r1_runtime::mcp::{self, ConnectError, McpTool, ServerSpec, Servers};
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{Sandbox, SandboxConfig};
use r1_runtime::tool::{Failure, MAX_OUTPUT, Subject, Tool, ToolCall, ToolContext};
use r1_runtime::workspace::Workspace;
use r1_store::MemoryStore;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A server on its standard streams, in a language that every machine of a developer has.
const SERVER: &str = r#"
import json, os, subprocess, sys

def answer(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        answer(id, {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "test", "version": "1"}})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        names = ["echo", "env", "fail", "hang", "long", "die", "raise"]
        answer(id, {"tools": [{"name": n, "description": "does " + n, "inputSchema": schema} for n in names]})
    elif method == "tools/call":
        name, arguments = message["params"]["name"], message["params"].get("arguments", {})
        text = lambda t, **more: answer(id, {"content": [{"type": "text", "text": t}], **more})
        if name == "echo": text(arguments["text"])
        elif name == "env": text("\n".join(sorted(os.environ)))
        elif name == "fail": text("no such thing\nat all", isError=True)
        elif name == "long": text("x" * 200000)
        elif name == "die":
            subprocess.Popen(["sleep", "60"])
            os._exit(1)
        elif name == "raise":
            print(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "bad arguments"}}), flush=True)
    elif method == "notifications/cancelled":
        open("cancelled", "w").close()
"#;

fn stdio(name: &str) -> ServerSpec {
    let command = ["python3", "-c", SERVER].map(Into::into).to_vec();
    ServerSpec { name: name.into(), command, env: vec!["GIVEN".into()], ..ServerSpec::default() }
}

fn environment() -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    [("PATH", path.as_str()), ("GIVEN", "yes"), ("HIDDEN", "no"), ("MCP_TOKEN", "t0ken-value")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// A context whose events are collected.
async fn context(directory: &Path) -> (ToolContext, mpsc::UnboundedReceiver<Payload>) {
    let (events, mut requests) = Emitter::channel(16);
    let (seen, collected) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(EmitRequest { events, done }) = requests.recv().await {
            let ids = events.iter().map(|_| "evt_00000000000000000000000000".to_owned()).collect();
            events.into_iter().for_each(|event| drop(seen.send(event.payload)));
            let _ = done.send(ids);
        }
    });
    let redactor = Arc::new(Redactor::default());
    let sandbox = SandboxConfig { workspace: directory.to_owned(), ..SandboxConfig::default() };
    let store: r1_store::SharedStore = Arc::new(MemoryStore::new());
    let context = ToolContext {
        workspace: Arc::new(Workspace::open(directory).unwrap()),
        sandbox: Arc::new(Sandbox::detect(sandbox).await.unwrap()),
        artifacts: Artifacts::new(Arc::clone(&store), events.clone(), Arc::clone(&redactor)),
        memory: crate::tool_stage::no_memory(&store, &events, &redactor),
        events,
        redactor,
        cancel: CancellationToken::new(),
    };
    (context, collected)
}

fn call(input: Value) -> ToolCall {
    ToolCall {
        call_id: "call_1".into(),
        attempt: 1,
        turn_index: 0,
        input,
        prepared: Default::default(),
        event_id: "evt_00000000000000000000000000".into(),
    }
}

fn tool(servers: &Servers, name: &str) -> Arc<dyn Tool> {
    servers.tools().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no tool {name}"))
}

#[tokio::test]
async fn a_server_on_pipes_offers_its_tools_and_answers() {
    let directory = tempfile::tempdir().unwrap();
    let (context, _events) = context(directory.path()).await;
    let servers = mcp::connect(&[stdio("test")], &environment(), directory.path()).await;
    assert!(servers.unavailable().is_empty(), "{:?}", servers.unavailable());
    let echo = tool(&servers, "mcp__test__echo");
    let spec = echo.spec();
    assert_eq!((&spec.kind, spec.description.as_str()), (&ToolKind::Mcp, "does echo"));
    assert_eq!(spec.mcp, Some(("test".into(), "echo".into())));
    assert_eq!(spec.input_schema["type"], "object");
    assert_eq!(echo.subject(&json!({})).unwrap(), Subject::Mcp { server: "test".into(), tool: "echo".into() });
    assert!(echo.subject(&json!("text")).is_err());
    let output = echo.run(&call(json!({"text": "hällo"})), &context).await.unwrap();
    assert_eq!(output.output, json!("hällo"));

    let seen = tool(&servers, "mcp__test__env").run(&call(json!({})), &context).await.unwrap();
    let seen: Vec<_> = seen.output.as_str().unwrap().lines().map(str::to_owned).collect();
    assert!(seen.contains(&"GIVEN".into()) && seen.contains(&"PATH".into()), "{seen:?}");
    assert!(!seen.contains(&"HIDDEN".into()) && !seen.contains(&"MCP_TOKEN".into()), "{seen:?}");
    servers.close().await;
}

#[tokio::test]
async fn an_error_of_the_tool_is_told_from_a_refusal_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let (context, _events) = context(directory.path()).await;
    let servers = mcp::connect(&[stdio("test")], &environment(), directory.path()).await;
    let failed = tool(&servers, "mcp__test__fail").run(&call(json!({})), &context).await.unwrap_err();
    assert_eq!((failed.failure, failed.message.as_str()), (Failure::Tool, "no such thing"));
    assert_eq!(failed.output, Some(json!("no such thing\nat all")), "the model hears all of it");
    let refused = tool(&servers, "mcp__test__raise").run(&call(json!({})), &context).await.unwrap_err();
    assert!(refused.message.contains("bad arguments") && refused.output.is_none(), "{refused:?}");
}

#[tokio::test]
async fn what_a_model_cannot_take_whole_is_kept_as_an_artifact() {
    let directory = tempfile::tempdir().unwrap();
    let (context, mut events) = context(directory.path()).await;
    let servers = mcp::connect(&[stdio("test")], &environment(), directory.path()).await;
    let output = tool(&servers, "mcp__test__long").run(&call(json!({})), &context).await.unwrap();
    assert!(output.output.to_string().len() <= MAX_OUTPUT);
    assert!(output.artifact_id.is_some());
    let Payload::Typed(created) = events.recv().await.unwrap() else { panic!("not typed") };
    assert_eq!(created.r#type, "artifact.created");
}

#[tokio::test]
async fn a_call_ends_when_it_is_cancelled_or_takes_too_long() {
    let directory = tempfile::tempdir().unwrap();
    let (context, _events) = context(directory.path()).await;
    let impatient = ServerSpec { call_timeout_ms: 50, ..stdio("impatient") };
    let servers = mcp::connect(&[stdio("test"), impatient], &environment(), directory.path()).await;
    let late = tool(&servers, "mcp__impatient__hang").run(&call(json!({})), &context).await.unwrap_err();
    assert!(matches!(late.failure, Failure::TimedOut { after_ms } if after_ms >= 50), "{late:?}");
    let cancelled = context.cancel.clone();
    let hang = tool(&servers, "mcp__test__hang");
    let hanging = call(json!({}));
    let (ended, ()) = tokio::join!(hang.run(&hanging, &context), async { cancelled.cancel() });
    assert_eq!(ended.unwrap_err().failure, Failure::Cancelled);
}

#[tokio::test]
async fn a_server_that_dies_is_reported_and_takes_nothing_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (context, mut events) = context(directory.path()).await;
    let servers = mcp::connect(&[stdio("mortal"), stdio("other")], &environment(), directory.path()).await;
    let died = tool(&servers, "mcp__mortal__die").run(&call(json!({})), &context).await.unwrap_err();
    assert!(died.message.contains("`mortal` cannot be used"), "{died:?}");
    let Payload::Typed(event) = events.recv().await.unwrap() else { panic!("not typed") };
    assert_eq!(event.r#type, "error.tool_unavailable");
    let again = tool(&servers, "mcp__mortal__echo").run(&call(json!({"text": "x"})), &context).await.unwrap_err();
    assert!(again.message.contains("`mortal` cannot be used"), "{again:?}");
    assert!(tool(&servers, "mcp__other__echo").run(&call(json!({"text": "x"})), &context).await.is_ok());
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_named_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let missing = ServerSpec { command: vec!["/nowhere/server".into()], ..stdio("missing") };
    let silent = ServerSpec {
        command: ["python3", "-c", "import time; time.sleep(60)"].map(Into::into).to_vec(),
        connect_timeout_ms: 100,
        ..stdio("silent")
    };
    let other = ServerSpec { command: vec!["true".into()], ..stdio("other") };
    let tokenless = ServerSpec {
        url: Some("http://127.0.0.1:1/".into()),
        bearer_env: Some("NOT_SET".into()),
        command: vec![],
        ..stdio("tokenless")
    };
    let servers =
        mcp::connect(&[missing, silent, other, tokenless, stdio("fine")], &environment(), directory.path()).await;
    let reasons: Vec<_> = servers.unavailable().iter().map(|server| (server.server.as_str(), &server.error)).collect();
    assert!(
        matches!(
            reasons.as_slice(),
            [
                ("missing", ConnectError::Start { .. }),
                ("silent", ConnectError::TimedOut { .. }),
                ("other", ConnectError::Refused(_)),
                ("tokenless", ConnectError::Token(_)),
            ]
        ),
        "{reasons:?}"
    );
    assert_eq!(servers.tools().count(), 7);
}

#[tokio::test]
async fn a_recorded_tool_decides_but_does_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let (context, _events) = context(directory.path()).await;
    let servers = mcp::connect(&[stdio("test")], &environment(), directory.path()).await;
    let live = tool(&servers, "mcp__test__echo");
    let recorded = McpTool::recorded(live.spec()).unwrap();
    assert_eq!(recorded.spec(), live.spec());
    assert_eq!(recorded.subject(&json!({"text": "x"})).unwrap(), live.subject(&json!({"text": "x"})).unwrap());
    let refused = recorded.run(&call(json!({})), &context).await.unwrap_err();
    assert!(refused.message.contains("not connected"), "{refused:?}");
}

/// One answer to each POST, as JSON: the smallest server over HTTP that the protocol allows.
async fn post(headers: HeaderMap, Json(message): Json<Value>) -> Response {
    if headers.get("authorization").is_none_or(|value| value != "Bearer t0ken-value") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [], "structuredContent": {"sum": message["params"]["arguments"]["a"]}}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

#[tokio::test]
async fn a_server_over_http_gets_its_token_and_answers() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/mcp", routing::post(post).get(|| async { StatusCode::METHOD_NOT_ALLOWED }));
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let directory = tempfile::tempdir().unwrap();
    let (context, _events) = context(directory.path()).await;
    let url = Some(format!("http://{address}/mcp"));
    let open = ServerSpec {
        name: "web".into(),
        url: url.clone(),
        bearer_env: Some("MCP_TOKEN".into()),
        ..ServerSpec::default()
    };
    let closed = ServerSpec { name: "closed".into(), url, bearer_env: None, ..ServerSpec::default() };
    let servers = mcp::connect(&[open, closed], &environment(), directory.path()).await;
    assert_eq!(servers.unavailable().len(), 1);
    let add = tool(&servers, "mcp__web__add");
    let added = tokio::time::timeout(Duration::from_secs(10), add.run(&call(json!({"a": 3})), &context)).await.unwrap();
    assert_eq!(added.unwrap().output, json!({"sum": 3}));
    servers.close().await;
    server.abort();
}
