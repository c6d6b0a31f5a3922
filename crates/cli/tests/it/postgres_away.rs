//! A database that goes away while others rely on it, and comes back.

use std::time::{Duration, Instant};

use r1_event::RunId;
use r1_event::exchange::Format;
use r1_store::{PostgresOptions, PostgresStore, Store as _};
use serde_json::Value;

use crate::pg_server::Cluster;
use crate::serving::Serving;
use crate::support::{OTHER_RUN, RUN, Sandbox, finished, text};

/// Longer than it may take, so that only what does not come at all fails.
const AGES: Duration = Duration::from_secs(120);

struct Answer {
    status: u16,
    retry_after: Option<String>,
    body: String,
    took: Duration,
}

async fn get(server: &Serving, path: &str) -> Answer {
    let begun = Instant::now();
    let request = reqwest::Client::new().get(format!("{}{path}", server.url()));
    let response = request.bearer_auth(server.said["token"].as_str().unwrap()).send().await.unwrap();
    let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    Answer { status, retry_after, body: response.text().await.unwrap(), took: begun.elapsed() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_database_goes_away_says_so_and_goes_on_when_it_is_back() {
    let (sandbox, cluster) = (Sandbox::new(), Cluster::private());
    let store = format!("{}?schema=away", cluster.url());
    let import = |run: &str| {
        let file = sandbox.file("run.cborseq", Format::Cborseq, &finished(run));
        sandbox.ok(&["--store", &store, "log", "import", text(&file)]);
    };
    import(RUN);
    let server = Serving::start(&sandbox, &["--store", &store]);
    assert_eq!(get(&server, "/readyz").await.status, 200);
    assert_eq!(get(&server, "/hecate/v1/runs").await.status, 200);

    cluster.stop();
    let ready = get(&server, "/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.body);
    assert!(ready.took < Duration::from_secs(10), "whoever asks does not wait for the store: {:?}", ready.took);
    let answer = get(&server, "/hecate/v1/runs").await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(answer.retry_after.as_deref(), Some("5"));
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (&body["error"]["code"], &body["error"]["retriable"]),
        (&"crash_recovery".into(), &true.into()),
        "{body}"
    );

    cluster.start();
    let back = async {
        while get(&server, "/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
        assert_eq!(get(&server, "/hecate/v1/runs").await.status, 200);
        // What is new is indexed although nobody asks the server for it.
        import(OTHER_RUN);
        let store = PostgresStore::open(&store, PostgresOptions::default()).await.unwrap();
        let run: RunId = OTHER_RUN.parse().unwrap();
        while store.document("index.runs", run.as_str()).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        store.close().await.unwrap();
    };
    tokio::time::timeout(AGES, back).await.unwrap();
}
