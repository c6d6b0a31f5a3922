//! Every kind of store, opened as often as a test needs.

use std::sync::Arc;

use r1_store::{MemoryStore, SharedStore, SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// Where a store is.
pub(crate) enum Place {
    Memory(MemoryStore),
    Sqlite(TempDir),
    Postgres(crate::postgres_streams::Schema),
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory(MemoryStore::new())
    }

    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// Opens it, as another process would.
    pub(crate) async fn open(&self) -> SharedStore {
        match self {
            Self::Memory(store) => Arc::new(store.reopen()),
            Self::Sqlite(dir) => {
                let path = dir.path().join("store.db");
                Arc::new(SqliteStore::open(path, SqliteOptions::default()).await.unwrap())
            }
            Self::Postgres(schema) => Arc::new(schema.open().await),
        }
    }
}
