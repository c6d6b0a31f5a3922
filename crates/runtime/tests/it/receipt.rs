//! Receipts of runs in different stores.

use std::sync::Arc;

use r1_event::payload::{AssistantMessageCompleted, Payload, RunCompleted, RunStarted, TurnStarted};
use r1_event::{RunId, UnixNanos};
use r1_receipt::Withhold;
use r1_receipt::key::SecretKey;
use r1_runtime::control::receipt::{CreateError, Request, create};
use r1_runtime::source::Progress;
use r1_runtime::{Keyring, RunWriter};
use r1_store::{MemoryStore, SharedStore, SqliteOptions, SqliteStore};

fn run_id() -> RunId {
    "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap()
}

fn payloads() -> Vec<Payload> {
    vec![
        Payload::RunStarted(Box::new(RunStarted { schema_version: 2, goal: "think".into(), ..Default::default() })),
        Payload::TurnStarted(TurnStarted { turn_id: "T1".into(), ..Default::default() }),
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "T1".into(),
            text: "I have thought.".into(),
            ..Default::default()
        })),
        Payload::RunCompleted(RunCompleted::default()),
    ]
}

/// Writes so many events of the run, in as many batches as given.
async fn write(store: &SharedStore, events: usize, batch: usize) {
    let mut writer = RunWriter::open(store.clone(), run_id(), "test", None).await.unwrap();
    let timed: Vec<_> =
        payloads().into_iter().take(events).zip(1..).map(|(payload, ts)| (UnixNanos(ts), payload)).collect();
    for some in timed.chunks(batch) {
        writer.append(some.to_vec()).await.unwrap();
    }
    writer.close().await.unwrap();
}

async fn receipt(store: &SharedStore) -> Result<Vec<u8>, CreateError> {
    let request = Request { run: run_id(), partial: false, withhold: Withhold::default() };
    let key = SecretKey::from_seed([7; 32]);
    create(store, &request, &key, &Keyring::default(), Progress::default()).await.map(|created| created.signed.bytes)
}

#[tokio::test]
async fn stoke_15_the_same_log_in_two_kinds_of_store_gives_the_same_receipt() {
    let directory = tempfile::tempdir().unwrap();
    let memory: SharedStore = Arc::new(MemoryStore::new());
    let sqlite = SqliteStore::open(directory.path().join("r1.db"), SqliteOptions::default()).await.unwrap();
    let sqlite: SharedStore = Arc::new(sqlite);
    write(&memory, 4, 1).await;
    write(&sqlite, 4, 4).await;
    assert_eq!(receipt(&memory).await.unwrap(), receipt(&sqlite).await.unwrap());
}

#[tokio::test]
async fn nothing_is_signed_of_a_run_that_goes_on() {
    let store: SharedStore = Arc::new(MemoryStore::new());
    write(&store, 3, 3).await;
    assert!(matches!(receipt(&store).await, Err(CreateError::Open { .. })));
}
