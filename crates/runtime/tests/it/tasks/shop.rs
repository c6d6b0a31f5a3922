//! A machine with settings, a store, and workers that play scripts.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::StreamExt;
use r1_event::{Record, RunId, Seq};
use r1_protocol::api::{NewTask, WorkspaceRequest};
use r1_runtime::Home;
use r1_runtime::agent::{RunState, Toolset};
use r1_runtime::config::Given;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::order::Shop;
use r1_runtime::control::task::{self, TaskError};
use r1_runtime::engine::{Claim, Engine, Outcome};
use r1_runtime::machine::Machine;
use r1_runtime::net::NetConfig;
use r1_runtime::process::Limits;
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};
use r1_runtime::replay::replay;
use r1_runtime::sandbox::{SandboxLayer, SandboxMode};
use r1_store::{MemoryStore, Pages, SharedStore};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A secret that the machine knows.
pub(super) const SECRET: &str = "correct-horse-battery";

pub(super) struct House {
    pub(super) engine: Arc<Engine>,
    pub(super) shop: Shop,
    pub(super) store: SharedStore,
    pub(super) dir: tempfile::TempDir,
}

impl House {
    /// A house whose provider plays `scenario`.
    pub(super) fn new(scenario: &str) -> Self {
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
        let machine = Arc::new(Machine {
            environment: Arc::new(|_| None),
            server_env: BTreeMap::new(),
            program_env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            supervisor: None,
            sandbox: SandboxMode::Only(SandboxLayer::None),
            readable: Vec::new(),
            writable: Vec::new(),
            limits: Limits::default(),
            net: NetConfig::default(),
            search: None,
        });
        let store: SharedStore = Arc::new(MemoryStore::new());
        let mut secrets = Secrets::default();
        secrets.add(SECRET);
        let redactor = Redactor::new(RedactionKey::new([7; 32]), &secrets).unwrap();
        let snapshots = dir.path().join("home/snapshots");
        let engine =
            Engine::new(store.clone(), machine.clone(), Arc::new(redactor), snapshots, None, "r1-0000000a".into());
        let home = Home::at(dir.path().join("home"));
        let shop = Shop { machine, home, given: Given::default(), directory: dir.path().join("work") };
        Self { engine: Arc::new(engine), shop, store, dir }
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(super) async fn make(&self, wanted: NewTask) -> Result<RunId, TaskError> {
        task::make(&self.engine, &self.shop, wanted, None, &Caller::default()).await
    }

    /// Makes a task and works on its run to its end.
    pub(super) async fn play(&self, wanted: NewTask) -> RunId {
        let run = self.make(wanted).await.unwrap();
        self.finish(&run).await;
        run
    }

    pub(super) async fn finish(&self, run: &RunId) {
        let outcome = self.engine.work(run, Claim::default(), CancellationToken::new()).await.unwrap();
        assert!(matches!(outcome, Outcome::Ended(_)), "{outcome:?}");
        self.check(run).await;
    }

    /// What holds for every run that has ended.
    pub(super) async fn check(&self, run: &RunId) {
        let problems = r1_protocol::conformance::problems(&self.records(run).await, &[]);
        assert!(problems.is_empty(), "{problems:#?}");
        let report = replay(&self.store, run, Toolset::recorded).await.unwrap();
        assert_eq!(report.divergence, None);
    }

    pub(super) async fn records(&self, run: &RunId) -> Vec<Record> {
        Pages::of_all(&*self.store, run).to_end().await.unwrap()
    }

    pub(super) async fn state(&self, run: &RunId) -> RunState {
        r1_runtime::history::load(&self.store, run).await.unwrap()
    }

    /// Types and data of a run's events.
    pub(super) async fn events(&self, run: &RunId) -> Vec<(String, Value)> {
        let records = self.records(run).await;
        let facts = r1_protocol::RunFacts::of_first(&records[0], None).unwrap();
        let envelope = |record: &Record| {
            let bytes = facts.envelope(record, None, r1_protocol::Thinking::Shown).unwrap().to_bytes();
            let envelope: Value = serde_json::from_slice(&bytes).unwrap();
            (envelope["type"].as_str().unwrap().to_owned(), envelope["data"].clone())
        };
        records.iter().map(envelope).collect()
    }

    pub(super) async fn types(&self, run: &RunId) -> Vec<String> {
        self.events(run).await.into_iter().map(|(type_name, _)| type_name).collect()
    }

    /// Waits until an event of this type is in the log.
    pub(super) async fn until(&self, run: &RunId, wanted: &str) {
        let mut events = std::pin::pin!(r1_store::tail(self.store.clone(), run.clone(), Seq::FIRST));
        while let Some(record) = events.next().await {
            let record = record.unwrap();
            let kind = record.header().unwrap().kind;
            if r1_event::projection::type_of(r1_event::Version::V2, kind, record.payload.as_ref()) == wanted {
                return;
            }
        }
        panic!("the run ended without {wanted}");
    }
}

/// A task for an agent.
pub(super) fn prompt(text: &str) -> NewTask {
    NewTask { prompt: Some(text.into()), ..NewTask::default() }
}

/// With a workspace in this mode.
pub(super) fn in_mode(wanted: NewTask, mode: &str) -> NewTask {
    let workspace = WorkspaceRequest { mode: Some(mode.into()), ..WorkspaceRequest::default() };
    NewTask { workspace: Some(workspace), ..wanted }
}

/// Limits with so many slots.
pub(super) fn slots(slots: usize) -> r1_runtime::workers::Limits {
    r1_runtime::workers::Limits { slots, providers: HashMap::new() }
}
