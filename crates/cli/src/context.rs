//! What every command needs: where things are, and what time it is.

use r1_event::UnixNanos;
use r1_runtime::location::{Purpose, StoreLocation};
use r1_runtime::{Home, Keyring, world};
use r1_store::SharedStore;

use crate::args::Global;
use crate::environment;
use crate::error::CliError;

/// The surroundings of one call of `r1`.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) location: StoreLocation,
    /// Whether the user said where the store is.
    pub(crate) store_was_named: bool,
    pub(crate) instance: String,
}

impl Context {
    pub(crate) fn new(global: Global) -> Result<Self, CliError> {
        let home = match global.home.or_else(environment::data_directory) {
            Some(path) => Home::at(path),
            None => return Err(CliError::new("there is no home directory").hint("set R1_HOME to a directory")),
        };
        let store_was_named = global.store.is_some();
        let location =
            StoreLocation::parse(global.store.as_deref(), &home).with_passwords(environment::database_passwords());
        Ok(Self { home, location, store_was_named, instance: world::new_instance_id()? })
    }

    pub(crate) fn now(&self) -> UnixNanos {
        world::now()
    }

    pub(crate) async fn open_store(&self, purpose: Purpose) -> Result<SharedStore, CliError> {
        Ok(self.location.open(purpose).await?)
    }

    pub(crate) fn keyring(&self) -> Result<Keyring, CliError> {
        Ok(Keyring::read(&self.home)?)
    }
}
