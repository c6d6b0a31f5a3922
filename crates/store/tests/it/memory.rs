//! The memory store keeps every promise but to outlive the process.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use r1_event::Digest;
use r1_store::conformance::Fixture;
use r1_store::{MemoryStore, SharedStore};

struct MemoryFixture(MemoryStore);

impl Fixture for MemoryFixture {
    fn open(&self) -> BoxFuture<'_, SharedStore> {
        let store: SharedStore = Arc::new(self.0.reopen());
        future::ready(store).boxed()
    }

    fn damage_blob(&self, _: Digest) -> BoxFuture<'_, bool> {
        future::ready(false).boxed()
    }

    fn damage<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        future::ready(false).boxed()
    }
}

r1_store::store_conformance!(MemoryFixture(MemoryStore::new()));
