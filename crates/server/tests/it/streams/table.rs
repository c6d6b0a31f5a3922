//! Every row of the tables of cursors and forms.

use serde_json::{Value, json};

use super::desk::{Desk, TASK};
use super::sse::{Sse, request};
use crate::support::{Server, error_of, json_of};

/// Sequences of the events that a page has.
fn sequences(list: &Value) -> Vec<u64> {
    list["data"].as_array().unwrap().iter().map(|event| event["sequence"].as_u64().unwrap()).collect()
}

/// A run of ten events: 0…9.
async fn ten(server: &Server, ended: bool) -> Desk {
    let mut desk = Desk::new(&server.store).await;
    desk.chatter(if ended { 8 } else { 9 }).await;
    if ended {
        desk.finish().await;
    }
    desk
}

#[tokio::test]
async fn ep_07_each_accept_gives_its_form() {
    let server = Server::start().await;
    let path = ten(&server, true).await.path();
    for (accept, kind) in [
        (None, "application/json"),
        (Some("*/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (Some("text/html, */*;q=0.1"), "application/json"),
        (Some("text/event-stream"), "text/event-stream; charset=utf-8"),
        (Some("application/json;q=0.4, text/event-stream;q=0.5"), "text/event-stream; charset=utf-8"),
        (Some("application/x-ndjson"), "application/x-ndjson"),
    ] {
        let mut asked = server.request(reqwest::Method::GET, &path);
        if let Some(accept) = accept {
            asked = asked.header("accept", accept);
        }
        let answer = asked.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{accept:?}");
        assert_eq!(answer.headers()["content-type"], kind, "{accept:?}");
        assert!(answer.headers()["vary"].to_str().unwrap().eq_ignore_ascii_case("accept"), "{accept:?}");
    }
    let refused = server.request(reqwest::Method::GET, &path).header("accept", "text/html").send().await.unwrap();
    error_of(refused, 406, "validation").await;
    for (format, kind) in
        [("sse", "text/event-stream; charset=utf-8"), ("json", "application/json"), ("ndjson", "application/x-ndjson")]
    {
        let asked = server.request(reqwest::Method::GET, &format!("{path}?format={format}"));
        let answer = asked.header("accept", "text/html").send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], kind);
    }
    error_of(server.get(&format!("{path}?format=xml")).await, 400, "validation").await;
}

#[tokio::test]
async fn ep_07_each_cursor_begins_where_it_says() {
    let server = Server::start().await;
    let path = ten(&server, false).await.path();
    let all: Vec<u64> = (0..10).collect();
    for (query, header, first) in [
        ("", None, 0),
        ("after_sequence=-1", None, 0),
        ("from_sequence=0", None, 0),
        ("from_sequence=1", None, 1),
        ("from_sequence=7", None, 7),
        ("", Some("0"), 1),
        ("", Some("6"), 7),
        ("after_sequence=1", None, 2),
        ("after_sequence=8", None, 9),
        ("after_sequence=0", None, 0),
        ("after_sequence=0", Some("0"), 1),
        ("from_sequence=3", Some("6"), 7),
        ("from_sequence=8", Some("2"), 8),
        ("after_sequence=4", Some("2"), 5),
        ("after_sequence=9", None, 10),
        ("from_sequence=77", None, 10),
    ] {
        let mut asked = server.request(reqwest::Method::GET, &format!("{path}?{query}"));
        if let Some(id) = header {
            asked = asked.header("last-event-id", id);
        }
        let list = json_of(asked.send().await.unwrap(), 200).await;
        assert_eq!(sequences(&list), all[first..], "{query} {header:?}");
        assert_eq!(list["object"], "list");
        assert_eq!(list["has_more"], false);
        assert_eq!(list["last_sequence"], 9);
        assert_eq!(list["terminal"], false);
        if first < 10 {
            assert_eq!(list["next_after_sequence"], 9, "{query}");
            let mut stream = {
                let url = format!("{}{path}?{query}", server.url);
                Sse::of(request(&url, header).await.unwrap())
            };
            for sequence in first..10 {
                let event = stream.event().await.unwrap();
                assert_eq!(event.id, Some(sequence.to_string()), "{query} {header:?}");
            }
            let lines = server.request(reqwest::Method::GET, &format!("{path}?{query}&format=ndjson"));
            let lines = lines.header("last-event-id", header.unwrap_or("")).send().await.unwrap();
            assert_eq!(lines.text().await.unwrap().lines().count(), 10 - first, "{query} {header:?}");
        }
    }
}

#[tokio::test]
async fn ep_07_an_empty_page_gives_the_cursor_back() {
    let server = Server::start().await;
    let path = ten(&server, false).await.path();
    for (query, next) in
        [("after_sequence=9", json!(9)), ("from_sequence=20", json!(19)), ("types=run.failed", Value::Null)]
    {
        let list = server.json(&format!("{path}?{query}")).await;
        assert_eq!((sequences(&list), &list["next_after_sequence"]), (vec![], &next), "{query}");
    }
}

#[tokio::test]
async fn ep_07_event_0_comes_again_after_0_and_takes_no_place_on_the_page() {
    let server = Server::start().await;
    let path = ten(&server, false).await.path();
    let list = server.json(&format!("{path}?after_sequence=0&limit=1")).await;
    assert_eq!(sequences(&list), [0, 1]);
    assert_eq!(list["next_after_sequence"], 1);
    let list = server.json(&format!("{path}?after_sequence=0&limit=3")).await;
    assert_eq!(sequences(&list), [0, 1, 2, 3]);
    let list = server.json(&format!("{path}?from_sequence=0&limit=3")).await;
    assert_eq!(sequences(&list), [0, 1, 2]);
}

#[tokio::test]
async fn ep_07_each_refusal_names_what_is_wrong() {
    let server = Server::start().await;
    let path = ten(&server, false).await.path();
    for (query, named) in [
        ("from_sequence=1&after_sequence=1", "?after_sequence"),
        ("after_sequence=x", "?after_sequence"),
        ("after_sequence=1.5", "?after_sequence"),
        ("after_sequence=-2", "?after_sequence"),
        ("after_sequence=", "?after_sequence"),
        ("from_sequence=-1", "?from_sequence"),
        ("from_sequence=99999999999999999999", "?from_sequence"),
        ("limit=0", "?limit"),
        ("limit=-5", "?limit"),
        ("limit=ten", "?limit"),
        ("wait_ms=-1", "?wait_ms"),
        ("follow=yes", "?follow"),
        ("types=run", "?types"),
        ("types=*.run", "?types"),
        ("include=secrets", "?include"),
        ("dialect=klingon", "?dialect"),
        ("sse_event=name", "?sse_event"),
        ("nonsense=1", "?nonsense"),
    ] {
        let error = error_of(server.get(&format!("{path}?{query}")).await, 400, "validation").await;
        assert_eq!(error["details"][0]["path"], named, "{query}: {error}");
    }
    for id in ["x", "-1", "1.5", "99999999999999999999999"] {
        let asked = server.request(reqwest::Method::GET, &path).header("last-event-id", id);
        error_of(asked.send().await.unwrap(), 400, "validation").await;
    }
    error_of(server.get("/hecate/v1/runs/run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B/events").await, 404, "not_found").await;
}

#[tokio::test]
async fn ep_07_beyond_the_end_an_open_run_waits_and_an_ended_one_has_no_content() {
    let server = Server::start().await;
    let ended = ten(&server, true).await.path();
    for query in ["after_sequence=9", "from_sequence=10", "from_sequence=500"] {
        let answer = request(&format!("{}{ended}?{query}", server.url), None).await.unwrap();
        assert_eq!(answer.status(), 204, "{query}");
        assert!(answer.bytes().await.unwrap().is_empty());
    }
    assert_eq!(request(&format!("{}{ended}", server.url), Some("9")).await.unwrap().status(), 204);
    let mut desk = ten(&server, false).await;
    let mut stream = Sse::open(&format!("{}{}?from_sequence=11", server.url, desk.path()), None).await;
    assert_eq!(stream.block().await.unwrap().comments, ["open"]);
    desk.chatter(2).await;
    assert_eq!(stream.event().await.unwrap().id.as_deref(), Some("11"), "event 10 was not asked for");
}

#[tokio::test]
async fn every_form_of_an_id_leads_to_the_run_and_a_foreign_task_does_not() {
    let server = Server::start().await;
    let desk = ten(&server, true).await;
    let ulid = desk.run.ulid_text().unwrap();
    let uuid = uuid_of(ulid);
    for id in [desk.run.to_string(), ulid.into(), format!("chat_{ulid}"), format!("sess_{ulid}"), uuid] {
        let list = server.json(&format!("/hecate/v1/runs/{id}/events")).await;
        assert_eq!(sequences(&list).len(), 10, "{id}");
    }
    let list = server.json(&format!("/hecate/v1/tasks/{TASK}/runs/{}/events", desk.run)).await;
    assert_eq!(sequences(&list).len(), 10);
    let foreign = format!("/hecate/v1/tasks/task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6D/runs/{}/events", desk.run);
    error_of(server.get(&foreign).await, 404, "not_found").await;
    for short in [&desk.run.as_str()[..20], "last"] {
        error_of(server.get(&format!("/hecate/v1/runs/{short}/events")).await, 404, "not_found").await;
    }
}

fn uuid_of(ulid: &str) -> String {
    let hex = format!("{:032x}", ulid::Ulid::from_string(ulid).unwrap().0);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[tokio::test]
async fn filters_views_and_dialects_are_the_same_in_every_form() {
    let server = Server::start().await;
    let path = ten(&server, true).await.path();
    let list = server.json(&format!("{path}?types=run.*,external.thing")).await;
    let types: Vec<_> = list["data"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["run.queued", "external.thing", "run.finished"]);
    let hidden = server.json(&format!("{path}?types=assistant.thinking_complete")).await;
    assert_eq!(hidden["data"][0]["data"], json!({ "block_index": 0, "hidden": true, "turn_index": 2 }));
    let shown = server.json(&format!("{path}?types=assistant.thinking_complete&include=thinking")).await;
    assert_eq!(shown["data"][0]["data"]["text"], "thought 2");
    for types in ["turn.started", "model.call.*"] {
        let renamed = server.json(&format!("{path}?types={types}&dialect=model_call")).await;
        assert_eq!(renamed["data"][0]["type"], "model.call.started", "{types}");
        assert_eq!(renamed["data"][0]["data"]["model_call_index"], 2, "turn 1 is call 2");
    }
    let url = format!("{}{path}?types=turn.*&dialect=model_call&sse_event=type", server.url);
    let (events, _) = Sse::open(&url, None).await.until_end().await;
    assert_eq!(events[0].event.as_deref(), Some("model.call.started"));
    let (plain, _) = Sse::open(&format!("{}{path}", server.url), None).await.until_end().await;
    assert!(plain.iter().all(|event| event.event.is_none()), "else onmessage would not hear of unknown types");
}
