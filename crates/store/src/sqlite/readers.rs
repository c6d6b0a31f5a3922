//! A few connections that only read, lent out one read at a time.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::backend;
use super::open::Door;
use crate::error::StoreError;

/// More would not read faster, only keep more of the file in memory.
const CONNECTIONS: u32 = 8;

#[derive(Clone, Debug)]
pub(super) struct Readers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    door: Door,
    idle: Mutex<Vec<Connection>>,
    slots: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(door: Door) -> Self {
        let slots = Arc::new(Semaphore::new(CONNECTIONS as usize));
        Self { shared: Arc::new(Shared { door, idle: Mutex::default(), slots }) }
    }

    /// Runs `work` on a thread that may block, all of it within one snapshot of the file.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let slot = Arc::clone(&self.shared.slots).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let shared = Arc::clone(&self.shared);
        let read = tokio::task::spawn_blocking(move || {
            let idle = shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let db = match idle {
                Some(db) => db,
                None => shared.door.reader()?,
            };
            let result = in_snapshot(&db, work);
            shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(slot);
            result
        });
        read.await.map_err(backend)?
    }

    /// Waits for reads under way and closes all connections.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.shared.slots.acquire_many(CONNECTIONS).await {
            self.shared.slots.close();
            drop(all);
        }
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn in_snapshot<T>(db: &Connection, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let snapshot = db.unchecked_transaction()?;
    let result = work(&snapshot);
    snapshot.finish()?;
    result
}
