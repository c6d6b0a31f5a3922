//! The one that may append to a run.

use std::time::{Duration, Instant};

use r1_event::{Batch, Chain, ChainError, Payload, RunId, Seal, Seq, SideRecord, UnixNanos};
use r1_receipt::key::SecretKey;
use r1_store::{Acquired, AppendError, Lease, LeaseError, SharedStore, StoreError};

/// How long a writer that died keeps others out, unless it says otherwise.
pub const LEASE: Duration = Duration::from_secs(30);

/// Owns a run's chain and lease. While it lives, nobody else appends to the run; once the lease is
/// lost, it never appends again.
pub struct RunWriter {
    store: SharedStore,
    lease: Lease,
    ttl: Duration,
    renewed: Instant,
    chain: Chain,
    key: Option<SecretKey>,
}

impl RunWriter {
    /// Starts a new run, or goes on with one that is there. With a key the run is sealed when it ends.
    pub async fn open(
        store: SharedStore,
        run: RunId,
        owner: &str,
        key: Option<SecretKey>,
    ) -> Result<Self, WriterError> {
        Self::take(store, run, owner, key, LEASE).await.map(|(writer, _)| writer)
    }

    /// As [`Self::open`], with a lease of length `ttl`; tells also whose lease it took over, if someone never
    /// gave it back.
    pub async fn take(
        store: SharedStore,
        run: RunId,
        owner: &str,
        key: Option<SecretKey>,
        ttl: Duration,
    ) -> Result<(Self, Option<Lease>), WriterError> {
        let Acquired { lease, previous } = store.acquire(&run, owner, ttl).await?;
        // Read after the lease is held: before, another writer could still have moved the head.
        let chain = store.chain(&run).await?.unwrap_or_else(|| Chain::new(run));
        Ok((Self { store, lease, ttl, renewed: Instant::now(), chain, key }, previous))
    }

    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// An empty batch that continues the log.
    #[must_use]
    pub fn batch(&self) -> Batch {
        Batch::new(&self.chain)
    }

    /// Extends the lease.
    pub async fn renew(&mut self) -> Result<(), WriterError> {
        self.lease = self.store.renew(&self.lease, self.ttl).await?;
        self.renewed = Instant::now();
        Ok(())
    }

    /// Takes note that someone else has extended the lease.
    pub(crate) fn was_renewed(&mut self, lease: Lease) {
        self.lease = lease;
        self.renewed = Instant::now();
    }

    /// Where the log stands.
    #[must_use]
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Appends events, all or none, and returns the seq of the last. Seals the run if one of them ends it.
    pub async fn append(&mut self, events: impl IntoIterator<Item = (UnixNanos, Payload)>) -> Result<Seq, WriterError> {
        let mut batch = Batch::new(&self.chain);
        batch.extend(events)?;
        self.append_batch(batch).await
    }

    /// Appends a batch that continues [`Self::chain`].
    pub async fn append_batch(&mut self, batch: Batch) -> Result<Seq, WriterError> {
        if self.renewed.elapsed() > self.ttl / 3 {
            self.renew().await?;
        }
        let after = batch.after().clone();
        self.store.append(&self.lease, batch).await?;
        self.chain = after;
        if self.chain.terminal().is_some() {
            self.seal().await?;
        }
        Ok(Seq::new(self.chain.size()).unwrap_or(Seq::FIRST))
    }

    /// Gives the lease back.
    pub async fn close(self) -> Result<(), WriterError> {
        Ok(self.store.release(&self.lease).await?)
    }

    async fn seal(&self) -> Result<(), WriterError> {
        if let (Some(key), Some(statement)) = (&self.key, self.chain.statement()) {
            let seal: Seal = statement.sign(key.signing_key());
            self.store.add_side_record(self.chain.run(), SideRecord::Seal(seal)).await?;
        }
        Ok(())
    }
}

/// Events were not appended, or may not have been.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// Someone else writes to the run.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The events cannot continue the log.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store did not take them.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
