//! Every event type that R1 promises to write is written by a real run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use r1_event::{Record, RunId};
use r1_protocol::registry::{self, Status};
use r1_runtime::agent::command::{Command, Decision, Resolution, Scope};
use r1_runtime::agent::{Budget, RunSpec, Toolset};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::command;
use r1_runtime::control::create::{Attachment, NewRun, create};
use r1_runtime::control::go_on::{Changes, resume};
use r1_runtime::engine::{Claim, Engine};
use r1_runtime::machine::{Machine, SearchSettings};
use r1_runtime::net::NetConfig;
use r1_runtime::policy::{ApprovalMode, ModelRule};
use r1_runtime::process::Limits;
use r1_runtime::provider::{ProviderSpec, Scenario};
use r1_runtime::redact::Redactor;
use r1_runtime::replay::replay;
use r1_runtime::sandbox::{SandboxLayer, SandboxMode};
use r1_store::{MemoryStore, Pages, SharedStore};
use tokio_util::sync::CancellationToken;

use crate::net::serve;

/// Core types that no run has by its own doing: `gap.events_pruned` stands for events that are gone, and
/// `tool.file.*` is how other producers tell of edits.
const NOT_WRITTEN: &[&str] = &["gap.events_pruned", "tool.file.applied", "tool.file.patch", "tool.file.reverted"];

struct House {
    engine: Arc<Engine>,
    store: SharedStore,
    machine: Arc<Machine>,
    dir: tempfile::TempDir,
    seen: BTreeSet<String>,
}

impl House {
    fn new(search: String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let store: SharedStore = Arc::new(MemoryStore::new());
        let machine = Arc::new(Machine {
            environment: Arc::new(|_| None),
            server_env: BTreeMap::new(),
            program_env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            supervisor: None,
            sandbox: SandboxMode::Only(SandboxLayer::None),
            readable: Vec::new(),
            writable: Vec::new(),
            limits: Limits::default(),
            net: NetConfig { allow_private: vec!["127.0.0.1".into()], ..NetConfig::default() },
            search: Some(SearchSettings { name: "searxng".into(), url: Some(search), key_variable: None }),
        });
        let redactor = Arc::new(Redactor::default());
        let snapshots = dir.path().join("snapshots");
        let engine = Engine::new(store.clone(), machine.clone(), redactor, snapshots, None, "r1-0000000c".into());
        Self { engine: Arc::new(engine), store, machine, dir, seen: BTreeSet::new() }
    }

    async fn new_run(&self, scenario: &str) -> NewRun {
        let workspace = self.dir.path().join("work").canonicalize().unwrap();
        let (tools, missing) = self.machine.tool_specs(&workspace, &[]).await.unwrap();
        assert!(missing.is_empty());
        NewRun {
            prompt: "go".into(),
            model: "script".into(),
            workspace_path: workspace.to_str().unwrap().into(),
            workspace_mode: "in_place".into(),
            spec: RunSpec {
                provider: ProviderSpec::scripted(Scenario::parse(scenario).unwrap()),
                tools,
                approval: ApprovalMode::Full,
                ..RunSpec::default()
            },
            ..NewRun::default()
        }
    }

    async fn play(&mut self, new: NewRun) -> RunId {
        let run = create(&self.engine, new, true, &Caller::default()).await.unwrap();
        self.finish(&run).await;
        run
    }

    async fn finish(&mut self, run: &RunId) {
        self.engine.work(run, Claim::default(), CancellationToken::new()).await.unwrap();
        self.look(run).await;
    }

    /// Takes note of a run's events, and checks what holds for every run.
    async fn look(&mut self, run: &RunId) {
        let records = self.records(run).await;
        let problems = r1_protocol::conformance::problems(&records, &[]);
        assert!(problems.is_empty(), "{problems:#?}");
        let report = replay(&self.store, run, Toolset::recorded).await.unwrap();
        assert_eq!(report.divergence, None);
        self.seen.extend(records.iter().map(type_of));
    }

    async fn records(&self, run: &RunId) -> Vec<Record> {
        Pages::of_all(&*self.store, run).to_end().await.unwrap()
    }

    async fn until(&self, run: &RunId, type_name: &str) {
        while !self.records(run).await.iter().any(|record| type_of(record) == type_name) {
            tokio::task::yield_now().await;
        }
    }

    fn start(&self, run: &RunId) -> tokio::task::JoinHandle<()> {
        let (engine, run) = (self.engine.clone(), run.clone());
        tokio::spawn(async move {
            let _ = engine.work(&run, Claim::default(), CancellationToken::new()).await;
        })
    }
}

fn type_of(record: &Record) -> String {
    let kind = record.header().unwrap().kind;
    r1_event::projection::type_of(r1_event::Version::V2, kind, record.payload.as_ref()).into_owned()
}

/// One turn with these calls.
fn turn(calls: &[(&str, serde_json::Value)]) -> serde_json::Value {
    let calls: Vec<_> = calls.iter().map(|(tool, input)| serde_json::json!({ "tool": tool, "input": input })).collect();
    serde_json::json!({ "tool_calls": calls, "cost_micros_usd": 60 })
}

async fn every_tool(house: &mut House, server: &str) {
    use serde_json::json;
    let git = |args: &[&str]| ("git", json!({ "args": args }));
    let turns = [
        turn(&[("file_write", json!({ "path": "a.txt", "content": "one\ntwo\n" }))]),
        turn(&[("file_read", json!({ "path": "a.txt" })), ("glob", json!({ "pattern": "*.txt" }))]),
        turn(&[("edit", json!({ "path": "a.txt", "old_string": "one", "new_string": "uno" }))]),
        turn(&[(
            "multi_edit",
            json!({ "path": "a.txt", "edits": [
                { "old_string": "uno", "new_string": "eins" }, { "old_string": "two", "new_string": "zwei" },
            ] }),
        )]),
        turn(&[
            ("grep", json!({ "pattern": "zwei" })),
            ("todo_write", json!({ "todos": [{ "content": "rest", "status": "pending" }] })),
            git(&["init", "--quiet"]),
            ("shell", json!({ "command": "echo out; echo err >&2" })),
            ("shell", json!({ "command": "exit 7" })),
            ("shell", json!({ "command": "sleep 100", "timeout_ms": 100 })),
            ("http", json!({ "url": format!("http://{server}/page") })),
            ("web_fetch", json!({ "url": format!("http://{server}/page") })),
            ("web_search", json!({ "query": "leap year" })),
            ("nobody", json!({})),
        ]),
        json!({ "thinking": "so", "text": "done", "chunk_chars": 2, "cost_micros_usd": 1,
            "failures": [{ "kind": "status", "status": 529, "retry_after_ms": 0 }] }),
    ];
    let mut new = house.new_run(&json!({ "turns": turns }).to_string()).await;
    new.spec.checkpoint_events = 20;
    new.spec.budget = Budget { micros_usd: 350, warning_pct: vec![50], ..Budget::default() };
    new.attachments = vec![
        Attachment { name: "a.png".into(), mime: "image/png".into(), content: "PNG".into() },
        Attachment { name: "a.mp3".into(), mime: "audio/mpeg".into(), content: "MP3".into() },
    ];
    new.spec.policy.models.push(ModelRule {
        id: "cheap".into(),
        model: "script".into(),
        instead: "script-small".into(),
        reason: None,
    });
    house.play(new).await;
}

async fn people_and_limits(house: &mut House) {
    let ask = "turns: [{tool_calls: [{tool: shell, input: {command: 'true'}}]}, {text: done}]";
    for answer in [Some(Decision::Approve), Some(Decision::Reject), None] {
        let mut new = house.new_run(ask).await;
        new.spec.approval = ApprovalMode::Ask;
        new.spec.approval_timeout_s = if answer.is_some() { 60 } else { 1 };
        let run = create(&house.engine, new, true, &Caller::default()).await.unwrap();
        let work = house.start(&run);
        if let Some(decision) = answer {
            house.until(&run, "approval.requested").await;
            let state = r1_runtime::history::load(&house.store, &run).await.unwrap();
            let approval_id = state.approvals().next().unwrap().0.to_owned();
            let (comment, scope) = (String::new(), Scope::Once);
            let (subject_hash, edited_input) = (None, None);
            let resolve = Resolution { approval_id, decision, comment, scope, subject_hash, edited_input };
            let resolve = Command::Resolve(resolve);
            command(&house.engine, &run, resolve, &Caller::default()).await.unwrap();
        }
        work.await.unwrap();
        house.look(&run).await;
    }
    let mut denied = house.new_run(ask).await;
    denied.spec.approval = ApprovalMode::ReadOnly;
    house.play(denied).await;
    let mut poor = house.new_run("turns: [{text: no, cost_micros_usd: 9}]").await;
    poor.spec.budget = Budget { micros_usd: 5, ..Budget::default() };
    let poor = house.play(poor).await;
    let message = Some("again".into());
    let again =
        resume(&house.engine, &poor, Changes { message, ..Changes::default() }, &Caller::default()).await.unwrap();
    house.finish(&again).await;
}

async fn ends_and_seams(house: &mut House) {
    let slow = "turns: [{tool_calls: [{tool: shell, input: {command: 'sleep 100'}}]}, {text: done}]";
    let run = create(&house.engine, house.new_run(slow).await, true, &Caller::default()).await.unwrap();
    let work = house.start(&run);
    house.until(&run, "tool.shell.command").await;
    let cancel = Command::cancel("");
    command(&house.engine, &run, cancel.clone(), &Caller::default()).await.unwrap();
    work.await.unwrap();
    house.look(&run).await;

    let run = create(&house.engine, house.new_run(slow).await, true, &Caller::default()).await.unwrap();
    let work = house.start(&run);
    house.until(&run, "tool.started").await;
    work.abort();
    let _ = work.await;
    let lease = house.store.lease(&run).await.unwrap().unwrap();
    house.store.release(&lease).await.unwrap();
    house.finish(&run).await;
}

#[tokio::test]
async fn ep_05_every_core_and_tool_type_is_written_by_a_run() {
    let results = r#"{"results":[{"title":"Leap year","url":"http://example.com/","content":"A year"}]}"#;
    let server = serve(
        Router::new()
            .route("/page", get(|| async { Html("<h1>Leap</h1><p>Every fourth.</p>") }))
            .route("/search", get(move || async move { results })),
    )
    .await;
    let mut house = House::new(format!("http://{server}"));
    every_tool(&mut house, &server.to_string()).await;
    people_and_limits(&mut house).await;
    ends_and_seams(&mut house).await;
    let promised = registry::all().filter(|row| {
        let ours = row.status == Status::Core || (row.status == Status::Artifact && row.name.ends_with(".applied"));
        ours && !row.is_family() && !NOT_WRITTEN.contains(&row.name)
    });
    let missing: Vec<_> = promised.map(|row| row.name).filter(|name| !house.seen.contains(*name)).collect();
    assert!(missing.is_empty(), "no run has written {missing:#?}");
}
