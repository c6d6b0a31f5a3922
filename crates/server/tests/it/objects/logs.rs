//! A run's log, receipt, proofs and verdict.

use r1_runtime::control::proof::verify;
use serde_json::{Value, json};

use crate::support::{Server, error_of};

const DONE: &str = "turns: [{tool_calls: [{tool: echo}]}, {text: done}]";

#[tokio::test]
async fn a_log_is_exported_lossless_in_both_formats() {
    let server = Server::start().await;
    let run = server.finished_run(DONE).await;
    let last = server.json(&format!("/hecate/v1/runs/{run}")).await["data"]["last_sequence"].as_u64().unwrap();
    let answer = server.get(&format!("/hecate/v1/runs/{run}/log")).await;
    assert_eq!(answer.headers()["content-type"], "application/cbor-seq");
    assert!(answer.headers()["content-disposition"].to_str().unwrap().contains(&format!("{run}.cborseq")));
    let bytes = answer.bytes().await.unwrap();

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.cborseq");
    std::fs::write(&file, &bytes).unwrap();
    let log = r1_runtime::source::open_file(&file).unwrap();
    let r1_runtime::source::LogFile::Logs(mut logs) = log else { panic!("an export is a file of logs") };
    let other: r1_store::SharedStore = std::sync::Arc::new(r1_store::MemoryStore::new());
    let keyring = r1_runtime::Keyring::default();
    let imported =
        r1_runtime::control::import::import(&other, logs.remove(0), &keyring, Default::default()).await.unwrap();
    assert_eq!((imported.run_id, imported.added), (run.clone(), last + 1));

    let lines = server.get(&format!("/hecate/v1/runs/{run}/log?format=ndjson")).await.text().await.unwrap();
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert!(lines.lines().count() as u64 > last);
    error_of(server.get(&format!("/hecate/v1/runs/{run}/log?format=xml")).await, 400, "validation").await;
}

#[tokio::test]
async fn a_log_may_be_compressed_on_its_way() {
    let server = Server::start().await;
    let run = server.finished_run(DONE).await;
    let path = format!("/hecate/v1/runs/{run}/log?format=ndjson");
    let request = server.request(reqwest::Method::GET, &path).header("accept-encoding", "gzip");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let bytes = answer.bytes().await.unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b], "it comes whole");
}

#[tokio::test]
async fn a_proof_stands_on_its_own() {
    let server = Server::start().await;
    let run = server.finished_run(DONE).await;
    let path = |query: &str| format!("/hecate/v1/runs/{run}/proof?{query}");
    for query in ["sequence=2", "sequence=0&size=3", "from_size=2", "from_size=2&to_size=5"] {
        let proof = server.json(&path(query)).await;
        assert_eq!(proof["object"], "proof", "{query}");
        let file = proof["data"].to_string();
        verify(file.as_bytes(), &r1_runtime::Keyring::default()).unwrap_or_else(|err| panic!("{query}: {err}"));
    }
    for query in ["", "size=3", "sequence=1&from_size=2", "sequence=1&to_size=3", "sequence=5&size=3", "sequence=10000"]
    {
        error_of(server.get(&path(query)).await, 400, "validation").await;
    }
}

#[tokio::test]
async fn the_verdict_of_a_sound_log() {
    let server = Server::start().await;
    let run = server.finished_run(DONE).await;
    let verdict = server.json(&format!("/hecate/v1/runs/{run}/verdict")).await;
    assert_eq!(verdict["object"], "verdict");
    let data = &verdict["data"];
    assert_eq!(
        (&data["run_id"], &data["integrity"], &data["state"]),
        (&json!(run.as_str()), &json!("ok"), &json!("complete"))
    );
    assert_eq!(data["structure"]["findings"], json!([]));
}
