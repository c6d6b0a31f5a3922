//! Artifacts, and their bytes.

use bytes::Bytes;
use r1_event::{Batch, Digest};
use r1_protocol::data::{ArtifactCreated, EventData};
use r1_runtime::RunWriter;
use r1_server::access::{Caps, Grant, tokens};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Server, error_of};

/// A server, and the path of a patch that it has.
async fn patched() -> (Server, String, Value) {
    let server = Server::start().await;
    std::fs::write(server.workspace().join("a"), "one\n").unwrap();
    let edit = "{tool: edit, input: {path: a, old_string: one, new_string: two}}";
    let run = server.finished_run(&format!("turns: [{{tool_calls: [{edit}]}}, {{text: done}}]")).await;
    let list = server.json(&format!("/hecate/v1/runs/{run}/artifacts?kind=patch")).await;
    let patch = list["data"][0].clone();
    assert_eq!(patch["diff"], Value::Null, "no bodies in lists");
    let path = format!("/hecate/v1/artifacts/{}", patch["id"].as_str().unwrap());
    (server, path, patch)
}

async fn raw(server: &Server, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = server.request(Method::GET, &format!("{path}/raw"));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn an_artifact_is_served_with_its_diff_and_found_by_what_it_is() {
    let (server, path, patch) = patched().await;
    let one = server.json(&path).await;
    assert_eq!(one["object"], "artifact");
    assert!(one["data"]["diff"].as_str().unwrap().contains("-one\n+two\n"));
    assert_eq!(one["data"]["stats"], json!({ "additions": 1, "deletions": 1, "hunks": 1 }));
    let (run, task) = (patch["produced_by_run_id"].as_str().unwrap(), patch["task_id"].as_str().unwrap());
    let call = patch["produced_by_tool_call_id"].as_str().unwrap();
    for (query, found) in [
        (format!("/hecate/v1/artifacts?kind=patch&run_id={run}"), 1),
        (format!("/hecate/v1/artifacts?kind=patch&task_id={task}&path=a"), 1),
        (format!("/hecate/v1/artifacts?kind=patch&tool_call_id={call}&status=applied"), 1),
        (format!("/hecate/v1/tasks/{task}/artifacts?kind=patch"), 1),
        (format!("/hecate/v1/tasks/{task}/runs/{run}/artifacts?kind=patch"), 1),
        ("/hecate/v1/artifacts?kind=patch&path=b".into(), 0),
        ("/hecate/v1/artifacts?kind=patch&status=rejected".into(), 0),
        ("/hecate/v1/artifacts?kind=image".into(), 0),
    ] {
        assert_eq!(server.json(&query).await["data"].as_array().unwrap().len(), found, "{query}");
    }
}

#[tokio::test]
async fn ep_26_the_bytes_are_served_whole_by_range_and_not_at_all() {
    let (server, path, patch) = patched().await;
    let whole = raw(&server, &path, &[]).await;
    assert_eq!(whole.status(), 200);
    let etag = format!("\"{}\"", patch["digest"].as_str().unwrap());
    for (name, value) in [
        ("etag", etag.as_str()),
        ("cache-control", "private, immutable"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox"),
        ("accept-ranges", "bytes"),
        ("content-type", "text/x-diff"),
    ] {
        assert_eq!(header(&whole, name), value, "{name}");
    }
    assert!(header(&whole, "content-disposition").starts_with("attachment"));
    let bytes = whole.bytes().await.unwrap();
    assert_eq!(format!("\"blake3:{}\"", Digest::blake3(&bytes)), etag);

    let size = bytes.len();
    for (range, part) in
        [("bytes=0-3", 0..4), ("bytes=4-", 4..size), ("bytes=-5", size - 5..size), ("bytes=2-100000", 2..size)]
    {
        let answer = raw(&server, &path, &[("range", range)]).await;
        assert_eq!(answer.status(), 206, "{range}");
        assert_eq!(header(&answer, "content-range"), format!("bytes {}-{}/{size}", part.start, part.end - 1));
        assert_eq!(answer.bytes().await.unwrap(), bytes[part], "{range}");
    }
    for range in ["bytes=0-1,3-4", "bytes=100000-", "bytes=3-1", "bytes=x"] {
        let answer = raw(&server, &path, &[("range", range)]).await;
        assert_eq!(header(&answer, "content-range"), format!("bytes */{size}"), "{range}");
        error_of(answer, 416, "validation").await;
    }
    let same = raw(&server, &path, &[("if-none-match", &etag)]).await;
    assert_eq!((same.status().as_u16(), header(&same, "etag")), (304, etag.as_str()));
    assert_eq!(raw(&server, &path, &[("if-none-match", "\"another\"")]).await.status(), 200);
    assert_eq!(raw(&server, &path, &[("if-range", &etag), ("range", "bytes=0-0")]).await.status(), 206);
    assert_eq!(raw(&server, &path, &[("if-range", "\"another\""), ("range", "bytes=0-0")]).await.status(), 200);

    let head = server.request(Method::HEAD, &format!("{path}/raw")).send().await.unwrap();
    assert_eq!((head.status().as_u16(), header(&head, "etag")), (200, etag.as_str()));
    assert_eq!(header(&head, "content-length"), size.to_string());
    assert!(head.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn ep_26_the_hash_of_a_body_is_checked_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let options = r1_store::SqliteOptions::default();
    let store = r1_store::SqliteStore::open(dir.path().join("r1.db"), options).await.unwrap();
    let server = Server::on(std::sync::Arc::new(store)).await;
    std::fs::write(server.workspace().join("a"), "one\n").unwrap();
    let edit = "{tool: edit, input: {path: a, old_string: one, new_string: two}}";
    server.finished_run(&format!("turns: [{{tool_calls: [{edit}]}}, {{text: done}}]")).await;
    let patch = server.json("/hecate/v1/artifacts?kind=patch").await["data"][0].clone();
    let path = format!("/hecate/v1/artifacts/{}", patch["id"].as_str().unwrap());
    let sound: Bytes = raw(&server, &path, &[]).await.bytes().await.unwrap();
    let digest = patch["digest"].as_str().unwrap().strip_prefix("blake3:").unwrap().to_owned();
    damage(dir.path(), &digest, &sound);
    error_of(raw(&server, &path, &[]).await, 500, "internal").await;
    error_of(raw(&server, &path, &[("range", "bytes=0-3")]).await, 500, "internal").await;
}

#[tokio::test]
async fn ep_29_the_bytes_of_an_artifact_with_a_secret_need_the_cap_write() {
    let server = Server::start().await;
    let run = server.new_run("turns: [{text: done}]").await;
    let diff = Bytes::from_static(b"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+key\n");
    let content = diff.clone();
    let stream = Box::pin(futures_util::stream::once(async move { Ok(content) }));
    let blob = server.store.blobs().put(stream).await.unwrap();
    let created = ArtifactCreated {
        artifact_id: "art_1".into(),
        kind: "patch".into(),
        size_bytes: blob.size,
        digest: format!("blake3:{}", blob.hash),
        contains_secrets: Some(true),
        ..ArtifactCreated::default()
    };
    let mut writer = RunWriter::open(server.store.clone(), run, "test", None).await.unwrap();
    let mut batch = Batch::new(writer.chain());
    let seq = batch.push(r1_runtime::world::now(), created.to_payload()).unwrap();
    batch.reference_blob(seq, blob.hash);
    writer.append_batch(batch).await.unwrap();
    writer.close().await.unwrap();

    let grant = Grant::Caps(Caps { write: false, debug: false });
    let (_, token) = tokens::create(&server.store, "reader", grant, None).await.unwrap();
    let reading = |path: &str| server.bare(Method::GET, path).bearer_auth(&token).send();
    let shown: Value = reading("/hecate/v1/artifacts/art_1").await.unwrap().json().await.unwrap();
    assert_eq!((&shown["data"]["contains_secrets"], &shown["data"]["diff"]), (&json!(true), &Value::Null));
    error_of(reading("/hecate/v1/artifacts/art_1/raw").await.unwrap(), 403, "permission_denied").await;
    assert_eq!(raw(&server, "/hecate/v1/artifacts/art_1", &[]).await.bytes().await.unwrap(), diff);
    assert!(server.json("/hecate/v1/artifacts/art_1").await["data"]["diff"].is_string());
}

/// Changes the file of a blob, wherever it is.
fn damage(dir: &std::path::Path, digest: &str, sound: &[u8]) {
    let mut directories = vec![dir.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| bytes == sound) {
                let mut bytes = sound.to_vec();
                bytes[0] ^= 1;
                let mut permissions = std::fs::metadata(&path).unwrap().permissions();
                #[expect(clippy::permissions_set_readonly_false, reason = "a file of this test alone")]
                permissions.set_readonly(false);
                std::fs::set_permissions(&path, permissions).unwrap();
                std::fs::write(&path, bytes).unwrap();
                return;
            }
        }
    }
    panic!("no file holds the blob {digest}");
}
