//! The index: what is known of tasks, runs, approvals and artifacts without reading their logs.

mod documents;
mod erasing;
mod objects;
pub(crate) mod prefixes;
mod runs;
mod together;
mod v1;

use std::sync::Arc;

use r1_store::{MemoryStore, SharedStore, SqliteOptions, SqliteStore};

/// Makes a test of each promise on each store.
macro_rules! on_each_store {
    ($($promise:ident,)+) => {$(
        mod $promise {
            #[tokio::test]
            async fn in_memory() {
                super::$promise(std::sync::Arc::new(r1_store::MemoryStore::new())).await;
            }

            #[tokio::test]
            async fn in_sqlite() {
                let dir = tempfile::tempdir().unwrap();
                super::$promise($crate::index::sqlite(&dir).await).await;
            }
        }
    )+};
}
pub(crate) use on_each_store;

pub(crate) async fn sqlite(dir: &tempfile::TempDir) -> SharedStore {
    Arc::new(SqliteStore::open(dir.path().join("r1.db"), SqliteOptions::default()).await.unwrap())
}

pub(crate) fn memory() -> SharedStore {
    Arc::new(MemoryStore::new())
}
