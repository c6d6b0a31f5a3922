//! Telling other programs of this user that we are at work, and on what.

use std::path::Path;
use std::time::Duration;

use r1_event::payload::RunStarted;
use r1_event::{Kind, Payload, RunId, Seq};
use r1_protocol::RunFacts;
use r1_protocol::stoke::session_id;
use r1_runtime::control::stoke::{NodesError, keep_nodes};
use r1_runtime::session_file::{DIRECTORY, INTERVAL, Session, SessionFile, Status, VERSION, project_of};
use r1_runtime::trace::TraceParent;
use r1_runtime::world;
use r1_store::{PageLimit, SharedStore};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at, timeout};

use crate::context::Context;
use crate::exit::Exit;
use crate::output;

/// How long the last nodes of a run that has ended are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file that tells of us, for as long as we are at work.
pub(crate) struct Presence {
    ended: oneshot::Sender<Status>,
    task: JoinHandle<()>,
    nodes: Option<JoinHandle<Result<(), NodesError>>>,
}

impl Presence {
    /// Tells of the work on a run, and keeps the nodes of its receipt in the project if that wants them. Where
    /// that cannot be, nobody is told: the run is not worth less for it.
    pub(crate) async fn of_run(context: &Context, store: &SharedStore, run: &RunId) -> Option<Self> {
        let records = store.read(run, Seq::FIRST, PageLimit::ONE).await.ok()?.records;
        let first = records.first()?;
        let facts = RunFacts::of_first(first, None)?;
        let Ok(Payload::RunStarted(started)) = Payload::decode(Kind::RunStarted, first.payload.as_ref()?) else {
            return None;
        };
        let session = of_run(context, run, &facts, *started)?;
        let nodes = session.ledger_dir.clone().map(|directory| {
            let (store, run) = (store.clone(), run.clone());
            tokio::spawn(async move { keep_nodes(store, run, &directory.join("nodes")).await })
        });
        Some(Self { nodes, ..Self::begin(context, session)? })
    }

    /// Tells of a server for the project in `directory`.
    pub(crate) fn of_server(context: &Context, directory: &Path) -> Option<Self> {
        let place = TraceParent::mint(None).ok()?;
        Self::begin(context, of_process(context, directory, "serve", place.to_string()))
    }

    fn begin(context: &Context, session: Session) -> Option<Self> {
        let file = SessionFile::create(context.home.path(), session).ok()?;
        let (ended, end) = oneshot::channel();
        Some(Self { ended, task: tokio::spawn(keep(file, end)), nodes: None })
    }

    /// Tells how it ended. The store must still be open.
    pub(crate) async fn end(self, exit: Exit) {
        let status = match exit {
            Exit::Ok => Status::Completed,
            Exit::Aborted | Exit::Interrupted | Exit::Terminated | Exit::HungUp | Exit::PipeClosed => Status::Cancelled,
            Exit::Failed
            | Exit::Usage
            | Exit::Open
            | Exit::Budget
            | Exit::Escalated
            | Exit::NoDaemon
            | Exit::Untrusted
            | Exit::Incomplete => Status::Failed,
        };
        // The file is there to be found, and whoever wants to know how a run ended reads its log.
        let _ = self.ended.send(status);
        let _ = self.task.await;
        if let Some(mut nodes) = self.nodes {
            match timeout(PATIENCE, &mut nodes).await {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(err))) => output::print_error(&err.into()),
                // The run goes on elsewhere, or something broke: the nodes can be had again from the log.
                Ok(Err(_)) | Err(_) => nodes.abort(),
            }
        }
    }
}

async fn keep(mut file: SessionFile, mut end: oneshot::Receiver<Status>) {
    let mut interval = interval_at(Instant::now() + INTERVAL, INTERVAL);
    loop {
        let (status, is_over) = tokio::select! {
            _ = interval.tick() => (Status::Running, false),
            ended = &mut end => (ended.unwrap_or(Status::Failed), true),
        };
        let written = file.update(world::now(), status);
        if is_over || written.is_err() {
            return;
        }
    }
}

fn of_run(context: &Context, run: &RunId, facts: &RunFacts, started: RunStarted) -> Option<Session> {
    let workspace = started.workspace.as_ref().map(r1_protocol::json::from_raw).unwrap_or_default();
    let directory = Path::new(workspace["path"].as_str()?);
    Some(Session {
        session_id: Some(session_id(facts)).filter(|id| !id.is_empty()),
        ledger_dir: Some(project_of(directory).join(DIRECTORY)).filter(|at| at.is_dir()).map(|at| at.join("ledger")),
        run_id: Some(run.to_string()),
        model: Some(started.model_id).filter(|model| !model.is_empty()),
        ..of_process(context, directory, "run", started.trace_parent?)
    })
}

fn of_process(context: &Context, directory: &Path, mode: &str, trace_parent: String) -> Session {
    let now = world::now();
    Session {
        version: VERSION.into(),
        pid: std::process::id(),
        instance_id: context.instance.clone(),
        started_at: now.into(),
        updated_at: now.into(),
        repo_root: project_of(directory).into(),
        mode: mode.into(),
        status: Status::Running,
        session_id: None,
        run_id: None,
        model: None,
        trace_parent,
        stream_file: None,
        ledger_dir: None,
        store: context.location.shown(),
    }
}
