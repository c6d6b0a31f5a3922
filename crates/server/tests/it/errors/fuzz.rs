//! Whatever is asked, it is never our fault.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use reqwest::Method;
use serde_json::Value;

use crate::access::all_routes;
use crate::support::Server;

/// A request that somebody might send.
#[derive(Clone, Debug)]
struct Asked {
    route: Index,
    ids: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        select(vec!["0", "-1", "1", "18446744073709551616", "now", "true", "json", "ndjson", "sse", "run.*", "x", "*"])
            .prop_map(str::to_owned),
        "[ -~]{0,12}",
        "\\PC{0,6}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    let known = [
        "limit",
        "cursor",
        "status",
        "kind",
        "types",
        "after_sequence",
        "from_sequence",
        "format",
        "include",
        "dialect",
        "sequence",
        "size",
        "from_size",
        "to_size",
        "task_id",
        "run_id",
        "q",
        "tag",
        "name",
        "checkpoint",
        "nothing",
    ];
    select(known.to_vec()).prop_map(str::to_owned)
}

fn header() -> impl Strategy<Value = (&'static str, String)> {
    let names = [
        "accept",
        "content-type",
        "last-event-id",
        "range",
        "if-none-match",
        "idempotency-key",
        "traceparent",
        "x-request-id",
        "accept-encoding",
    ];
    let values = prop_oneof![
        select(vec!["application/json", "text/html", "*/*", "bytes=0-", "bytes=5-1,7", "k", "\"x\"", "gzip"])
            .prop_map(str::to_owned),
        "[!-~]{0,20}",
    ];
    (select(names.to_vec()), values)
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    let key = select(vec![
        "prompt",
        "kind",
        "command",
        "operations",
        "budget",
        "tags",
        "start",
        "text",
        "type",
        "data",
        "reason",
        "decision",
        "at_sequence",
        "from_sequence",
        "workspace",
        "title",
        "priority",
        "x",
    ]);
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((key.clone().prop_map(str::to_owned), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => json().prop_map(|value| value.to_string().into_bytes()), 1 => vec(any::<u8>(), 0..40)]
}

fn asked(ids: Vec<String>) -> impl Strategy<Value = Asked> {
    let id = prop_oneof![select(ids), "[!-~]{1,20}".prop_map(|text| text.replace(['/', '?', '#', '%'], "_"))];
    let query = vec((name(), word()), 0..3);
    (any::<Index>(), vec(id, 4), query, vec(header(), 0..3), proptest::option::of(body()))
        .prop_map(|(route, ids, query, headers, body)| Asked { route, ids, query, headers, body })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_28_fuzzed_requests_are_never_our_fault() {
    let server = Server::start().await;
    let open = server.new_run("").await.to_string();
    let ended = server.finished_run("turns: [{ text: done }]").await.to_string();
    let tasks = server.json("/hecate/v1/tasks").await;
    let mut ids = vec![open, ended];
    ids.extend(tasks["data"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()));
    let mut routes = all_routes(&server).await;
    routes.retain(|(_, path, _)| path != "/v1/daemon/shutdown");

    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let mut runner = TestRunner::new(Config { cases: 400, ..Config::default() });
        runner
            .run(&asked(ids), |asked| {
                let (method, path, _) = &routes[asked.route.index(routes.len())];
                handle.block_on(send(&server, method, path, &asked)).map_err(TestCaseError::fail)
            })
            .unwrap();
    })
    .await
    .unwrap();
}

async fn send(server: &Server, method: &Method, path: &str, asked: &Asked) -> Result<(), String> {
    let mut ids = asked.ids.iter().cycle();
    let fill = |segment: &str| match segment.starts_with('{') {
        true => ids.next().cloned().unwrap_or_default(),
        false => segment.to_owned(),
    };
    let path = path.split('/').map(fill).collect::<Vec<_>>().join("/");
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&asked.query).finish();
    let path = if query.is_empty() { path } else { format!("{path}?{query}") };
    let mut request = server.request(method.clone(), &path).timeout(Duration::from_secs(20));
    if asked.body.is_some() && !asked.headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in &asked.headers {
        request = request.header(*name, value);
    }
    if let Some(body) = &asked.body {
        request = request.body(body.clone());
    }
    let answer = request.send().await.map_err(|err| format!("{method} {path}: {err:?}"))?;
    let status = answer.status().as_u16();
    if status == 500 {
        return Err(format!("{method} {path}: {}", answer.text().await.unwrap_or_default()));
    }
    if status >= 400 && method != Method::HEAD {
        let text = answer.text().await.map_err(|err| err.to_string())?;
        let body: Value = serde_json::from_str(&text).map_err(|err| format!("{method} {path}: {err}: {text}"))?;
        for member in ["code", "message", "request_id"] {
            if !body["error"][member].is_string() {
                return Err(format!("{method} {path}: {text}"));
            }
        }
    }
    Ok(())
}
