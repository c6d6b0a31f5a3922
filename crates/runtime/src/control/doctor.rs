//! Is everything in place?

mod runs;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use r1_event::UnixNanos;
use r1_store::{SharedStore, StoreError, StoreFacts};
use serde::Serialize;

use crate::home::Home;
use crate::keys::{self, Keyring, KeysError};
use crate::location::StoreLocation;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checkup {
    /// What.
    pub name: &'static str,
    /// How it is.
    pub health: Health,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Worth knowing.
    Notice,
    /// Needs mending.
    Bad,
}

impl Checkup {
    fn new(name: &'static str, health: Health, detail: impl Into<String>) -> Self {
        Self { name, health, detail: detail.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Looks at home and keys.
#[must_use]
pub fn examine_home(home: &Home, now: UnixNanos) -> Vec<Checkup> {
    let mut checkups = vec![examine_directory(home.path())];
    match Keyring::read(home) {
        Ok(keyring) => {
            let known: String = match keyring.entries.len() {
                1 => "1 public key".into(),
                keys => format!("{keys} public keys"),
            };
            checkups.push(Checkup::new("keyring", Health::Good, known));
            checkups.extend(keyring.refused.iter().map(|err| {
                Checkup::new("keyring", Health::Bad, chain(err))
                    .hint("remove the file, or ask its owner for a good one")
            }));
        }
        Err(err) => checkups.push(Checkup::new("keyring", Health::Bad, chain(&err))),
    }
    checkups.push(match keys::find_agent_key(home, now) {
        Ok(Some(key)) => examine_key_file(home, &key.kid()),
        Ok(None) => Checkup::new("agent key", Health::Notice, "none yet")
            .hint("`r1 log checkpoint RUN` makes one; until then finished runs are not sealed"),
        Err(err @ KeysError::Refused { .. }) => Checkup::new("agent key", Health::Bad, chain(&err)),
        Err(err) => Checkup::new("agent key", Health::Bad, chain(&err)),
    });
    checkups
}

/// Looks whether there is room for more where things are kept: in the home, and where the store's file is.
#[must_use]
pub fn examine_room(home: &Home, location: &StoreLocation) -> Vec<Checkup> {
    let store = match location {
        StoreLocation::Sqlite(path) => path.parent().filter(|folder| !folder.as_os_str().is_empty()),
        StoreLocation::Postgres { .. } => None,
    };
    let store = store.filter(|folder| *folder != home.path()).map(|folder| ("store", folder));
    let places = [("home", home.path())].into_iter().chain(store).filter(|(_, folder)| folder.is_dir());
    places.filter_map(|(name, folder)| judge_room(name, folder, write_a_little(folder))).collect()
}

/// About what the first events of a run take.
fn write_a_little(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0; 256 << 10])?;
    file.sync_all()
}

fn judge_room(name: &'static str, folder: &Path, written: io::Result<()>) -> Option<Checkup> {
    let err = written.err()?;
    let detail = format!("nothing can be written in {}: {err}", folder.display());
    let is_full = matches!(err.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    // Whoever only looks at what somebody else keeps has no right to write, and needs none.
    let health = if is_full { Health::Bad } else { Health::Notice };
    let hint = is_full.then(|| "make room there, or keep runs elsewhere with `--store` or R1_STORE".into());
    Some(Checkup { hint, ..Checkup::new(name, health, detail) })
}

/// Looks at a store, and at what it keeps of each run besides its events.
pub async fn examine_store(store: &SharedStore) -> Result<Vec<Checkup>, StoreError> {
    let StoreFacts { backend, location, layout_version, runs, bytes, notes, faults } = store.describe().await?;
    let size = bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    let detail = format!("{backend} at {location}, layout {layout_version}, runs: {runs}{size}");
    let mut checkups = vec![Checkup::new("store", Health::Good, detail)];
    checkups.extend(notes.into_iter().map(|note| Checkup::new("store", Health::Notice, note)));
    let is_whole = faults.is_empty();
    checkups.extend(faults.into_iter().map(|fault| Checkup::new("store", Health::Bad, fault)));
    match runs::examine(store).await {
        Ok(found) => checkups.extend(found),
        // What is missing was told already.
        Err(_) if !is_whole => {}
        Err(err) => checkups.push(Checkup::new("store", Health::Bad, chain(&err))),
    }
    Ok(checkups)
}

fn examine_directory(path: &Path) -> Checkup {
    let name = "home";
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            Checkup::new(name, Health::Bad, format!("{} is no directory", path.display())).hint("set R1_HOME to one")
        }
        Ok(found) if is_open_to_others(&found) => {
            Checkup::new(name, Health::Notice, format!("{} can be read by other users", path.display()))
                .hint(format!("chmod 700 {}", path.display()))
        }
        Ok(_) => Checkup::new(name, Health::Good, path.display().to_string()),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            Checkup::new(name, Health::Notice, format!("{} is not there yet", path.display()))
                .hint("it is made when the first run is recorded")
        }
        Err(err) => Checkup::new(name, Health::Bad, format!("{}: {err}", path.display())),
    }
}

fn examine_key_file(home: &Home, kid: &r1_event::KeyId) -> Checkup {
    let path = home.keys().join(format!("{}.key", kid.thumbprint()));
    match fs::metadata(&path) {
        Ok(found) if is_open_to_others(&found) => {
            Checkup::new("agent key", Health::Bad, format!("{} can be read by other users", path.display()))
                .hint(format!("chmod 600 {}", path.display()))
        }
        _ => Checkup::new("agent key", Health::Good, kid.to_string()),
    }
}

#[cfg(unix)]
fn is_open_to_others(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
const fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

/// An error and its causes in one line.
fn chain(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        text.push_str(": ");
        text.push_str(&err.to_string());
        cause = err.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_needs_mending_and_a_place_of_somebody_else_does_not() {
        let judged = |kind: io::ErrorKind| judge_room("home", Path::new("/x"), Err(kind.into())).unwrap();
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let full = judged(kind);
            assert_eq!((full.health, full.hint.is_some()), (Health::Bad, true), "{full:?}");
        }
        assert_eq!(judged(io::ErrorKind::PermissionDenied).health, Health::Notice);
        assert_eq!(judged(io::ErrorKind::ReadOnlyFilesystem).health, Health::Notice);
        assert_eq!(judge_room("home", Path::new("/x"), Ok(())), None);
    }

    #[test]
    fn looking_for_room_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        fs::create_dir(home.path()).unwrap();
        let location = StoreLocation::Sqlite(folder.path().join("r1.db"));
        assert_eq!(examine_room(&home, &location), []);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
