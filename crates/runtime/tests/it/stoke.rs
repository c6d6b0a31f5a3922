//! A run printed as lines while it is written.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use r1_event::payload::{AssistantMessageCompleted, RunCompleted, RunStarted, TurnStarted};
use r1_event::{Payload, RunId, UnixNanos};
use r1_protocol::data::{ApprovalRequested, AssistantTextDelta, EventData as _, RunChildStarted};
use r1_protocol::stoke::Options;
use r1_runtime::agent::command::{Decision, Refusal, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::CommandError;
use r1_runtime::control::stoke::{
    Family, Outlet, OutletError, Pace, PrintError, Printer, Wanted, family, open_approvals, resolve,
};
use r1_runtime::policy::ApprovalMode;
use r1_runtime::writer::RunWriter;
use r1_store::{MemoryStore, SharedStore, SqliteOptions, SqliteStore};
use serde_json::Value;

use crate::engine::stage::Stage;

const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
const CHILD: &str = "run_01K0E8N2AB4T7V2W5X8Y1Z3A6C";

/// Where lines end up.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        bytes.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect()
    }
}

async fn append(store: &SharedStore, run: &str, payloads: Vec<Payload>) {
    let run: RunId = run.parse().unwrap();
    let mut writer = RunWriter::open(store.clone(), run, "test", None).await.unwrap();
    let events = payloads.into_iter().map(|payload| (UnixNanos(1_777_000_000_000_000_000), payload));
    writer.append(events).await.unwrap();
    writer.close().await.unwrap();
}

fn started() -> Payload {
    Payload::RunStarted(Box::new(RunStarted { goal: "say a lot".into(), ..RunStarted::default() }))
}

fn turn(deltas: u64) -> Vec<Payload> {
    let delta = |index: u64| AssistantTextDelta { delta: index.to_string(), ..Default::default() }.to_payload();
    let mut events = vec![Payload::TurnStarted(TurnStarted { turn_id: "T".into(), ..Default::default() })];
    events.extend((0..deltas).map(delta));
    let answer = AssistantMessageCompleted { turn_id: "T".into(), text: "that".into(), ..Default::default() };
    events.push(Payload::AssistantMessageCompleted(Box::new(answer)));
    events
}

fn asks(approval_id: &str) -> Payload {
    ApprovalRequested { approval_id: approval_id.into(), kind: "shell".into(), ..Default::default() }.to_payload()
}

fn ended() -> Payload {
    Payload::RunCompleted(RunCompleted { final_text: "that".into(), ..RunCompleted::default() })
}

fn wanted(pace: Pace) -> Wanted {
    Wanted { options: Options { partial_messages: true, ..Options::default() }, pace, ..Wanted::default() }
}

fn count(lines: &[Value], type_name: &str) -> usize {
    lines.iter().filter(|line| line["type"] == type_name).count()
}

async fn printed(store: &SharedStore, wanted: Wanted) -> Vec<Value> {
    let page = Page::default();
    let outlet = Outlet::new(page.clone());
    Printer::open(store.clone(), RUN.parse().unwrap(), wanted).await.unwrap().print(&outlet).await.unwrap();
    outlet.close().await.unwrap();
    page.lines()
}

/// A program that copies what it reads into a file, when it is let.
#[cfg(target_os = "linux")]
struct Copier {
    child: std::process::Child,
    page: std::path::PathBuf,
}

#[cfg(target_os = "linux")]
impl Copier {
    /// Stopped from the beginning.
    fn stopped(directory: &std::path::Path) -> (Self, std::process::ChildStdin) {
        let page = directory.join("page");
        let out = std::fs::File::create(&page).unwrap();
        let mut cat = std::process::Command::new("cat");
        let mut child = cat.stdin(std::process::Stdio::piped()).stdout(out).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let copier = Self { child, page };
        copier.signal("-STOP");
        (copier, input)
    }

    fn signal(&self, name: &str) {
        let sent = std::process::Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    fn lines(mut self) -> Vec<Value> {
        assert!(self.child.wait().unwrap().success());
        let text = std::fs::read_to_string(self.page).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What memory this process has, in KiB.
#[cfg(target_os = "linux")]
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn stoke_07_under_a_hundred_thousand_events_a_stopped_reader_costs_neither_time_nor_memory() {
    const TURNS: u64 = 40;
    const DELTAS: u64 = 2_500;
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("r1.db"), SqliteOptions::default()).await.unwrap();
    let store: SharedStore = Arc::new(store);
    append(&store, RUN, [vec![started()], turn(3)].concat()).await;
    let (copier, input) = Copier::stopped(directory.path());
    let outlet = Outlet::new(input);
    let printer = Printer::open(store.clone(), RUN.parse().unwrap(), wanted(Pace::Live)).await.unwrap();
    let printing = tokio::spawn(async move { (printer.print(&outlet).await, outlet.close().await) });
    // The whole run is written while nobody reads: that it can be is what is promised.
    let mut before = 0;
    for index in 0..TURNS {
        append(&store, RUN, [vec![asks(&format!("appr_{index}"))], turn(DELTAS)].concat()).await;
        if index == 3 {
            before = memory();
        }
    }
    append(&store, RUN, vec![ended()]).await;
    let grown = memory().saturating_sub(before);
    assert!(!printing.is_finished(), "nobody has read the end");
    copier.signal("-CONT");
    let (done, closed) = printing.await.unwrap();
    done.unwrap();
    closed.unwrap();

    let lines = copier.lines();
    let whole = printed(&store, Wanted { pace: Pace::Follow, ..Wanted::default() }).await;
    let dropped: Vec<_> = lines.iter().filter(|line| line["subtype"] == "stream.dropped").collect();
    let lost: u64 = dropped.iter().map(|line| line["_stoke.dev/count"].as_u64().unwrap()).sum();
    assert!(lost > 50_000, "{lost} were dropped");
    // The message's start and end, the start of its block, and its pieces.
    let logged = 3 + 4 + TURNS * (DELTAS + 4);
    assert_eq!(lost + count(&lines, "stream_event") as u64, logged, "every one is accounted for");
    let is_other = |line: &&Value| line["type"] != "stream_event" && line["subtype"] != "stream.dropped";
    let others: Vec<Value> = lines.iter().filter(is_other).cloned().collect();
    assert_eq!(others, whole, "nothing else is missing");
    assert_eq!(count(&lines, "hitl_required") as u64, TURNS);
    let mut last = 0;
    for line in dropped {
        let (first, until) = (line["_stoke.dev/first_seq"].as_u64(), line["_stoke.dev/last_seq"].as_u64());
        assert!(first.unwrap() > last && until >= first, "{line}");
        last = until.unwrap();
    }
    // The lines that waited are 40 MB.
    assert!(grown < 24 << 10, "{grown} KiB more");
}

#[tokio::test]
async fn what_child_runs_ask_is_told_live_and_all_of_them_where_that_is_wanted() {
    let store: SharedStore = Arc::new(MemoryStore::new());
    append(&store, CHILD, vec![started(), asks("appr_child"), ended()]).await;
    let child = RunChildStarted {
        child_run_id: CHILD.into(),
        kind: "subagent".into(),
        tool_call_id: Some("c1".into()),
        ..Default::default()
    };
    append(&store, RUN, vec![started(), child.to_payload(), ended()]).await;
    let sessions = |lines: &[Value]| {
        let own = lines[0]["session_id"].clone();
        lines.iter().filter(|line| line["session_id"] != own).map(|line| line["type"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(sessions(&printed(&store, wanted(Pace::Live)).await), ["hitl_required"]);
    assert_eq!(sessions(&printed(&store, wanted(Pace::Follow)).await), [""; 0]);
    let with_children = Wanted { children: true, ..wanted(Pace::ToTheEnd) };
    let all = sessions(&printed(&store, with_children).await);
    assert_eq!(all, ["system", "stoke.session.start", "hitl_required", "stoke.session.end", "result"]);
}

/// A run that waits for an answer.
async fn asking_child(stage: &Stage) -> RunId {
    let mut new = stage.new_run("turns: [{tool_calls: [{tool: act, input: {x: 1}}]}, {text: done}]");
    new.spec.approval = ApprovalMode::Ask;
    let run = stage.create(new).await;
    drop(stage.start(&run));
    stage.until(&run, "approval.requested").await;
    run
}

fn resolution(approval_id: &str) -> Resolution {
    Resolution {
        approval_id: approval_id.into(),
        decision: Decision::Reject,
        comment: "no".into(),
        scope: Scope::Once,
        subject_hash: None,
        edited_input: None,
    }
}

#[tokio::test]
async fn stoke_06_what_descendants_ask_is_answered_through_the_run_that_started_them() {
    let stage = Stage::new();
    let (child, grandchild) = (asking_child(&stage).await, asking_child(&stage).await);
    let store: SharedStore = stage.engine.store().clone();
    let begets = |run: &RunId| {
        RunChildStarted { child_run_id: run.to_string(), kind: "subagent".into(), ..Default::default() }.to_payload()
    };
    append(&store, CHILD, vec![started(), begets(&grandchild), ended()]).await;
    append(&store, RUN, vec![started(), begets(&child), begets(&CHILD.parse().unwrap()), ended()]).await;
    let run: RunId = RUN.parse().unwrap();
    let everyone = [run.clone(), child.clone(), CHILD.parse().unwrap(), grandchild.clone()];
    assert_eq!(family(&store, &run).await.unwrap(), everyone);

    let open = open_approvals(&store, &run).await.unwrap();
    assert_eq!(open.len(), 2, "{open:?}");
    let caller = Caller::default();
    let answer = resolve(&stage.engine, &run, resolution(&open[1]), &caller).await.unwrap();
    assert!(!answer.was_so && open_approvals(&store, &run).await.unwrap() == open[..1]);
    let again = resolve(&stage.engine, &run, resolution(&open[1]), &caller).await.unwrap();
    assert!(again.was_so);
    let unknown = resolve(&stage.engine, &run, resolution("appr_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B"), &caller).await;
    assert!(matches!(unknown, Err(CommandError::Refused(Refusal::UnknownApproval { .. }))), "{unknown:?}");

    let mut events = Family::of(store, run);
    let mut asked = Vec::new();
    while let Some((whose, record)) = events.next().await {
        drop(record.unwrap());
        asked.push(whose);
    }
    assert!(asked.iter().any(|whose| *whose == everyone[0]));
}

#[tokio::test]
async fn a_reader_that_is_gone_is_noticed_and_told_from_a_full_disk() {
    struct Gone(io::ErrorKind);
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::StorageFull] {
        let store: SharedStore = Arc::new(MemoryStore::new());
        append(&store, RUN, vec![started(), asks("appr_1"), asks("appr_2")]).await;
        let outlet = Outlet::new(Gone(kind));
        let printer = Printer::open(store.clone(), RUN.parse().unwrap(), wanted(Pace::Live)).await.unwrap();
        let printing = tokio::spawn(async move { (printer.print(&outlet).await, outlet.close().await) });
        append(&store, RUN, turn(3)).await;
        append(&store, RUN, turn(3)).await;
        append(&store, RUN, vec![ended()]).await;
        let (done, closed) = printing.await.unwrap();
        assert!(matches!(done, Ok(()) | Err(PrintError::Outlet(_))), "{done:?}");
        match (closed, kind) {
            (Err(OutletError::Closed), io::ErrorKind::BrokenPipe) => {}
            (Err(OutletError::Broken(err)), kind) => assert_eq!(err.kind(), kind),
            other => panic!("{other:?}"),
        }
    }
}
