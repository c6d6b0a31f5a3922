//! Files that the user names for a command to write.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::CliError;

/// Where a command writes what it makes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Output {
    /// Where to write; standard output if not given or `-`
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output file if there is one
    #[arg(long)]
    force: bool,
}

impl Output {
    /// The file; `None` for standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_stdout(path))
    }

    /// Writes there.
    pub(crate) fn write(&self, content: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> Result<(), CliError> {
        match self.file() {
            Some(path) => write(path, Replace::if_forced(self.force), content),
            None => {
                let mut out = BufWriter::new(io::stdout().lock());
                content(&mut out)?;
                Ok(out.flush()?)
            }
        }
    }

    /// Writes bytes that are there already.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        match self.file() {
            Some(path) => write_bytes(path, Replace::if_forced(self.force), bytes),
            None => self.write(|out| Ok(out.write_all(bytes)?)),
        }
    }
}

/// Whether a name that was given for a file means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether what is there already may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replace {
    /// Only if the user says so: `--force`.
    Refuse,
    /// Yes.
    Allow,
}

impl Replace {
    /// What `--force` means.
    pub(crate) const fn if_forced(force: bool) -> Self {
        if force { Self::Allow } else { Self::Refuse }
    }
}

/// Writes the file at `path` whole or not at all, so that nobody ever finds half of it: beside it, and then put in
/// its place. Links are followed. What is no file is never replaced: devices and pipes are written to.
pub(crate) fn write(
    path: &Path,
    replace: Replace,
    content: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let failed = |err: io::Error| CliError::new(format!("cannot write {}", path.display())).because(err);
    match Place::of(path).map_err(failed)? {
        Place::File(_) if replace == Replace::Refuse => {
            Err(CliError::new(format!("{} is there already", path.display())).hint("replace it with `--force`"))
        }
        Place::Nothing(target) | Place::File(target) => write_beside(&target, content, failed),
        Place::Other => {
            let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path).map_err(failed)?);
            content(&mut out)?;
            out.flush().map_err(failed)
        }
    }
}

/// Writes bytes that are there already, as [`write()`] does.
pub(crate) fn write_bytes(path: &Path, replace: Replace, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |err: io::Error| CliError::new(format!("cannot write {}", path.display())).because(err);
    write(path, replace, |out| out.write_all(bytes).map_err(failed))
}

/// What is at a path, links followed.
enum Place {
    /// Nothing; a file may be put there.
    Nothing(PathBuf),
    File(PathBuf),
    /// A device, a pipe, a socket or a directory.
    Other,
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let mut target = path.to_owned();
        // As many as systems follow; a circle of links ends with an error of the system below.
        for _ in 0..40 {
            match fs::read_link(&target) {
                Ok(link) => target = parent(&target).join(link),
                Err(_) => break,
            }
        }
        match fs::metadata(&target) {
            Ok(about) if about.is_file() => Ok(Self::File(target)),
            Ok(_) => Ok(Self::Other),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Self::Nothing(target)),
            Err(err) => Err(err),
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn write_beside(
    target: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
    failed: impl Fn(io::Error) -> CliError,
) -> Result<(), CliError> {
    let mut out = BufWriter::new(NamedTempFile::new_in(parent(target)).map_err(&failed)?);
    content(&mut out)?;
    let draft = out.into_inner().map_err(|err| failed(err.into_error()))?;
    share(draft.as_file(), target).and_then(|()| draft.as_file().sync_all()).map_err(&failed)?;
    draft.persist(target).map_err(|err| failed(err.error))?;
    Ok(())
}

/// Temporary files are private; what a user asked for is an ordinary file, or as open as the one it replaces.
#[cfg(unix)]
fn share(file: &File, target: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let usual = || fs::Permissions::from_mode(0o644);
    file.set_permissions(fs::metadata(target).map_or_else(|_| usual(), |about| about.permissions()))
}

#[cfg(not(unix))]
fn share(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}
