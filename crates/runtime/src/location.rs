//! Where runs are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_store::postgres::{Passwords, PostgresOptions, PostgresStore, PostgresUrl};
use r1_store::sqlite::{SqliteOptions, SqliteStore};
use r1_store::{OpenError, SharedStore};

use crate::home::{Home, HomeError, create_private_dir};

/// A store by its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// A SQLite file, blobs beside it.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres {
        /// Its URL.
        url: PostgresUrl,
        /// Where the password comes from if the URL has none.
        passwords: Passwords,
    },
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To look at a file that someone brought: not a byte of it changes.
    Inspect,
    /// To look, also while others write: a store that is not there is an error.
    Read,
    /// To change what is there: a store that is not there is an error.
    Change,
    /// To write: a store that is not there is made.
    Create,
}

impl StoreLocation {
    /// Reads an address: a `postgres://` URL, the path of a SQLite file, or a directory that has or
    /// will have one. Without an address, the store of `home`. What could be a URL with a slip in it is never taken
    /// for a path, which would be shown and made.
    #[must_use]
    pub fn parse(address: Option<&str>, home: &Home) -> Self {
        let Some(address) = address else { return Self::Sqlite(home.default_store()) };
        if let Some(url) = PostgresUrl::recognise(address) {
            return Self::Postgres { url, passwords: Passwords::default() };
        }
        let path = PathBuf::from(address.strip_prefix("sqlite://").unwrap_or(address));
        Self::Sqlite(if path.is_dir() { path.join("r1.db") } else { path })
    }

    /// The same with passwords for it, should it need one.
    #[must_use]
    pub fn with_passwords(self, passwords: Passwords) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(path),
            Self::Postgres { url, .. } => Self::Postgres { url, passwords },
        }
    }

    /// Where it is, for everyone to see: without the name and password that open it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres { url, .. } => url.place(),
        }
    }

    /// Opens the store.
    pub async fn open(&self, purpose: Purpose) -> Result<SharedStore, LocationError> {
        match self {
            Self::Sqlite(path) => open_sqlite(path, purpose).await,
            Self::Postgres { url, passwords } => {
                let options = PostgresOptions {
                    passwords: passwords.clone(),
                    create: purpose == Purpose::Create,
                    ..PostgresOptions::default()
                };
                match PostgresStore::open(url.expose(), options).await {
                    Ok(store) => Ok(Arc::new(store)),
                    Err(OpenError::Missing { location }) => Err(LocationError::Missing { location }),
                    Err(err) => Err(err.into()),
                }
            }
        }
    }
}

async fn open_sqlite(path: &Path, purpose: Purpose) -> Result<SharedStore, LocationError> {
    if purpose == Purpose::Create {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            create_private_dir(parent)?;
        }
    } else if !path.exists() {
        return Err(LocationError::Missing { location: path.display().to_string() });
    }
    let opened = match purpose {
        Purpose::Inspect => SqliteStore::open_read_only(path).await,
        Purpose::Change | Purpose::Create => SqliteStore::open(path, SqliteOptions::default()).await,
        Purpose::Read => match SqliteStore::open(path, SqliteOptions::default()).await {
            // Where nothing can be written, what is there can still be looked at.
            Err(err @ OpenError::Unavailable { .. }) => SqliteStore::open_read_only(path).await.map_err(|_| err),
            opened => opened,
        },
    };
    Ok(Arc::new(opened?))
}

/// A store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// There is none.
    #[error("there is no store at {location} yet")]
    Missing {
        /// Where.
        location: String,
    },
    /// Its directory cannot be made.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// It cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
}
