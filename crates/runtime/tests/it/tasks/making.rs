//! What a request for a task becomes.

use r1_protocol::api::{Budget, NewTask, Operation, Priority, TaskKind, WorkspaceRequest};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::go_on::{Changes, retry};
use r1_runtime::control::task::TaskError;
use serde_json::{Value, json};

use super::shop::{House, in_mode, prompt};

const DONE: &str = "turns: [{text: done}]";

#[tokio::test]
async fn a_task_is_all_in_its_first_event() {
    let house = House::new(DONE);
    let wanted = NewTask {
        title: Some("Leap years".into()),
        priority: Some(Priority::High),
        tags: serde_json::from_value(json!({ "team": "calendar" })).unwrap(),
        budget: Some(Budget { micros_usd: 500, turns: 7, ..Budget::default() }),
        start: Some(false),
        ..prompt("mend it")
    };
    let run = house.make(wanted).await.unwrap();
    let events = house.events(&run).await;
    let (type_name, data) = &events[0];
    assert_eq!(type_name, "run.queued");
    assert_eq!(
        (&data["title"], &data["number"], &data["priority"], &data["held"], &data["kind"]),
        (&json!("Leap years"), &json!(1), &json!("high"), &json!(true), &json!("agent_loop"))
    );
    assert_eq!(data["budget"], json!({ "micros_usd": 500, "turns": 7 }));
    assert_eq!(events[1].1["text"], "mend it");
    assert!(house.state(&run).await.task_id.unwrap().starts_with("task_"));
}

#[tokio::test]
async fn every_fault_of_a_request_is_named_with_its_place() {
    let house = House::new(DONE);
    let faults = |wanted: Value| {
        let house = &house;
        async move {
            match house.make(serde_json::from_value(wanted).unwrap()).await {
                Err(TaskError::Invalid(faults)) => faults.into_iter().map(|fault| fault.path).collect::<Vec<_>>(),
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(faults(json!({})).await, ["/prompt"]);
    assert_eq!(faults(json!({ "prompt": " ", "command": "ls" })).await, ["/command", "/prompt"]);
    assert_eq!(faults(json!({ "kind": "shell", "command": [], "model": "m" })).await, ["/command", "/model"]);
    assert_eq!(faults(json!({ "kind": "git", "command": "git" })).await, ["/command"]);
    let operations = json!([{ "op": "write", "path": "a" }, { "op": "delete", "path": "", "content": "x" }]);
    assert_eq!(
        faults(json!({ "kind": "file", "operations": operations })).await,
        ["/operations/0/content", "/operations/1/path", "/operations/1/content"]
    );
    let wrong = json!({
        "prompt": "x", "title": "", "tags": { "a/b": 1 }, "budget": { "warning_pct": [80, 101] },
        "workspace": { "path": "not/absolute", "mode": "cloud" },
    });
    assert_eq!(
        faults(wrong).await,
        ["/title", "/tags/a~1b", "/budget/warning_pct/1", "/workspace/mode", "/workspace/path", "/workspace/path"]
    );
    assert_eq!(faults(json!({ "prompt": "x", "provider": "nobody" })).await, ["/provider"]);
    let servers = json!({ "prompt": "x", "mcp_servers": [{ "name": "a", "command": ["true"], "no": 1 }, {}] });
    assert_eq!(faults(servers).await, ["/mcp_servers/0", "/mcp_servers/1"]);
}

#[tokio::test]
async fn ep_21_a_clone_is_made_when_the_run_is_taken_and_a_retry_gets_a_fresh_one() {
    let house =
        House::new("turns: [{tool_calls: [{tool: file_write, input: {path: a.txt, content: new}}]}, {text: done}]");
    std::fs::write(house.work().join("a.txt"), "old").unwrap();
    let run = house.make(in_mode(prompt("write it"), "clone")).await.unwrap();
    let first = house.state(&run).await.workspace_path;
    assert!(!std::path::Path::new(&first).exists(), "not before someone takes the run");
    house.finish(&run).await;
    assert!(!house.types(&run).await.contains(&"approval.requested".into()), "edits are allowed in a clone");
    let text = |path: &str| std::fs::read_to_string(std::path::Path::new(path).join("a.txt")).unwrap();
    assert_eq!((text(&first).as_str(), text(house.work().to_str().unwrap()).as_str()), ("new", "old"));

    let again = retry(&house.engine, &run, Changes::default(), &Caller::default()).await.unwrap();
    let state = house.state(&again).await;
    assert_eq!((state.number, &state.task_id), (2, &house.state(&run).await.task_id));
    assert_ne!(state.workspace_path, first);
    assert!(state.system.contains(&state.workspace_path) && !state.system.contains(&first));
    house.finish(&again).await;
    assert_eq!(text(&state.workspace_path), "new");
}

#[tokio::test]
async fn a_workspace_that_cannot_be_made_fails_the_run() {
    let house = House::new(DONE);
    let run = house.play(in_mode(prompt("work"), "worktree")).await;
    let events = house.events(&run).await;
    let (type_name, data) = events.last().unwrap();
    assert_eq!((type_name.as_str(), data["code"].as_str()), ("run.failed", Some("workspace_failed")));
}

#[tokio::test]
async fn work_without_a_place_gets_an_empty_one() {
    let house = House::new(DONE);
    std::fs::write(house.work().join("a.txt"), "old").unwrap();
    let run = house.play(in_mode(prompt("think"), "none")).await;
    let place = house.state(&run).await.workspace_path;
    assert_eq!(std::fs::read_dir(place).unwrap().count(), 0);
}

#[tokio::test]
async fn a_place_and_a_kind_are_taken_as_asked() {
    let house = House::new(DONE);
    let other = house.dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let workspace = WorkspaceRequest { path: Some(other.to_str().unwrap().into()), ..WorkspaceRequest::default() };
    let operations = vec![r1_protocol::api::FileOperation {
        op: Operation::Write,
        path: "b.txt".into(),
        content: Some("hello".into()),
    }];
    let wanted = NewTask {
        kind: TaskKind::File,
        operations: Some(operations),
        workspace: Some(workspace),
        approval: Some(serde_json::from_value(json!({ "policy": "edits" })).unwrap()),
        ..NewTask::default()
    };
    house.play(wanted).await;
    assert_eq!(std::fs::read_to_string(other.join("b.txt")).unwrap(), "hello");
}
