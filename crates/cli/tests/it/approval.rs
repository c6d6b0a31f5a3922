//! `r1 approve`, for a run that another process works on.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use r1_event::RunId;
use r1_runtime::Home;
use r1_runtime::agent::RunSpec;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::engine::{Claim, Engine};
use r1_runtime::location::{Purpose, StoreLocation};
use r1_runtime::machine::Machine;
use r1_runtime::net::NetConfig;
use r1_runtime::process::Limits;
use r1_runtime::provider::{ProviderSpec, Scenario};
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};
use r1_runtime::sandbox::SandboxMode;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::Sandbox;

const EDITS: &str = "
turns:
  - tool_calls: [{ tool: edit, input: { path: note.txt, old_string: hello, new_string: goodbye } }]
  - text: Done.
";

/// A run that will edit a file once a person allows it, and that nobody works on yet.
pub(crate) async fn wanted(sandbox: &Sandbox) -> (RunId, Engine) {
    wanted_with(sandbox, EDITS, |_| {}).await
}

/// A run of this script that nobody works on yet.
pub(crate) async fn wanted_with(sandbox: &Sandbox, script: &str, change: impl FnOnce(&mut RunSpec)) -> (RunId, Engine) {
    let workspace = sandbox.path("project");
    fs::create_dir(&workspace).unwrap();
    fs::write(workspace.join("note.txt"), "hello\n").unwrap();
    let home = Home::at(sandbox.home());
    home.create().unwrap();
    let machine = Arc::new(Machine {
        environment: Arc::new(|_| None),
        server_env: BTreeMap::new(),
        program_env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        supervisor: None,
        sandbox: SandboxMode::Auto,
        readable: Vec::new(),
        writable: Vec::new(),
        limits: Limits::default(),
        net: NetConfig::default(),
        search: None,
    });
    let store = StoreLocation::parse(None, &home).open(Purpose::Create).await.unwrap();
    let redactor = Redactor::new(RedactionKey::load_or_mint(&home).unwrap(), &Secrets::default()).unwrap();
    let engine =
        Engine::new(store, machine.clone(), Arc::new(redactor), home.path().join("snapshots"), None, "test".into());
    let (tools, _) = machine.tool_specs(&workspace, &[]).await.unwrap();
    let provider = ProviderSpec::scripted(Scenario::parse(script).unwrap());
    let mut spec = RunSpec { provider, tools, ..RunSpec::default() };
    change(&mut spec);
    let new = NewRun {
        prompt: "say goodbye".into(),
        spec,
        model: "scripted".into(),
        workspace_path: workspace.to_string_lossy().into_owned(),
        workspace_mode: "in_place".into(),
        ..NewRun::default()
    };
    let run = create(&engine, new, true, &Caller::default()).await.unwrap();
    (run, engine)
}

/// A run that this process works on and that waits for a person.
async fn waiting(sandbox: &Sandbox) -> (RunId, JoinHandle<()>) {
    let (run, engine) = wanted(sandbox).await;
    (run.clone(), work(run, engine))
}

/// Works on a run until it ends.
pub(crate) fn work(run: RunId, engine: Engine) -> JoinHandle<()> {
    tokio::spawn(async move {
        engine.work(&run, Claim::default(), CancellationToken::new()).await.unwrap();
        engine.store().close().await.unwrap();
    })
}

/// Asks from another process until something waits.
pub(crate) async fn question(sandbox: &Sandbox) -> Value {
    loop {
        let listed = tokio::task::block_in_place(|| sandbox.json(&["approve", "--json"]));
        if let Some(approval) = listed["approvals"].get(0) {
            return approval.clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_from_another_process_lets_the_call_run() {
    let sandbox = Sandbox::new();
    let (run, task) = waiting(&sandbox).await;
    let approval = question(&sandbox).await;
    assert_eq!(approval["run_id"], run.as_str());
    let shown = tokio::task::block_in_place(|| sandbox.ok(&["approve"]));
    assert!(shown.contains("┃ -hello") && shown.contains("┃ +goodbye"), "the diff is shown: {shown}");
    let id = approval["approval_id"].as_str().unwrap();
    let answered =
        tokio::task::block_in_place(|| sandbox.json(&["approve", &id[..20], "--scope", "session", "--json"]));
    assert_eq!(answered["decision"], "approved");
    task.await.unwrap();
    assert_eq!(fs::read_to_string(sandbox.path("project/note.txt")).unwrap(), "goodbye\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_is_heard_by_the_model_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let (_, task) = waiting(&sandbox).await;
    let approval = question(&sandbox).await;
    let id = approval["approval_id"].as_str().unwrap();
    let args = ["approve", id, "--reject", "--comment", "stay polite"];
    assert_eq!(tokio::task::block_in_place(|| sandbox.r1(&args)).code, 0);
    task.await.unwrap();
    assert_eq!(fs::read_to_string(sandbox.path("project/note.txt")).unwrap(), "hello\n");
    let log = sandbox.ok(&["log", "show", "last"]);
    assert!(log.contains("rejected by operator: stay polite") && log.contains("run.finished"), "{log}");
}
