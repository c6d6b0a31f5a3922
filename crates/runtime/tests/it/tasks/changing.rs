//! What can be done with a task once it is there.

use r1_event::Seq;
use r1_protocol::api::{Budget, ExternalEvent, NewTask, PatchTask, Priority};
use r1_runtime::agent::command::{Command, Refusal};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::go_on::{Changes, GoOnError, Point, fork, resume, retry};
use r1_runtime::control::task::{self, TaskError};
use r1_runtime::engine::Claim;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::shop::{House, prompt};

const DONE: &str = "turns: [{text: done, cost_micros_usd: 3}]";

async fn task_of(house: &House, run: &r1_event::RunId) -> String {
    house.state(run).await.task_id.unwrap()
}

#[tokio::test]
async fn an_open_task_changes_in_its_own_log_and_a_closed_one_beside_it() {
    let house = House::new(DONE);
    let run = house.make(NewTask { start: Some(false), ..prompt("go") }).await.unwrap();
    let task = task_of(&house, &run).await;
    let wanted = PatchTask { title: Some("Other".into()), priority: Some(Priority::High), ..PatchTask::default() };
    let effect = task::change(&house.engine, &task, wanted, &Caller::default()).await.unwrap();
    assert_eq!((effect.run_id.as_str(), effect.seq), (run.as_str(), 3));
    let state = house.state(&run).await;
    assert_eq!((state.title.as_str(), state.priority.as_str()), ("Other", "high"));

    task::start(&house.engine, &task, &Caller::default()).await.unwrap();
    house.finish(&run).await;
    let budget = Some(Budget { micros_usd: 900, ..Budget::default() });
    let refused =
        task::change(&house.engine, &task, PatchTask { budget, ..PatchTask::default() }, &Caller::default()).await;
    assert!(
        matches!(refused, Err(TaskError::Command(CommandError::Refused(Refusal::LessBudget { .. })))),
        "no limit is the highest of all: {refused:?}"
    );
    let tags = serde_json::from_value(json!({ "a": "b" })).unwrap();
    let wanted = PatchTask { tags, ..PatchTask::default() };
    let effect = task::change(&house.engine, &task, wanted, &Caller::default()).await.unwrap();
    assert_ne!(effect.run_id, run.as_str(), "a finished log is never touched");
    let about: r1_event::RunId = effect.run_id.parse().unwrap();
    assert_eq!(house.types(&about).await, ["run.queued", "task.updated", "run.finished"]);
    let nothing = task::change(&house.engine, &task, PatchTask::default(), &Caller::default()).await;
    assert!(matches!(nothing, Err(TaskError::Invalid(_))));
}

#[tokio::test]
async fn ep_22_a_running_run_honours_a_raised_budget() {
    let house = House::new(
        "turns: [{tool_calls: [{tool: shell, input: {command: 'true'}}], cost_micros_usd: 8}, {text: done, cost_micros_usd: 8}]",
    );
    let poor = Budget { micros_usd: 10, ..Budget::default() };
    let wanted = NewTask { budget: Some(poor), ..prompt("go") };
    let run = house.make(wanted).await.unwrap();
    let (engine, named) = (house.engine.clone(), run.clone());
    let work = tokio::spawn(async move { engine.work(&named, Claim::default(), CancellationToken::new()).await });
    house.until(&run, "approval.requested").await;
    let task = task_of(&house, &run).await;
    let raise =
        |micros_usd| PatchTask { budget: Some(Budget { micros_usd, ..Budget::default() }), ..PatchTask::default() };
    let refused = task::change(&house.engine, &task, raise(9), &Caller::default()).await;
    assert!(matches!(refused, Err(TaskError::Command(CommandError::Refused(Refusal::LessBudget { .. })))));
    task::change(&house.engine, &task, raise(100), &Caller::default()).await.unwrap();
    let approval_id = house.state(&run).await.approvals().next().unwrap().0.to_owned();
    let answer = r1_runtime::agent::command::Resolution {
        approval_id,
        decision: r1_runtime::agent::command::Decision::Approve,
        comment: String::new(),
        scope: Default::default(),
        subject_hash: None,
        edited_input: None,
    };
    command(&house.engine, &run, Command::Resolve(answer), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    house.check(&run).await;
    let state = house.state(&run).await;
    assert_eq!((state.status().as_str(), state.spent.cost_micros_usd), ("completed", 16));
}

#[tokio::test]
async fn a_task_starts_once_and_again_when_it_has_ended() {
    let house = House::new(DONE);
    let run = house.make(NewTask { start: Some(false), ..prompt("go") }).await.unwrap();
    let task = task_of(&house, &run).await;
    let started = task::start(&house.engine, &task, &Caller::default()).await.unwrap();
    assert!(!started.was_so);
    let again = task::start(&house.engine, &task, &Caller::default()).await.unwrap();
    assert!(again.was_so, "an open run is left as it is");
    let refused = retry(&house.engine, &run, Changes::default(), &Caller::default()).await;
    assert!(matches!(refused, Err(GoOnError::StillOpen { .. })));
    house.finish(&run).await;
    let third = task::start(&house.engine, &task, &Caller::default()).await.unwrap();
    let third: r1_event::RunId = third.effect.run_id.parse().unwrap();
    assert_eq!((house.state(&third).await.number, third != run), (2, true));
    let refused = retry(&house.engine, &run, Changes::default(), &Caller::default()).await;
    assert!(matches!(refused, Err(GoOnError::TaskIsOpen { .. })), "one open run per task: {refused:?}");
    house.finish(&third).await;
    let unknown = task::start(&house.engine, "task_01J00000000000000000000000", &Caller::default()).await;
    assert!(matches!(unknown, Err(TaskError::Unknown { .. })));
}

#[tokio::test]
async fn of_many_who_retry_at_once_one_succeeds() {
    let house = House::new(DONE);
    let run = house.play(prompt("go")).await;
    let tries: Vec<_> = (0..8)
        .map(|_| {
            let (engine, run) = (house.engine.clone(), run.clone());
            tokio::spawn(async move { retry(&engine, &run, Changes::default(), &Caller::default()).await })
        })
        .collect();
    let mut made = 0;
    for tried in tries {
        match tried.await.unwrap() {
            Ok(_) => made += 1,
            Err(GoOnError::TaskIsOpen { .. } | GoOnError::TaskIsBusy { .. }) => {}
            Err(err) => panic!("{err}"),
        }
    }
    assert_eq!(made, 1);
}

#[tokio::test]
async fn ep_21_a_run_is_resumed_from_a_checkpoint_with_its_workspace() {
    let write = |text: &str| format!("{{tool_calls: [{{tool: file_write, input: {{path: a.txt, content: {text}}}}}]}}");
    let house = House::new(&format!(
        "turns: [{}, {}, {{text: no, failures: [{{kind: status, status: 400}}]}}]",
        write("one"),
        write("two")
    ));
    let settings = house.dir.path().join("home/config.toml");
    let text = std::fs::read_to_string(&settings).unwrap() + "[record]\ncheckpoint_events = 1\n";
    std::fs::write(&settings, text.replace("[run]\n", "[run]\napprove = \"edits\"\n")).unwrap();
    let run = house.play(prompt("go")).await;
    let events = house.events(&run).await;
    let saved = events.iter().find(|(type_name, _)| type_name == "run.checkpoint_saved").unwrap();
    let id = saved.1["checkpoint_id"].as_str().unwrap().to_owned();
    let from = Some(Point::Checkpoint(id.clone()));
    let again = resume(&house.engine, &run, Changes { from, ..Changes::default() }, &Caller::default()).await.unwrap();
    let first = &house.events(&again).await[0];
    assert_eq!((first.0.as_str(), &first.1["checkpoint_id"]), ("run.resumed_from_event", &json!(id)));
    let place = house.state(&again).await.workspace_path;
    assert_eq!(std::fs::read_to_string(std::path::Path::new(&place).join("a.txt")).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(house.work().join("a.txt")).unwrap(), "two");
    let wrong = Some(Point::Checkpoint("ckpt_no".into()));
    let refused = resume(&house.engine, &run, Changes { from: wrong, ..Changes::default() }, &Caller::default()).await;
    assert!(matches!(refused, Err(GoOnError::UnknownCheckpoint { .. })));
    let beyond = fork(&house.engine, &run, Seq::new(9_999).unwrap(), Changes::default(), &Caller::default()).await;
    assert!(matches!(beyond, Err(GoOnError::NoEvent { .. })));
}

#[tokio::test]
async fn only_events_from_outside_come_from_outside() {
    let house = House::new(DONE);
    let run = house.make(NewTask { start: Some(false), ..prompt("go") }).await.unwrap();
    let event = |type_name: &str, data| ExternalEvent {
        type_name: type_name.into(),
        data: serde_json::from_value(data).unwrap(),
    };
    let tell = |event| task::tell(&house.engine, &run, event, Box::leak(Box::new(Caller::default())));
    let effect = tell(event("external.build", json!({ "ok": true }))).await.unwrap();
    assert_eq!(house.events(&run).await[usize::try_from(effect.seq).unwrap() - 1].1, json!({ "ok": true }));
    assert!(matches!(tell(event("run.finished", json!({}))).await, Err(TaskError::Reserved { .. })));
    assert!(matches!(tell(event("tool.shell.exited", json!({}))).await, Err(TaskError::Reserved { .. })));
    for owned in
        ["gate.decision", "gate.override", "phase.transition", "memory.write", "stoke.ac.result", "beacon.event"]
    {
        assert!(matches!(tell(event(owned, json!({}))).await, Err(TaskError::Reserved { .. })), "{owned}");
    }
    assert!(matches!(tell(event("External", json!({}))).await, Err(TaskError::Invalid(_))));
    let large = json!({ "text": "x".repeat(300 << 10) });
    assert!(matches!(tell(event("external.large", large)).await, Err(TaskError::Invalid(_))));
    command(&house.engine, &run, Command::cancel(""), &Caller::default()).await.unwrap();
    let refused = tell(event("external.late", json!({}))).await;
    assert!(matches!(refused, Err(TaskError::Command(CommandError::Refused(Refusal::Ended)))), "{refused:?}");
}
