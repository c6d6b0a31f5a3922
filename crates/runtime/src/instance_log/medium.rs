//! What keeps the log: two files, in the steps that a crash can come between.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Where entries and checkpoint are.
pub(super) trait Medium {
    /// All entries, one behind the other.
    fn entries(&self) -> io::Result<Vec<u8>>;
    /// The last checkpoint.
    fn checkpoint(&self) -> io::Result<Option<String>>;
    /// Adds to the entries; a crash may leave a part of it.
    fn append(&mut self, record: &[u8]) -> io::Result<()>;
    /// Sees the entries onto the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Takes off what is behind the first `length` bytes of the entries.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Puts another checkpoint in the place of the last one, whole or not at all.
    fn replace_checkpoint(&mut self, checkpoint: &str) -> io::Result<()>;
}

/// Two files in a directory.
#[derive(Debug)]
pub(super) struct Files {
    directory: PathBuf,
    entries: File,
    /// Held as long as this is there.
    _lock: File,
}

impl Files {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(directory.join("lock"))?;
        lock.lock()?;
        let entries = OpenOptions::new().create(true).append(true).open(directory.join("entries"))?;
        // The file's name must not be lost when its content is not.
        sync_directory(directory)?;
        Ok(Self { directory: directory.to_owned(), entries, _lock: lock })
    }
}

impl Medium for Files {
    fn entries(&self) -> io::Result<Vec<u8>> {
        fs::read(self.directory.join("entries"))
    }

    fn checkpoint(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(self.directory.join("checkpoint")) {
            Ok(note) => Ok(Some(note)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.entries.write_all(record)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.entries.sync_all()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.entries.set_len(length)?;
        self.entries.sync_all()
    }

    fn replace_checkpoint(&mut self, checkpoint: &str) -> io::Result<()> {
        let draft = self.directory.join("checkpoint.new");
        let mut file = File::create(&draft)?;
        file.write_all(checkpoint.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, self.directory.join("checkpoint"))?;
        sync_directory(&self.directory)
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
