//! A server that is away is waited for, and then told to be so.

use std::sync::Arc;
use std::time::Duration;

use r1_store::conformance::sample::{Writer, batch, messages, run};
use r1_store::{AppendError, Obstacle, OpenError, PostgresOptions, PostgresStore, SharedStore, StoreError};

use crate::pg_server::Cluster;
use crate::postgres::{Schema, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_of_a_server_that_is_away_may_be_tried_again() {
    let cluster = Cluster::private();
    let schema = Schema::on(cluster.url());
    let impatient = PostgresOptions { patience: Duration::from_millis(300), ..options() };
    let store: SharedStore = Arc::new(schema.open_with(impatient).await);
    let mut writer = Writer::started(&store, &run(1)).await;

    cluster.stop();
    let err = store.head(&run(1)).await.unwrap_err();
    assert!(matches!(err, StoreError::Unavailable { .. }), "{err:?}");
    let err = store.change_documents(Vec::new()).await.unwrap_err();
    assert!(matches!(err, StoreError::Unavailable { .. }), "{err:?}");
    // Whether the first reached a server that was about to go is not known; of the next it is.
    let _ = writer.append(batch(&writer.chain, messages(1))).await.unwrap_err();
    let err = writer.append(batch(&writer.chain, messages(1))).await.unwrap_err();
    assert!(matches!(err, AppendError::Unavailable { .. }), "{err:?}");
    let err = PostgresStore::open(&schema.url(), options()).await.unwrap_err();
    assert!(matches!(err, OpenError::Unreachable { obstacle: Obstacle::NobodyListens, .. }), "{err:?}");

    cluster.start();
    writer.write(messages(1)).await;
}
