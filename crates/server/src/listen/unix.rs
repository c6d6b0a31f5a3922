//! The unix socket: for programs of our own user, who need no token.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// A socket in the file system, removed when it is dropped.
pub(super) struct UnixDoor {
    listener: UnixListener,
    path: PathBuf,
}

impl UnixDoor {
    /// Makes the socket. One that a dead process left behind is replaced; one that somebody answers on is not.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is another file"));
            }
            Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server answers there"));
            }
            Ok(_) => std::fs::remove_file(path)?,
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The next connection; `None` if another user's process made it.
    pub(super) async fn accept(&self) -> io::Result<Option<UnixStream>> {
        let (stream, _) = self.listener.accept().await?;
        Ok(is_ours(stream.peer_cred()?.uid(), rustix::process::geteuid().as_raw()).then_some(stream))
    }
}

/// The mode of the file keeps others out as well; this also holds where a file system ignores modes.
const fn is_ours(peer: u32, own: u32) -> bool {
    peer == own
}

impl Drop for UnixDoor {
    fn drop(&mut self) {
        // Gone already is just as well.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_left_behind_is_replaced_and_a_living_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("inner/r1.sock");
        let door = UnixDoor::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(UnixDoor::open(&path).err().unwrap().kind(), io::ErrorKind::AddrInUse);
        drop(door);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        UnixDoor::open(&path).unwrap();
        std::fs::write(&path, "mine").unwrap();
        assert!(UnixDoor::open(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn only_our_own_user_is_let_in() {
        assert!(is_ours(1000, 1000));
        assert!(!is_ours(0, 1000) && !is_ours(1001, 1000));
    }
}
