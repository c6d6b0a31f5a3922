//! Extends the leases of all runs of a process together: a thousand runs that wait cost one transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use r1_store::{Lease, LeaseError, SharedStore};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Keeps leases for as long as someone holds their [`Kept`].
#[derive(Default)]
pub(super) struct Keeper {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    leases: HashMap<u64, (Lease, watch::Sender<Standing>)>,
    next: u64,
    /// Renews them; there is none while there are no leases.
    task: Option<AbortOnDropHandle<()>>,
}

/// How a lease stands.
#[derive(Clone, Debug)]
pub(super) enum Standing {
    /// It holds, as said here.
    Holds(Lease),
    /// Someone else has it, or it was given back.
    Lost,
}

/// A lease that is kept.
pub(super) struct Kept {
    number: u64,
    shared: Arc<Mutex<Shared>>,
    news: watch::Receiver<Standing>,
}

impl Keeper {
    /// Renews a lease every third of `ttl` from now on.
    pub(super) fn keep(&self, store: &SharedStore, lease: Lease, ttl: Duration) -> Kept {
        let (sender, news) = watch::channel(Standing::Holds(lease.clone()));
        let mut shared = lock(&self.shared);
        let number = shared.next;
        shared.next += 1;
        shared.leases.insert(number, (lease, sender));
        if shared.task.is_none() {
            let task = tokio::spawn(renew_all(self.shared.clone(), store.clone(), ttl));
            shared.task = Some(AbortOnDropHandle::new(task));
        }
        drop(shared);
        Kept { number, shared: self.shared.clone(), news }
    }
}

impl Kept {
    /// Returns when the lease was renewed or lost. Cancel-safe.
    pub(super) async fn news(&mut self) -> Standing {
        match self.news.changed().await {
            Ok(()) => self.news.borrow_and_update().clone(),
            // The keeper is gone, and with it the whole engine.
            Err(_) => Standing::Lost,
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        lock(&self.shared).leases.remove(&self.number);
    }
}

async fn renew_all(shared: Arc<Mutex<Shared>>, store: SharedStore, ttl: Duration) {
    loop {
        tokio::time::sleep(ttl / 3).await;
        let (numbers, leases): (Vec<_>, Vec<_>) = {
            let mut shared = lock(&shared);
            if shared.leases.is_empty() {
                // The next lease gets a task of its own.
                shared.task = None;
                return;
            }
            shared.leases.iter().map(|(number, (lease, _))| (*number, lease.clone())).unzip()
        };
        // If the store fails, nobody hears anything, and whoever hears nothing for too long stops by itself.
        let Ok(renewed) = store.renew_all(&leases, ttl).await else { continue };
        let mut shared = lock(&shared);
        for (number, renewed) in numbers.into_iter().zip(renewed) {
            let Some((lease, sender)) = shared.leases.get_mut(&number) else { continue };
            match renewed {
                Ok(renewed) => {
                    *lease = renewed.clone();
                    sender.send_replace(Standing::Holds(renewed));
                }
                Err(LeaseError::Held { .. } | LeaseError::Lost { .. }) => {
                    sender.send_replace(Standing::Lost);
                }
                Err(LeaseError::Store(_)) => {}
            }
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing that is done under the lock can panic half way.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
