//! The nodes of a run's receipt as files: a view for other programs, which can be thrown away.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use futures_util::StreamExt as _;
use r1_event::{RunId, Seq};
use r1_receipt::{Graph, Node};
use r1_store::{SharedStore, StoreError};

use super::notes;
use crate::source::{Log, SourceError, StoredRun};

/// The nodes of a run could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum NodesError {
    /// The run cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Writes each node of a run into `directory` under the name that lines call it by, until the run ends.
pub async fn keep_nodes(store: SharedStore, run: RunId, directory: &Path) -> Result<(), NodesError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| NodesError::Write { path, source }
    };
    fs::create_dir_all(directory).map_err(failed(directory))?;
    let log = Log::Stored(StoredRun::open(store.clone(), run.clone()).await?);
    let mut graph = Graph::new(notes(&log).await?);
    let mut events = Box::pin(r1_store::tail(store, run, Seq::FIRST));
    while let Some(record) = events.next().await {
        for node in graph.push(&record?).nodes {
            let path = directory.join(format!("{}.json", node.id().ledger()));
            write(&path, &node).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// Writes a file whole or not at all. What has its name has its content, so one that is there is left alone.
fn write(path: &Path, node: &Node) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut draft = tempfile::NamedTempFile::new_in(directory)?;
    draft.write_all(node.to_json().as_bytes())?;
    draft.persist(path)?;
    Ok(())
}
