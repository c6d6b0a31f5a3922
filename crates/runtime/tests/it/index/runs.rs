//! Runs and tasks, and how they are found.

use r1_event::{Payload, RunId};
use r1_protocol::api::{RunStatus, Task};
use r1_protocol::data::{By, EventData, TaskUpdated};
use r1_runtime::agent::Budget;
use r1_runtime::agent::command::Command;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::command;
use r1_runtime::control::create::NewRun;
use r1_runtime::control::go_on::{Changes, fork, retry};
use r1_runtime::control::operator::{self, About, OperatorRun};
use r1_runtime::emit::Emission;
use r1_runtime::index::{Index, IndexError, RunQuery, TaskQuery};
use r1_store::{DocumentChange, SharedStore};
use serde_json::json;

use super::together::assert_same_from_nothing;
use super::{memory, on_each_store};
use crate::engine::stage::Stage;

on_each_store! {
    a_task_is_the_sum_of_its_runs,
    runs_are_found_by_what_they_are,
    a_list_is_paged_without_loss,
}

const DONE: &str = "turns: [{text: done, cost_micros_usd: 2}]";
const FAILS: &str = "turns: [{text: no, failures: [{kind: status, status: 400}]}]";

async fn task_of(index: &Index, run: &RunId) -> Task {
    let run = index.run(run.as_str()).await.unwrap().unwrap();
    index.task(run.task_id.as_deref().unwrap()).await.unwrap().unwrap()
}

/// Writes an operator run that changes the task of `run`.
async fn update(store: &SharedStore, run: &RunId, updated: TaskUpdated) -> RunId {
    let new = OperatorRun {
        about: About::Run(run.clone()),
        goal: "change the task".into(),
        reason: "because".into(),
        events: vec![Emission::plain(updated.to_payload())],
    };
    let places =
        operator::write(store, new, "r1-test", None, r1_runtime::world::now(), &Caller::default()).await.unwrap();
    places[0].run_id.clone()
}

async fn a_task_is_the_sum_of_its_runs(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let mut new = stage.new_run(FAILS);
    new.spec.budget = Budget { micros_usd: 1000, warning_pct: vec![50], ..Budget::default() };
    let first = stage.play(NewRun { prompt: "mend\nthe lamp".into(), ..new }).await;
    let task = task_of(&index, &first).await;
    assert_eq!((task.title.as_str(), task.kind.as_str(), task.status), ("mend", "agent_loop", RunStatus::Failed));
    assert_eq!((task.run_count, task.budget.micros_usd, task.budget.warning_pct), (1, 1000, vec![50]));
    assert_eq!((task.priority.as_str(), task.tags.len()), ("normal", 0));
    assert_eq!(task.latest_run_id, first.as_str());

    let second = retry(&stage.engine, &first, Changes::default(), &Caller::default()).await.unwrap();
    let task = task_of(&index, &second).await;
    assert_eq!((task.run_count, task.status, task.latest_run_id.as_str()), (2, RunStatus::Queued, second.as_str()));
    let run = index.run(second.as_str()).await.unwrap().unwrap();
    assert_eq!((run.number, run.prior_run_id.as_deref(), run.title.as_str()), (Some(2), Some(first.as_str()), "mend"));

    let tags = json!({ "team": "lamps", "urgent": true });
    let updated = TaskUpdated {
        by: By::Operator,
        title: Some("mend all lamps".into()),
        priority: Some("high".into()),
        budget: json!({ "micros_usd": 2000 }).as_object().cloned(),
        tags: tags.as_object().cloned(),
        ..TaskUpdated::default()
    };
    let operator_run = update(&store, &first, updated).await;
    let task = task_of(&index, &first).await;
    assert_eq!((task.title.as_str(), task.priority.as_str()), ("mend all lamps", "high"));
    assert_eq!((task.budget.micros_usd, json!(task.tags)), (2000, tags));
    assert_eq!((task.run_count, task.latest_run_id.as_str()), (2, second.as_str()), "operator runs do not count");

    let tagged = |tag: &str| TaskQuery { tag: Some(tag.into()), ..TaskQuery::default() };
    for (tag, count) in [("team", 1), ("team:lamps", 1), ("urgent:true", 1), ("team:doors", 0), ("lamps", 0)] {
        assert_eq!(index.tasks(tagged(tag)).await.unwrap().data.len(), count, "{tag}");
    }
    let queued = TaskQuery { status: Some(RunStatus::Queued), ..TaskQuery::default() };
    assert_eq!(index.tasks(queued).await.unwrap().data.len(), 1);
    let failed = TaskQuery { status: Some(RunStatus::Failed), ..TaskQuery::default() };
    assert_eq!(index.tasks(failed).await.unwrap().data.len(), 0);

    let listed = |kind: Option<&str>| RunQuery { kind: kind.map(Into::into), ..RunQuery::default() };
    let ids = |list: r1_protocol::api::List<r1_protocol::api::Run>| -> Vec<_> {
        list.data.into_iter().map(|run| run.id).collect()
    };
    assert_eq!(ids(index.runs(listed(None)).await.unwrap()), [second.as_str(), first.as_str()]);
    assert_eq!(ids(index.runs(listed(Some("operator"))).await.unwrap()), [operator_run.as_str()]);
    assert_eq!(index.operator_runs_about(&first).await.unwrap(), std::slice::from_ref(&operator_run));
    let about = index.run(operator_run.as_str()).await.unwrap().unwrap();
    assert_eq!(about.parent_run_id.as_deref(), Some(first.as_str()));
    assert!(index.children(first.as_str()).await.unwrap().data.is_empty(), "an operator run is no child");
    assert_same_from_nothing(&store).await;
}

async fn runs_are_found_by_what_they_are(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let lamp = stage.play(NewRun { prompt: "Mend the\nGreen LAMP".into(), ..stage.new_run(DONE) }).await;
    let door = stage.create(NewRun { prompt: "paint the door".into(), ..stage.new_run(DONE) }).await;
    let base = RunQuery::default();
    let ulid = lamp.ulid_text().unwrap().to_owned();
    let some = |text: &str| Some(text.to_owned());
    let cases = [
        (RunQuery { status: Some(RunStatus::Completed), ..base.clone() }, vec![&lamp]),
        (RunQuery { status: Some(RunStatus::Queued), ..base.clone() }, vec![&door]),
        (RunQuery { status: Some(RunStatus::Running), ..base.clone() }, vec![]),
        (RunQuery { kind: some("agent_loop"), ..base.clone() }, vec![&door, &lamp]),
        (RunQuery { kind: some("shell"), ..base.clone() }, vec![]),
        (RunQuery { session_id: Some(format!("chat_{ulid}")), ..base.clone() }, vec![&lamp]),
        (RunQuery { session_id: Some(format!("sess_{ulid}")), ..base.clone() }, vec![&lamp]),
        (RunQuery { task_id: Some(format!("task_{ulid}")), ..base.clone() }, vec![&lamp]),
        (RunQuery { q: some("green lamp"), ..base.clone() }, vec![&lamp]),
        (RunQuery { q: some("THE"), ..base.clone() }, vec![&door, &lamp]),
        (RunQuery { q: Some(ulid.to_lowercase()), ..base.clone() }, vec![&lamp]),
        (RunQuery { q: some("window"), ..base.clone() }, vec![]),
        (RunQuery { parent_run_id: Some(lamp.to_string()), ..base.clone() }, vec![]),
        (RunQuery { parent_run_id: some("run_none"), ..base.clone() }, vec![]),
        (RunQuery { source: some("claude-code"), ..base.clone() }, vec![]),
    ];
    for (query, expected) in cases {
        let found = index.runs(query.clone()).await.unwrap();
        let ids: Vec<_> = found.data.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, expected.iter().map(|run| run.as_str()).collect::<Vec<_>>(), "{query:?}");
        assert!(!found.has_more && found.next_cursor.is_none());
    }
    let uuid = format!("{:032x}", ulid::Ulid::from_string(&ulid).unwrap().0);
    for form in [lamp.to_string(), ulid.clone(), format!("chat_{ulid}"), format!("sess_{ulid}"), uuid] {
        assert_eq!(index.find(&form).await.unwrap(), Some(lamp.clone()), "{form}");
    }
    assert_eq!(index.find("run_none").await.unwrap(), None);
}

async fn a_list_is_paged_without_loss(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let mut runs = Vec::new();
    for _ in 0..7 {
        runs.push(stage.create(stage.new_run(DONE)).await.to_string());
    }
    runs.reverse();
    for limit in [1, 2, 3, 6, 7, 8] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = index.runs(RunQuery { cursor: cursor.take(), limit, ..RunQuery::default() }).await.unwrap();
            assert!(page.data.len() <= limit && page.has_more == page.next_cursor.is_some());
            found.extend(page.data.into_iter().map(|run| run.id));
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(found, runs, "by pages of {limit}");
    }
    let page = index.runs(RunQuery { limit: 1, ..RunQuery::default() }).await.unwrap();
    for cursor in [page.next_cursor, Some("made up".into())] {
        let refused = index.tasks(TaskQuery { cursor, ..TaskQuery::default() }).await.unwrap_err();
        assert!(matches!(&refused, IndexError::BadCursor { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_held_run_is_released_and_cancelled() {
    let stage = Stage::new();
    let run = stage.create(NewRun { held: true, ..stage.new_run(DONE) }).await;
    let index = Index::new(stage.store.clone());
    assert_eq!(index.run(run.as_str()).await.unwrap().unwrap().status, RunStatus::NotStarted);
    command(&stage.engine, &run, Command::Release { by: "operator".into() }, &Caller::default()).await.unwrap();
    assert_eq!(index.run(run.as_str()).await.unwrap().unwrap().status, RunStatus::Queued);
    let cancel = Command::cancel("");
    command(&stage.engine, &run, cancel, &Caller::default()).await.unwrap();
    assert_eq!(index.run(run.as_str()).await.unwrap().unwrap().status, RunStatus::Cancelled);
    stage.check(&run).await;
}

#[tokio::test]
async fn a_forked_session_knows_whether_it_is_its_turn() {
    let stage = Stage::new();
    let mut new = stage.new_run("turns: [{tool_calls: [{tool: echo}]}, {text: done}]");
    new.spec.interactive = true;
    let run = stage.create(new).await;
    let work = stage.start(&run);
    stage.until(&run, "assistant.final_answer").await;
    while stage.state(&run).await.status() != RunStatus::Idle {
        tokio::task::yield_now().await;
    }
    let cancel = Command::cancel("");
    command(&stage.engine, &run, cancel, &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    let index = Index::new(stage.store.clone());
    for at in 1..=stage.records(&run).await.len() as u64 {
        let at = r1_event::Seq::new(at).unwrap();
        let forked = fork(&stage.engine, &run, at, Changes::default(), &Caller::default()).await.unwrap();
        let shown = index.run(forked.as_str()).await.unwrap().unwrap();
        assert_eq!(shown.status, stage.state(&forked).await.status(), "forked at {at}");
        let from = shown.forked_from.unwrap();
        assert_eq!((from.run_id, from.sequence), (run.to_string(), at.get() - 1));
        let cancel = Command::cancel("");
        command(&stage.engine, &forked, cancel, &Caller::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_command_that_waits_and_a_lease_are_shown() {
    let store = memory();
    let stage = Stage::on(store.clone());
    let run = stage.create(stage.new_run(DONE)).await;
    let index = Index::new(store.clone());
    let shown = index.run(run.as_str()).await.unwrap().unwrap();
    assert_eq!((shown.cancelling, shown.lease_until), (false, None));
    let lease = store.acquire(&run, "a worker", std::time::Duration::from_secs(30)).await.unwrap().lease;
    let cancel = Command::cancel("");
    let body = serde_json::to_vec(&json!({ "command": cancel, "caller": Caller::default() })).unwrap().into();
    store.leave_command(&run, r1_store::Command { id: "cmd_1".into(), body }).await.unwrap();
    let shown = index.run(run.as_str()).await.unwrap().unwrap();
    assert_eq!((shown.cancelling, shown.lease_until), (true, Some(lease.until.into())));
}

/// How fast the index takes in a log whose events are mostly pieces of output.
#[tokio::test]
async fn pieces_of_output_cost_next_to_nothing() {
    const EVENTS: u64 = 50_000;
    let store = memory();
    let stage = Stage::on(store.clone());
    let run = stage.create(stage.new_run(DONE)).await;
    let mut writer = r1_runtime::writer::RunWriter::open(store.clone(), run.clone(), "r1-test", None).await.unwrap();
    let delta = |n: u64| -> Payload {
        let data = json!({ "turn_index": 0, "block_index": 0, "delta": format!("piece {n} of what the model says") });
        Payload::Typed(r1_protocol::data::typed("assistant.text_delta", &data))
    };
    for from in (0..EVENTS).step_by(1000) {
        writer.append((from..from + 1000).map(|n| (r1_runtime::world::now(), delta(n)))).await.unwrap();
    }
    writer.close().await.unwrap();
    let index = Index::new(store);
    let began = std::time::Instant::now();
    index.catch_up().await.unwrap();
    let took = began.elapsed();
    println!("{EVENTS} events in {took:?}: {:.0} a second", EVENTS as f64 / took.as_secs_f64());
    assert_eq!(index.run(run.as_str()).await.unwrap().unwrap().last_sequence, EVENTS + 1);
}

#[tokio::test]
async fn a_run_whose_entry_is_damaged_takes_no_other_out_of_a_list() {
    let dir = tempfile::tempdir().unwrap();
    let store = super::sqlite(&dir).await;
    let stage = Stage::on(store.clone());
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(stage.play(stage.new_run(DONE)).await.to_string());
    }
    let damage = |change: String| {
        let database = rusqlite::Connection::open(dir.path().join("r1.db")).unwrap();
        database.execute(&format!("UPDATE runs SET {change}"), []).unwrap();
    };
    damage(format!("version = 9 WHERE run_id = '{}'", runs[1]));
    damage(format!("run_id = '' WHERE run_id = '{}'", runs[2]));
    let index = Index::new(store.clone());
    let listed = || async {
        let found = index.runs(RunQuery::default()).await.unwrap().data;
        assert_eq!(index.tasks(TaskQuery::default()).await.unwrap().data.len(), found.len());
        found.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [runs[2].as_str(), &runs[1], &runs[0]], "what was known stays known");
    let anew = DocumentChange::Clear { collection: "index".into() };
    assert!(store.change_documents(vec![anew]).await.unwrap());
    assert_eq!(listed().await, [runs[1].as_str(), &runs[0]], "made anew, only what nobody can name is missing");
    assert!(index.run(&runs[1]).await.is_err(), "whoever asks for it is told");
    assert_eq!(index.run(&runs[2]).await.unwrap(), None);
}
