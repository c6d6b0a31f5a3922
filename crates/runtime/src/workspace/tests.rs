use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A workspace `inside`, and something `outside` that must neither be read nor changed.
struct Place {
    _directory: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (inside, outside) = (directory.path().join("inside"), directory.path().join("outside"));
        fs::create_dir_all(inside.join("dir")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("dir/file"), "inside").unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        Self { _directory: directory, inside, outside }
    }

    /// The workspace with each way of walking that this system has.
    fn workspaces(&self) -> Vec<Workspace> {
        [Reach::detect(), Reach::Walk].map(|reach| Workspace::with_reach(&self.inside, reach).unwrap()).into()
    }

    fn outside_is_untouched(&self) {
        assert_eq!(fs::read_to_string(self.outside.join("file")).unwrap(), "secret");
        assert_eq!(fs::read_dir(&self.outside).unwrap().count(), 1);
    }
}

fn read(workspace: &Workspace, path: &str) -> Result<Option<Snapshot>, WorkspaceError> {
    workspace.snapshot(&workspace.path(path)?, 1 << 20)
}

fn write(workspace: &Workspace, path: &str, text: &str) -> Result<(), WorkspaceError> {
    workspace.lock().unwrap().write(&workspace.path(path)?, text.as_bytes(), None)
}

#[test]
fn a_written_file_reads_back_and_keeps_its_mode() {
    let place = Place::new();
    for workspace in place.workspaces() {
        fs::set_permissions(place.inside.join("dir/file"), fs::Permissions::from_mode(0o750)).unwrap();
        write(&workspace, "dir/file", "new").unwrap();
        let snapshot = read(&workspace, "dir/file").unwrap().unwrap();
        assert_eq!(snapshot, Snapshot { bytes: "new".into(), mode: 0o750 });
        let path = workspace.path("dir/file").unwrap();
        assert_eq!(workspace.revision(&path).unwrap(), Some(snapshot.revision()));
        assert_eq!(workspace.revision(&workspace.path("nothing").unwrap()).unwrap(), None);
        write(&workspace, "deep/er/file", "made").unwrap();
        assert_eq!(fs::read_to_string(place.inside.join("deep/er/file")).unwrap(), "made");
    }
}

#[test]
fn links_are_not_followed_in_any_position() {
    let place = Place::new();
    symlink(&place.outside, place.inside.join("out")).unwrap();
    symlink("../outside", place.inside.join("out_relative")).unwrap();
    symlink("../../outside", place.inside.join("dir/out")).unwrap();
    symlink(place.outside.join("file"), place.inside.join("out_file")).unwrap();
    symlink(place.outside.join("nothing"), place.inside.join("dangling")).unwrap();
    symlink("/proc/self/root", place.inside.join("magic")).unwrap();
    symlink("loop", place.inside.join("loop")).unwrap();
    symlink("dir", place.inside.join("within")).unwrap();
    let outside = place.outside.to_str().unwrap().trim_start_matches('/').to_owned();
    for workspace in place.workspaces() {
        for path in [
            "out/file",
            "out_relative/file",
            "dir/out/file",
            "out_file",
            "dangling",
            "dangling/x",
            "loop",
            "loop/x",
            "within/file",
            "out/new/file",
            &format!("magic/{outside}/file"),
        ] {
            assert!(matches!(read(&workspace, path), Err(WorkspaceError::Link { .. })), "{path}");
            assert!(matches!(write(&workspace, path, "x"), Err(WorkspaceError::Link { .. })), "{path}");
            let removed = workspace.lock().unwrap().remove(&workspace.path(path).unwrap());
            assert!(matches!(removed, Err(WorkspaceError::Link { .. })), "{path}");
        }
    }
    place.outside_is_untouched();
}

#[test]
fn the_error_names_the_link_and_where_it_leads() {
    let place = Place::new();
    symlink("dir", place.inside.join("within")).unwrap();
    let workspace = Workspace::open(&place.inside).unwrap();
    let message = read(&workspace, "within/file").unwrap_err().to_string();
    assert!(message.starts_with("`within` is a symbolic link to `dir`"), "{message}");
}

#[test]
fn special_files_are_refused_without_waiting_for_them() {
    let place = Place::new();
    let pipe = place.inside.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.inside.join("socket")).unwrap();
    for workspace in place.workspaces() {
        for path in ["pipe", "socket", "dir", "."] {
            assert!(matches!(read(&workspace, path), Err(WorkspaceError::NotAFile { .. })), "{path}");
            assert!(matches!(write(&workspace, path, "x"), Err(WorkspaceError::NotAFile { .. })), "{path}");
        }
    }
}

#[test]
fn a_file_with_a_second_name_is_read_but_not_written() {
    let place = Place::new();
    fs::hard_link(place.outside.join("file"), place.inside.join("second")).unwrap();
    for workspace in place.workspaces() {
        assert_eq!(read(&workspace, "second").unwrap().unwrap().bytes, "secret");
        assert!(matches!(write(&workspace, "second", "x"), Err(WorkspaceError::HardLinked { links: 2, .. })));
        let (lock, path) = (workspace.lock().unwrap(), workspace.path("second").unwrap());
        assert!(matches!(lock.remove(&path), Err(WorkspaceError::HardLinked { .. })));
    }
    place.outside_is_untouched();
}

#[test]
fn what_git_runs_programs_from_is_not_written() {
    let place = Place::new();
    let workspace = Workspace::open(&place.inside).unwrap();
    for path in [".git/config", ".git/hooks/post-commit", "sub/.Git/config"] {
        assert!(matches!(write(&workspace, path, "x"), Err(WorkspaceError::GitOwned { .. })), "{path}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_directory_swapped_for_a_link_meanwhile_leads_nowhere() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let place = Place::new();
    let (dir, link) = (place.inside.join("dir"), place.inside.join("link"));
    let elsewhere = tempfile::tempdir().unwrap();
    for root in [dir.as_path(), elsewhere.path()] {
        fs::create_dir(root.join("sub")).unwrap();
    }
    fs::write(dir.join("sub/file"), "inside").unwrap();
    fs::write(elsewhere.path().join("sub/file"), "secret").unwrap();
    symlink(elsewhere.path(), &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        scope.spawn(|| {
            // `dir` is now a directory, now a link to the outside, and never missing.
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for workspace in place.workspaces() {
            let (mut reached, mut refused) = (0, 0);
            // Until both were met often; the swapping thread never stops before.
            while reached < 200 || refused < 200 {
                match read(&workspace, "dir/sub/file") {
                    Ok(snapshot) => {
                        assert_eq!(snapshot.unwrap().bytes, "inside");
                        reached += 1;
                    }
                    Err(_) => refused += 1,
                }
                if (reached + refused) % 32 == 0 {
                    let _ = write(&workspace, "dir/sub/file", "inside");
                    let _ = write(&workspace, "dir/sub/other", "inside");
                    let _ = workspace.lock().unwrap().remove(&workspace.path("dir/sub/other").unwrap());
                }
            }
        }
    });
    assert_eq!(fs::read_to_string(elsewhere.path().join("sub/file")).unwrap(), "secret");
    assert_eq!(fs::read_dir(elsewhere.path().join("sub")).unwrap().count(), 1);
}

/// Stops the other thread also when this one fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_second_holder_of_the_lock_waits() {
    let place = Place::new();
    let workspace = Workspace::open(&place.inside).unwrap();
    let other = Workspace::open(&place.inside).unwrap();
    let held = workspace.lock().unwrap();
    let free = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let _lock = other.lock().unwrap();
            assert!(free.load(Ordering::SeqCst), "two hold the lock");
        });
        write_with(&held, "dir/file");
        free.store(true, Ordering::SeqCst);
        drop(held);
        waiting.join().unwrap();
    });
}

fn write_with(lock: &Locked<'_>, path: &str) {
    lock.write(&lock.workspace().path(path).unwrap(), b"x", None).unwrap();
}

#[test]
fn what_a_crash_left_behind_is_swept_by_the_next_writer() {
    let place = Place::new();
    let workspace = Workspace::open(&place.inside).unwrap();
    let lock = workspace.lock().unwrap();
    // A crash runs no destructors.
    std::mem::forget(lock.stage(&workspace.path("dir/file").unwrap(), b"half", None).unwrap());
    drop(lock);
    assert_eq!(fs::read_dir(place.inside.join("dir")).unwrap().count(), 2);
    write(&workspace, "dir/other", "whole").unwrap();
    let mut names: Vec<_> =
        fs::read_dir(place.inside.join("dir")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["file", "other"]);
}

#[test]
fn a_file_longer_than_the_limit_is_refused() {
    let place = Place::new();
    let workspace = Workspace::open(&place.inside).unwrap();
    let path = workspace.path("dir/file").unwrap();
    assert!(workspace.snapshot(&path, 6).is_ok());
    assert!(matches!(workspace.snapshot(&path, 5), Err(WorkspaceError::TooLarge { limit: 5, .. })));
}
