//! A server on a free port of this machine, with a scripted model and a few tools behind it.

mod world;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use r1_event::RunId;
use r1_runtime::agent::RunSpec;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::engine::{Claim, Engine, EngineError, Outcome};
use r1_runtime::policy::ApprovalMode;
use r1_runtime::provider::{ProviderSpec, Scenario};
use r1_runtime::redact::Redactor;
use r1_server::access::{AccessSettings, OperatorToken};
use r1_server::listen::{Binding, Bound};
use r1_server::{App, Limits, Node, Settings, StreamOptions};
use r1_store::{MemoryStore, SharedStore};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use world::TestWorld;

/// The operator's token of every test.
pub(crate) const TOKEN: &str = "r1t_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A name, beside those of this machine, by which every server of a test is known.
pub(crate) const HOST: &str = "r1.example";

/// A server, and the engine behind it.
pub(crate) struct Server {
    pub(crate) app: Arc<App>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: SharedStore,
    pub(crate) world: Arc<TestWorld>,
    /// `http://127.0.0.1:…`
    pub(crate) url: String,
    client: reqwest::Client,
    dir: Arc<tempfile::TempDir>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// With an empty store in memory.
    pub(crate) async fn start() -> Self {
        Self::on(Arc::new(MemoryStore::new())).await
    }

    /// On this store.
    pub(crate) async fn on(store: SharedStore) -> Self {
        Self::of(store, Arc::new(tempfile::tempdir().unwrap()), "r1-00000001", settings()).await
    }

    /// With an empty store in memory, and set up in another way.
    pub(crate) async fn with(settings: Settings) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        Self::of(Arc::new(MemoryStore::new()), dir, "r1-00000001", settings).await
    }

    /// With an empty store in memory and other limits.
    pub(crate) async fn with_limits(limits: Limits) -> Self {
        Self::with(Settings { limits, ..settings() }).await
    }

    /// With an empty store in memory and other streams.
    pub(crate) async fn with_streams(streams: StreamOptions) -> Self {
        Self::with(Settings { streams, ..settings() }).await
    }

    /// Another node on the same store.
    pub(crate) async fn another_node(&self) -> Self {
        Self::of(self.store.clone(), self.dir.clone(), "r1-00000002", settings()).await
    }

    async fn of(store: SharedStore, dir: Arc<tempfile::TempDir>, instance: &str, settings: Settings) -> Self {
        let work = dir.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        let world = Arc::new(TestWorld::new(work));
        let redactor = Arc::new(Redactor::default());
        let snapshots = dir.path().join("snapshots");
        let engine =
            Arc::new(Engine::new(store.clone(), world.clone(), redactor, snapshots, None, instance.to_owned()));
        let app = Arc::new(App::new(engine.clone(), settings));
        let unix = dir.path().join(format!("{instance}.sock"));
        let tcp = "127.0.0.1:0".parse().ok();
        let bound = Bound::bind(&Binding { tcp, unix: Some(unix), ..Binding::default() }).await.unwrap();
        let url = format!("http://{}", bound.tcp_address().unwrap());
        let task = tokio::spawn(bound.serve(app.clone(), Duration::from_secs(5)));
        Self { app, engine, store, world, url, client: client(), dir, task }
    }

    /// Waits until nothing is served any more.
    pub(crate) async fn ended(&self) {
        while !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }

    /// A request with the operator's token.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(TOKEN)
    }

    /// A request from nobody.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Where the unix socket is.
    pub(crate) fn unix_socket(&self) -> PathBuf {
        self.dir.path().join(format!("{}.sock", self.engine.instance()))
    }

    /// What a GET gives.
    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    /// What a POST of JSON gives.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        request.body(body.to_string()).send().await.unwrap()
    }

    /// The JSON that a GET gives, which must go well.
    pub(crate) async fn json(&self, path: &str) -> Value {
        json_of(self.get(path).await, 200).await
    }

    /// Where tools work.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A run with this scenario (see docs/scripted.md), which nobody works on yet.
    pub(crate) async fn new_run(&self, scenario: &str) -> RunId {
        self.create(self.wanted(scenario)).await
    }

    /// What a run with this scenario is made from.
    pub(crate) fn wanted(&self, scenario: &str) -> NewRun {
        NewRun {
            prompt: "do it".into(),
            model: "script".into(),
            system_prompt: "be good".into(),
            workspace_path: self.workspace().to_str().unwrap().into(),
            workspace_mode: "in_place".into(),
            spec: RunSpec {
                provider: ProviderSpec::scripted(Scenario::parse(scenario).unwrap()),
                tools: self.world.specs(),
                approval: ApprovalMode::Full,
                ..RunSpec::default()
            },
            ..NewRun::default()
        }
    }

    pub(crate) async fn create(&self, new: NewRun) -> RunId {
        create(&self.engine, new, true, &Caller::default()).await.unwrap()
    }

    /// A run that has been worked on to its end.
    pub(crate) async fn finished_run(&self, scenario: &str) -> RunId {
        let run = self.new_run(scenario).await;
        self.engine.work(&run, Claim::default(), CancellationToken::new()).await.unwrap();
        run
    }

    /// Works on a run while the test does something else.
    pub(crate) fn work(&self, run: &RunId) -> tokio::task::JoinHandle<Result<Outcome, EngineError>> {
        let (engine, run) = (self.engine.clone(), run.clone());
        tokio::spawn(async move { engine.work(&run, Claim::default(), CancellationToken::new()).await })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// As servers of tests are set up.
pub(crate) fn settings() -> Settings {
    Settings {
        access: AccessSettings {
            operator: OperatorToken::given(TOKEN).unwrap(),
            operator_name: "ada".into(),
            allow_hosts: vec![HOST.into()],
            allow_origins: vec!["https://ui.example".into()],
            behind_proxy: false,
        },
        limits: Limits::default(),
        node: Node {
            started_at: r1_event::UnixNanos(0),
            worker_slots: 4,
            busy: Arc::default(),
            sandbox_layer: "none".into(),
        },
        streams: StreamOptions::default(),
    }
}

/// Follows no redirects and uses no proxy: tests look at what the server itself says.
fn client() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap()
}

/// The JSON of an answer, which must have this status.
pub(crate) async fn json_of(answer: Response, status: u16) -> Value {
    let (found, text) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|err| panic!("{err}: {text}"))
}

/// The error in an answer, which must have this status and code.
pub(crate) async fn error_of(answer: Response, status: u16, code: &str) -> Value {
    let body = json_of(answer, status).await;
    let error = body["error"].clone();
    assert_eq!(error["code"], code, "{body}");
    assert!(error["message"].is_string() && error["retriable"].is_boolean(), "{body}");
    assert!(!error["request_id"].as_str().unwrap().is_empty(), "{body}");
    error
}
