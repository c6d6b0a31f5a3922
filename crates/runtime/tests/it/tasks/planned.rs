//! Runs without a model: a command, git, changes to files.

use r1_protocol::api::{CommandLine, NewTask, TaskKind};
use r1_runtime::agent::command::{Command, Decision, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::create::CreateError;
use r1_runtime::control::task::TaskError;
use r1_runtime::engine::Claim;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::shop::{House, SECRET};

const NOBODY: &str = "turns: []";

fn shell(line: &str, policy: &str) -> NewTask {
    NewTask {
        kind: TaskKind::Shell,
        command: Some(CommandLine::Line(line.into())),
        approval: Some(serde_json::from_value(json!({ "policy": policy })).unwrap()),
        ..NewTask::default()
    }
}

fn last(events: &[(String, Value)]) -> (&str, &Value) {
    let (type_name, data) = events.last().unwrap();
    (type_name, data)
}

#[tokio::test]
async fn ep_13_a_command_runs_without_a_model() {
    let house = House::new(NOBODY);
    let run = house.play(shell("echo hello > out.txt", "full")).await;
    let events = house.events(&run).await;
    let types: Vec<_> = events.iter().map(|(type_name, _)| type_name.as_str()).collect();
    assert_eq!(types[..3], ["run.queued", "run.started", "tool.invoked"]);
    let invoked = &events.iter().find(|(type_name, _)| type_name == "tool.invoked").unwrap().1;
    assert_eq!(invoked["input"], json!({ "command": "echo hello > out.txt" }), "the call says what runs");
    assert_eq!(last(&events).0, "run.finished");
    assert_eq!((&events[0].1["model"], &events[0].1["provider"]), (&json!("none"), &json!("none")));
    assert!(!types.iter().any(|type_name| type_name.starts_with("turn.") || type_name.starts_with("user.")));
    assert_eq!(std::fs::read_to_string(house.work().join("out.txt")).unwrap(), "hello\n");
}

#[tokio::test]
async fn ep_13_a_command_that_fails_fails_its_run() {
    let house = House::new(NOBODY);
    let run = house.play(shell("exit 3", "full")).await;
    let events = house.events(&run).await;
    assert_eq!((last(&events).0, last(&events).1["code"].as_str()), ("run.failed", Some("tool_failed")));
    let run = house.play(shell("true", "read-only")).await;
    let events = house.events(&run).await;
    assert_eq!((last(&events).0, last(&events).1["code"].as_str()), ("run.failed", Some("policy_denied")));
}

#[tokio::test]
async fn ep_13_git_and_changes_to_files_go_through_the_same_door() {
    let house = House::new(NOBODY);
    let wanted = NewTask {
        kind: TaskKind::Git,
        command: Some(CommandLine::Argv(vec!["git".into(), "init".into(), "-q".into()])),
        approval: Some(serde_json::from_value(json!({ "policy": "full" })).unwrap()),
        ..NewTask::default()
    };
    let run = house.play(wanted).await;
    assert!(house.types(&run).await.contains(&"tool.git.completed".into()));
    assert!(house.work().join(".git").exists());

    std::fs::write(house.work().join("b.txt"), "one\n").unwrap();
    std::fs::write(house.work().join("c.txt"), "gone").unwrap();
    let operations = json!([
        { "op": "write", "path": "sub/a.txt", "content": "new" },
        { "op": "append", "path": "b.txt", "content": "two\n" },
        { "op": "delete", "path": "c.txt" },
    ]);
    let files = |operations: &Value| {
        let wanted = json!({ "kind": "file", "operations": operations, "approval": { "policy": "edits" } });
        serde_json::from_value::<NewTask>(wanted).unwrap()
    };
    let run = house.play(files(&operations)).await;
    let events = house.events(&run).await;
    assert_eq!(last(&events).0, "run.finished", "{events:#?}");
    let read = |name: &str| std::fs::read_to_string(house.work().join(name)).ok();
    assert_eq!(
        (read("sub/a.txt"), read("b.txt"), read("c.txt")),
        (Some("new".into()), Some("one\ntwo\n".into()), None)
    );

    let all_or_none = json!([
        { "op": "append", "path": "b.txt", "content": "three\n" },
        { "op": "delete", "path": "not-there" },
    ]);
    let run = house.play(files(&all_or_none)).await;
    assert_eq!(last(&house.events(&run).await).1["code"], "tool_failed");
    assert_eq!(read("b.txt"), Some("one\ntwo\n".into()));
}

#[tokio::test]
async fn ep_16_a_planned_call_waits_for_a_person_and_runs_what_the_person_made_of_it() {
    let house = House::new(NOBODY);
    for (decision, edited, ended) in [
        (Decision::Approve, None, ("run.finished", "one\n")),
        (Decision::Approve, Some(json!({ "command": "echo two > out.txt" })), ("run.finished", "two\n")),
        (Decision::Reject, None, ("run.failed", "two\n")),
    ] {
        let run = house.make(shell("echo one > out.txt", "ask")).await.unwrap();
        let (engine, named) = (house.engine.clone(), run.clone());
        let work = tokio::spawn(async move { engine.work(&named, Claim::default(), CancellationToken::new()).await });
        house.until(&run, "approval.requested").await;
        let state = house.state(&run).await;
        assert_eq!(state.status().as_str(), "awaiting_approval");
        let resolution = Resolution {
            approval_id: state.approvals().next().unwrap().0.into(),
            decision,
            comment: "hm".into(),
            scope: Scope::Once,
            subject_hash: None,
            edited_input: edited,
        };
        command(&house.engine, &run, Command::Resolve(resolution), &Caller::default()).await.unwrap();
        work.await.unwrap().unwrap();
        house.check(&run).await;
        assert_eq!(last(&house.events(&run).await).0, ended.0);
        assert_eq!(std::fs::read_to_string(house.work().join("out.txt")).unwrap(), ended.1);
    }
}

#[tokio::test]
async fn ep_17_a_planned_call_that_was_cut_off_is_not_repeated() {
    let house = House::new(NOBODY);
    let run = house.make(shell("echo once >> out.txt; sleep 100", "full")).await.unwrap();
    let (engine, named) = (house.engine.clone(), run.clone());
    let work = tokio::spawn(async move { engine.work(&named, Claim::default(), CancellationToken::new()).await });
    house.until(&run, "tool.shell.command").await;
    work.abort();
    let _ = work.await;
    let lease = house.store.lease(&run).await.unwrap().unwrap();
    house.store.release(&lease).await.unwrap();
    house.finish(&run).await;
    let events = house.events(&run).await;
    assert_eq!(events.iter().filter(|(type_name, _)| type_name == "tool.invoked").count(), 1);
    assert_eq!(last(&events).1["code"], "tool_failed");
}

#[tokio::test]
async fn what_no_model_hears_and_no_log_keeps_is_refused() {
    let house = House::new(NOBODY);
    let refused = house.make(shell(&format!("echo {SECRET}"), "full")).await;
    assert!(matches!(refused, Err(TaskError::Create(CreateError::SecretInPlan))), "{refused:?}");
    let run = house.make(shell("true", "full")).await.unwrap();
    let say = Command::Message { text: "hello".into(), client_message_id: None, artifact_ids: Vec::new() };
    let refused = command(&house.engine, &run, say, &Caller::default()).await;
    assert!(matches!(refused, Err(CommandError::Refused(_))), "{refused:?}");
}
