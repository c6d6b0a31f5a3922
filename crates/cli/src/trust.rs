//! Whose signatures count for a check.

use std::fs;
use std::path::PathBuf;

use r1_runtime::Keyring;
use r1_runtime::keys::{self, KnownKeys};

use crate::context::Context;
use crate::error::CliError;

/// The keys that a check is made with.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Trust {
    /// Check with this public key: a keyring entry, a JWK or an SPKI PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "keyring")]
    key: Vec<PathBuf>,
    /// Check with the keys of this directory [default: keyring in the home]
    #[arg(long, value_name = "DIR")]
    keyring: Option<PathBuf>,
}

impl Trust {
    /// For seals and checkpoints.
    pub(crate) fn keyring(&self, context: &Context) -> Result<Keyring, CliError> {
        if !self.key.is_empty() {
            return Ok(Keyring::of_files(&self.key)?);
        }
        Ok(Keyring::read_directory(&self.directory(context)?)?)
    }

    /// For receipts.
    pub(crate) fn known_keys(&self, context: &Context) -> Result<KnownKeys, CliError> {
        if !self.key.is_empty() {
            return Ok(KnownKeys::of_files(&self.key)?);
        }
        Ok(keys::known_keys(&self.directory(context)?)?)
    }

    /// Without a home nobody knows any key yet; a directory that was named is there.
    fn directory(&self, context: &Context) -> Result<PathBuf, CliError> {
        let Some(directory) = &self.keyring else { return Ok(context.home.keyring()) };
        fs::read_dir(directory)
            .map_err(|err| CliError::new(format!("cannot read the keyring {}", directory.display())).because(err))?;
        Ok(directory.clone())
    }
}
