//! A run in a store.

use r1_event::validate::Standing;
use r1_event::{Record, RunId, SideRecord};
use r1_store::{Pages, SharedStore, StoreError};
use tokio::runtime::Handle;

use super::SourceError;

/// One run's log in a store.
pub struct StoredRun {
    store: SharedStore,
    run: RunId,
    side_records: Vec<SideRecord>,
    standing: Option<Standing>,
    handle: Handle,
}

impl StoredRun {
    /// Looks the run up.
    pub async fn open(store: SharedStore, run: RunId) -> Result<Self, StoreError> {
        let side_records = store.side_records(&run).await?;
        let standing = store.run(&run).await?.map(|summary| Standing {
            run_id: run.to_string(),
            version: summary.version,
            terminal: summary.head.terminal,
        });
        Ok(Self { store, run, side_records, standing, handle: Handle::current() })
    }

    /// The run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    pub(super) const fn store(&self) -> &SharedStore {
        &self.store
    }

    pub(super) const fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref()
    }

    pub(super) fn side_records(&self) -> &[SideRecord] {
        &self.side_records
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = Result<Vec<Record>, SourceError>> {
        let mut pages = Some(Pages::of_all(&*self.store, &self.run));
        std::iter::from_fn(move || {
            let page = self.handle.block_on(pages.as_mut()?.next()).transpose()?;
            if page.is_err() {
                pages = None;
            }
            Some(page.map_err(Into::into))
        })
    }
}
