//! Blobs as files: `ab/abcd…` under one folder, each named by its hash.
//!
//! A file appears under its name complete and synced, or not at all. Which blobs belong to a store is
//! the store's business; this module only keeps bytes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use r1_event::Digest;
use tokio::task::spawn_blocking;

use super::{BlobContent, BlobInfo};
use crate::error::BlobError;

/// How much of a blob is in memory at once.
const PIECE: usize = 256 << 10;
/// An unfinished file that nobody has written to for so long belongs to a process that died.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// A folder of blobs, which need not exist yet.
#[derive(Clone, Debug)]
pub(crate) struct BlobFiles {
    folder: Arc<Path>,
}

/// Content that is on disk but has not its name yet; removed if it never gets one.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    pub(crate) info: BlobInfo,
}

impl BlobFiles {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder: folder.into() }
    }

    /// Writes content to disk and learns its hash.
    pub(crate) async fn draft(&self, mut content: BlobContent) -> Result<Draft, DraftError> {
        let files = self.clone();
        let mut incoming = spawn_blocking(move || files.incoming()).await??;
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(DraftError::Input)?;
            incoming = spawn_blocking(move || incoming.write(&piece).map(|()| incoming)).await??;
        }
        Ok(spawn_blocking(move || incoming.finish()).await??)
    }

    /// Gives a draft its name; an existing file of that name is replaced.
    pub(crate) fn place(&self, draft: &Draft) -> io::Result<()> {
        let path = self.path(draft.info.hash);
        let shelf = path.parent().unwrap_or(&self.folder);
        if !shelf.exists() {
            make_folder(shelf)?;
            sync_folder(&self.folder)?;
        }
        fs::rename(&draft.path, &path)?;
        sync_folder(shelf)
    }

    /// Whether there is a file of this name.
    pub(crate) fn contains(&self, hash: Digest) -> bool {
        self.path(hash).is_file()
    }

    /// Removes the file; one that is gone already is no error.
    pub(crate) fn remove(&self, hash: Digest) -> io::Result<()> {
        match fs::remove_file(self.path(hash)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
            _ => Ok(()),
        }
    }

    /// Removes what processes that died left unfinished.
    pub(crate) fn remove_abandoned(&self) -> io::Result<()> {
        let entries = match fs::read_dir(self.drafts()) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let age = SystemTime::now().duration_since(entry.metadata()?.modified()?).unwrap_or_default();
            if age > ABANDONED {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The content, checked against its name while it is read; `None` if there is no such file.
    pub(crate) async fn read(&self, hash: Digest) -> io::Result<Option<BlobContent>> {
        let path = self.path(hash);
        let file = match spawn_blocking(move || File::open(path)).await? {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let reading = Reading { file, hasher: blake3::Hasher::new(), hash };
        let pieces = stream::try_unfold(reading, |reading| async { spawn_blocking(move || reading.next()).await? });
        Ok(Some(pieces.boxed()))
    }

    fn incoming(&self) -> io::Result<Incoming> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let drafts = self.drafts();
        make_folder(&drafts)?;
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = drafts.join(format!("{}-{}-{n}", std::process::id(), crate::clock::now().0));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let draft = Draft { path, info: BlobInfo { hash: Digest::new([0; 32]), size: 0 } };
        Ok(Incoming { file, hasher: blake3::Hasher::new(), draft })
    }

    fn drafts(&self) -> PathBuf {
        self.folder.join("drafts")
    }

    fn path(&self, hash: Digest) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(name)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already if it was placed; if removing fails it is found as abandoned later.
        fs::remove_file(&self.path).ok();
    }
}

/// Why content did not get onto the disk.
#[derive(Debug)]
pub(crate) enum DraftError {
    /// It could not be read.
    Input(io::Error),
    /// It could not be written.
    Disk(io::Error),
}

impl DraftError {
    pub(crate) fn into_blob_error(self, backend: &'static str) -> BlobError {
        match self {
            Self::Input(err) => BlobError::Input(err),
            Self::Disk(err) => crate::StoreError::Backend { backend, source: err.into() }.into(),
        }
    }
}

impl From<io::Error> for DraftError {
    fn from(err: io::Error) -> Self {
        Self::Disk(err)
    }
}

impl From<tokio::task::JoinError> for DraftError {
    fn from(err: tokio::task::JoinError) -> Self {
        Self::Disk(err.into())
    }
}

struct Incoming {
    file: File,
    hasher: blake3::Hasher,
    draft: Draft,
}

impl Incoming {
    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.hasher.update(piece);
        self.draft.info.size += piece.len() as u64;
        self.file.write_all(piece)
    }

    fn finish(self) -> io::Result<Draft> {
        let Self { file, hasher, mut draft } = self;
        file.sync_all()?;
        draft.info.hash = Digest::new(*hasher.finalize().as_bytes());
        Ok(draft)
    }
}

struct Reading {
    file: File,
    hasher: blake3::Hasher,
    hash: Digest,
}

impl Reading {
    /// The next piece; at the end, the verdict on all of them.
    fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        let mut piece = Vec::with_capacity(PIECE);
        (&mut self.file).take(PIECE as u64).read_to_end(&mut piece)?;
        if !piece.is_empty() {
            self.hasher.update(&piece);
            return Ok(Some((piece.into(), self)));
        }
        let found = Digest::new(*self.hasher.finalize().as_bytes());
        if found == self.hash {
            return Ok(None);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, BlobError::Damaged { hash: self.hash, found }))
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
