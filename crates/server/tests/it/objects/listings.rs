//! Objects and pages of them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Server, error_of};

const DONE: &str = "turns: [{text: done, cost_micros_usd: 3}]";

fn ids(list: &Value) -> Vec<&str> {
    assert_eq!(list["object"], "list");
    list["data"].as_array().unwrap().iter().map(|object| object["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_run_and_its_task_are_served_under_both_paths() {
    let server = Server::start().await;
    let run = server.finished_run(DONE).await;
    let task = format!("task_{}", run.ulid_text().unwrap());
    let alone = server.json(&format!("/hecate/v1/runs/{run}")).await;
    assert_eq!(alone["object"], "run");
    let data = &alone["data"];
    assert_eq!(
        (&data["id"], &data["task_id"], &data["status"]),
        (&json!(run.as_str()), &json!(task), &json!("completed"))
    );
    assert_eq!((&data["turns"], &data["cost_micros_usd"], &data["number"]), (&json!(1), &json!(3), &json!(1)));
    for key in ["session_id", "parent_run_id", "forked_from", "error", "lease_until", "pruned_through", "trace_id"] {
        assert!(data.get(key).is_some(), "{key} is there, null or not");
    }
    assert_eq!(server.json(&format!("/hecate/v1/tasks/{task}/runs/{run}")).await, alone);
    let other = server.finished_run(DONE).await;
    let elsewhere = server.get(&format!("/hecate/v1/tasks/{task}/runs/{other}")).await;
    error_of(elsewhere, 404, "not_found").await;

    let shown = server.json(&format!("/hecate/v1/tasks/{task}")).await;
    assert_eq!(shown["object"], "task");
    assert_eq!((&shown["data"]["latest_run_id"], &shown["data"]["run_count"]), (&json!(run.as_str()), &json!(1)));
    assert_eq!(ids(&server.json(&format!("/hecate/v1/tasks/{task}/runs")).await), [run.as_str()]);
    assert_eq!(ids(&server.json("/hecate/v1/runs").await), [other.as_str(), run.as_str()]);
    assert_eq!(server.json("/hecate/v1/tasks").await["data"].as_array().unwrap().len(), 2);
    assert!(ids(&server.json(&format!("/hecate/v1/runs/{run}/children")).await).is_empty());
}

#[tokio::test]
async fn lists_are_filtered_and_paged_and_say_what_is_wrong_with_a_question() {
    let server = Server::start().await;
    for _ in 0..3 {
        server.new_run(DONE).await;
    }
    let done = server.finished_run(DONE).await;
    assert_eq!(ids(&server.json("/hecate/v1/runs?status=completed").await), [done.as_str()]);
    assert_eq!(ids(&server.json("/hecate/v1/runs?status=queued").await).len(), 3);
    assert_eq!(ids(&server.json("/hecate/v1/tasks?status=queued").await).len(), 3);
    assert_eq!(ids(&server.json(&format!("/hecate/v1/runs?q={}", &done.as_str()[10..])).await), [done.as_str()]);
    let first = server.json("/hecate/v1/runs?limit=3").await;
    assert_eq!((first["has_more"].clone(), ids(&first).len()), (json!(true), 3));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = server.json(&format!("/hecate/v1/runs?limit=3&cursor={cursor}")).await;
    assert_eq!((&second["has_more"], &second["next_cursor"], ids(&second).len()), (&json!(false), &Value::Null, 1));

    for (path, parameter) in [
        ("/hecate/v1/runs?status=done", "?status"),
        ("/hecate/v1/runs?limit=0", "?limit"),
        ("/hecate/v1/runs?colour=red", "?colour"),
        ("/hecate/v1/runs?cursor=made-up", "?cursor"),
        (&format!("/hecate/v1/tasks?cursor={cursor}"), "?cursor"),
        ("/hecate/v1/approvals?status=maybe", "?status"),
        ("/hecate/v1/artifacts?cursor=x", "?cursor"),
    ] {
        let error = error_of(server.get(path).await, 400, "validation").await;
        assert_eq!(error["details"][0]["path"], parameter, "{path}");
    }
    for path in [
        "/hecate/v1/runs/run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B",
        "/hecate/v1/tasks/task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B",
        "/hecate/v1/tasks/task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B/runs",
        "/hecate/v1/tasks/task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B/approvals",
        "/hecate/v1/approvals/appr_none",
        "/hecate/v1/artifacts/art_none",
        "/hecate/v1/artifacts/art_none/raw",
        "/hecate/v1/runs/run_none/log",
        "/hecate/v1/runs/run_none/verdict",
    ] {
        let error = error_of(server.get(path).await, 404, "not_found").await;
        assert!(error["message"].as_str().unwrap().starts_with("there is no"), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_task_is_never_deleted() {
    let server = Server::start().await;
    let run = server.finished_run(DONE).await;
    let task = format!("/hecate/v1/tasks/task_{}", run.ulid_text().unwrap());
    let answer = server.request(Method::DELETE, &task).send().await.unwrap();
    assert_eq!(answer.headers()["allow"], "GET, HEAD, PATCH");
    error_of(answer, 405, "append_only_violation").await;
    assert_eq!(server.json(&task).await["object"], "task");
}

#[tokio::test]
async fn a_pending_approval_is_found_everywhere() {
    let server = Server::start().await;
    let mut new = server.wanted("turns: [{tool_calls: [{tool: act, input: {x: 1}}]}]");
    new.spec.approval = r1_runtime::policy::ApprovalMode::Ask;
    let run = server.create(new).await;
    let work = server.work(&run);
    let task = format!("task_{}", run.ulid_text().unwrap());
    let id = loop {
        let pending = server.json("/hecate/v1/approvals?status=pending").await;
        match ids(&pending).first() {
            Some(id) => break (*id).to_owned(),
            None => tokio::task::yield_now().await,
        }
    };
    let one = server.json(&format!("/hecate/v1/approvals/{id}")).await;
    assert_eq!((&one["object"], &one["data"]["status"]), (&json!("approval"), &json!("pending")));
    assert_eq!((&one["data"]["tool_name"], &one["data"]["run_id"]), (&json!("act"), &json!(run.as_str())));
    for path in [
        format!("/hecate/v1/runs/{run}/approvals"),
        format!("/hecate/v1/tasks/{task}/runs/{run}/approvals"),
        format!("/hecate/v1/tasks/{task}/approvals?status=pending"),
    ] {
        assert_eq!(ids(&server.json(&path).await), [id.as_str()], "{path}");
    }
    let shown = server.json(&format!("/hecate/v1/runs/{run}")).await;
    assert_eq!(
        (&shown["data"]["status"], &shown["data"]["pending_approvals"]),
        (&json!("awaiting_approval"), &json!(1))
    );
    work.abort();
}

#[tokio::test]
async fn ep_30_a_log_of_starling_is_found_under_the_id_that_it_is_served_under() {
    use r1_event::payload::RunStarted;
    use r1_event::{Batch, Chain, Payload, RunId, UnixNanos, Version};
    let server = Server::start().await;
    let run: RunId = "nightly build".parse().unwrap();
    let at = UnixNanos(1_700_000_000_000_000_000);
    let started = RunStarted { schema_version: 1, goal: "build".into(), ..RunStarted::default() };
    let mut batch = Batch::new(&Chain::empty(run.clone(), Version::V1));
    batch.push_v1(at, Payload::RunStarted(Box::new(started))).unwrap();
    let lease = server.store.acquire(&run, "test", std::time::Duration::from_secs(60)).await.unwrap().lease;
    server.store.append(&lease, batch).await.unwrap();
    let served = r1_protocol::id::run_id(run.as_str(), at);
    let shown = server.json(&format!("/hecate/v1/runs/{served}")).await;
    assert_eq!((&shown["data"]["id"], &shown["data"]["status"]), (&json!(served), &json!("running")));
    let events = server.json(&format!("/hecate/v1/runs/{served}/events")).await;
    assert_eq!(events["data"][0]["run_id"], json!(served));
}
