//! The SQLite store: the suite, alone and beside a second opening, and what only a file can suffer.

mod child;
mod crash;
mod disk;
mod entries;
mod erase;
mod layout;
mod pages;
mod processes;
mod relief;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use r1_event::Digest;
use r1_store::conformance::{Fixture, twin};
use r1_store::{SharedStore, SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A store in a folder of its own.
pub(crate) struct SqliteFixture {
    folder: TempDir,
}

impl SqliteFixture {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("r1.db")
    }

    /// A file beside the store.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

pub(crate) async fn open(path: &Path) -> SharedStore {
    Arc::new(SqliteStore::open(path, SqliteOptions::default()).await.expect("the store opens"))
}

impl Fixture for SqliteFixture {
    fn open(&self) -> BoxFuture<'_, SharedStore> {
        async move { open(&self.path()).await }.boxed()
    }

    fn damage_blob(&self, hash: Digest) -> BoxFuture<'_, bool> {
        let name = hash.to_string();
        let path = self.beside("r1.db-blobs").join(&name[..2]).join(&name);
        let mut bytes = std::fs::read(&path).expect("the blob's file");
        bytes[100] ^= 1;
        std::fs::write(&path, bytes).expect("the blob's file can be changed");
        std::future::ready(true).boxed()
    }

    fn damage<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, bool> {
        let database = rusqlite::Connection::open(self.path()).expect("the store's file");
        database.execute_batch(&statement.replace('@', "")).expect("the rows can be changed");
        std::future::ready(true).boxed()
    }
}

mod alone {
    r1_store::store_conformance!(super::SqliteFixture::new());
}

mod log_14_two_openings {
    use super::*;

    struct TwinFixture(SqliteFixture);

    impl Fixture for TwinFixture {
        fn open(&self) -> BoxFuture<'_, SharedStore> {
            async move { twin(self.0.open().await, self.0.open().await) }.boxed()
        }

        fn damage_blob(&self, hash: Digest) -> BoxFuture<'_, bool> {
            self.0.damage_blob(hash)
        }

        fn damage<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, bool> {
            self.0.damage(statement)
        }
    }

    r1_store::store_conformance!(TwinFixture(SqliteFixture::new()));
}
