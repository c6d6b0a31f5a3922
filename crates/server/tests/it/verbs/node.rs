//! A whole node: server, workers, and what new tasks are made with.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use r1_runtime::Home;
use r1_runtime::config::Given;
use r1_runtime::control::order::Shop;
use r1_runtime::engine::Engine;
use r1_runtime::machine::Machine;
use r1_runtime::net::NetConfig;
use r1_runtime::process::Limits as ProgramLimits;
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{SandboxLayer, SandboxMode};
use r1_runtime::workers::{Limits, Workers};
use r1_server::App;
use r1_server::listen::{Binding, Bound};
use r1_store::{MemoryStore, SharedStore};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{TOKEN, json_of, settings};

/// A node of R1 on this machine.
pub(super) struct Node {
    pub(super) engine: Arc<Engine>,
    pub(super) store: SharedStore,
    url: String,
    client: reqwest::Client,
    dir: Arc<tempfile::TempDir>,
    stop: CancellationToken,
    _server: tokio_util::task::AbortOnDropHandle<()>,
    _workers: tokio_util::task::AbortOnDropHandle<()>,
}

impl Node {
    /// A node whose provider plays `scenario`, with an empty store in memory.
    pub(super) async fn start(scenario: &str) -> Self {
        Self::with_slots(scenario, 4).await
    }

    /// The same, with so many workers.
    pub(super) async fn with_slots(scenario: &str, slots: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let script = dir.path().join("script.yaml");
        std::fs::write(&script, scenario).unwrap();
        let settings = format!(
            "[run]\nprovider = \"script\"\n[providers.script]\nwire = \"scripted\"\nscenario = {:?}\n",
            script.to_str().unwrap()
        );
        std::fs::write(dir.path().join("home/config.toml"), settings).unwrap();
        Self::of(Arc::new(MemoryStore::new()), Arc::new(dir), "r1-0000000a", slots).await
    }

    /// Another node on the same store, with so many workers.
    pub(super) async fn another(&self, slots: usize) -> Self {
        Self::of(self.store.clone(), self.dir.clone(), "r1-0000000b", slots).await
    }

    async fn of(store: SharedStore, dir: Arc<tempfile::TempDir>, instance: &str, slots: usize) -> Self {
        let machine = Arc::new(Machine {
            environment: Arc::new(|_| None),
            server_env: BTreeMap::new(),
            program_env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            supervisor: None,
            sandbox: SandboxMode::Only(SandboxLayer::None),
            readable: Vec::new(),
            writable: Vec::new(),
            limits: ProgramLimits::default(),
            net: NetConfig::default(),
            search: None,
        });
        let (redactor, snapshots) = (Arc::new(Redactor::default()), dir.path().join("home/snapshots"));
        let engine = Engine::new(store.clone(), machine.clone(), redactor, snapshots, None, instance.into())
            .with_patience(Duration::from_millis(50));
        let engine = Arc::new(engine);
        let workers = Workers::within(engine.clone(), Limits { slots, providers: HashMap::new() });
        let home = Home::at(dir.path().join("home"));
        let shop = Shop { machine, home, given: Given::default(), directory: dir.path().join("work") };
        let app = App::new(engine.clone(), settings()).with_shop(shop).with_workers(workers.foreman());
        let tcp = "127.0.0.1:0".parse().ok();
        let bound = Bound::bind(&Binding { tcp, ..Binding::default() }).await.unwrap();
        let url = format!("http://{}", bound.tcp_address().unwrap());
        let stop = CancellationToken::new();
        let _server =
            tokio_util::task::AbortOnDropHandle::new(tokio::spawn(bound.serve(Arc::new(app), Duration::ZERO)));
        let _workers = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(workers.run(stop.clone(), false)));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { engine, store, url, client, dir, stop, _server, _workers }
    }

    /// Its workers hand over what they have and take nothing more.
    pub(super) fn stop_working(&self) {
        self.stop.cancel();
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}/hecate/v1{path}", self.url)).bearer_auth(TOKEN)
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, body).await
    }

    pub(super) async fn send(&self, method: Method, path: &str, body: Value) -> Response {
        let request = self.request(method, path).header("content-type", "application/json");
        request.body(body.to_string()).send().await.unwrap()
    }

    /// The `data` of what a POST gives, which must go well.
    pub(super) async fn did(&self, path: &str, body: Value) -> Value {
        json_of(self.post(path, body).await, 200).await["data"].clone()
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        json_of(self.request(Method::GET, path).send().await.unwrap(), 200).await["data"].clone()
    }

    /// Makes a task, and gives it and its run's id.
    pub(super) async fn task(&self, wanted: Value) -> (Value, String) {
        let task = self.did("/tasks", wanted).await;
        let run = task["latest_run_id"].as_str().unwrap().to_owned();
        (task, run)
    }

    /// The run, once it has this status.
    pub(super) async fn until(&self, run: &str, status: &str) -> Value {
        self.until_run(run, |found| found["status"] == status).await
    }

    /// The run, once it is as wanted.
    pub(super) async fn until_run(&self, run: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut feed = self.store.watch_feed();
        loop {
            let found = self.get(&format!("/runs/{run}")).await;
            if wanted(&found) {
                return found;
            }
            let grown = tokio::time::timeout(Duration::from_secs(20), feed.grown()).await;
            assert!(grown.is_ok(), "the run stays {}", found["status"]);
        }
    }

    /// The only pending approval of a run, once there is one.
    pub(super) async fn approval(&self, run: &str) -> Value {
        self.until_run(run, |found| found["pending_approvals"] == 1).await;
        let found = self.get(&format!("/runs/{run}/approvals?status=pending")).await;
        found[0].clone()
    }

    /// Types of a run's events.
    pub(super) async fn types(&self, run: &str) -> Vec<String> {
        self.events(run).await.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) async fn events(&self, run: &str) -> Vec<Value> {
        self.get(&format!("/runs/{run}/events?limit=2000")).await.as_array().unwrap().clone()
    }
}

/// A script that asks for one command, and then is done.
pub(super) const ASKS: &str =
    "turns: [{tool_calls: [{tool: shell, input: {command: 'echo one >> out.txt'}}]}, {text: done}]";

/// A task for an agent.
pub(super) fn prompt() -> Value {
    json!({ "prompt": "go" })
}
