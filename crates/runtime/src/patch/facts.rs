//! What the log keeps of a patch beside its diff.

use r1_event::Digest;
use serde::{Deserialize, Serialize};

use super::{Change, Stats};
use crate::workspace::{Revision, Snapshot, WorkspacePath};

/// A patch as its `artifact.created` event tells it: all that making and unmaking it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchFacts {
    /// What kind of change it is.
    pub operation: Operation,
    /// Where the file is afterwards; of a removed file, where it was.
    pub target_path: WorkspacePath,
    /// Where a renamed file was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_path: Option<WorkspacePath>,
    /// The file before; `None` if there was none.
    pub base: Option<Version>,
    /// The file after; `None` if there is none.
    pub result: Option<Version>,
    /// How much it changes.
    pub stats: Stats,
    /// How many directories it makes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub new_directories: usize,
    /// How many it removes, where they came with the file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone_directories: usize,
    /// Patches with the same one move together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<String>,
    /// The patch that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_artifact_id: Option<String>,
}

/// A file's content and mode by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// `sha256:` and hex.
    pub revision: Revision,
    /// The blob that holds the bytes: BLAKE3, hex.
    #[serde(with = "hex")]
    pub digest: Digest,
    /// Permission bits, octal.
    #[serde(with = "octal")]
    pub mode: u32,
}

/// What a patch does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Makes it.
    Create,
    /// Changes its content or its mode.
    Modify,
    /// Removes it.
    Delete,
    /// Gives it another path, and perhaps other content.
    Rename,
}

impl PatchFacts {
    /// Of a change that stands alone.
    #[must_use]
    pub fn of(change: &Change, stats: Stats) -> Self {
        Self {
            operation: change.operation(),
            target_path: change.path.clone(),
            source_path: change.from.clone(),
            base: change.before.as_ref().map(Version::of),
            result: change.after.as_ref().map(Version::of),
            stats,
            new_directories: change.new_directories,
            gone_directories: change.gone_directories,
            batch_id: None,
            reverts_artifact_id: None,
        }
    }

    /// The blobs that must be kept as long as the patch is.
    pub fn blobs(&self) -> impl Iterator<Item = Digest> {
        [&self.base, &self.result].into_iter().flatten().map(|version| version.digest)
    }
}

impl Version {
    fn of(file: &Snapshot) -> Self {
        let digest = Digest::new(*blake3::hash(&file.bytes).as_bytes());
        Self { revision: file.revision(), digest, mode: file.mode }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

mod hex {
    use r1_event::Digest;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(digest)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("a digest is 64 hexadecimal digits"))
    }
}

mod octal {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(super) fn serialize<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{mode:04o}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 8).map_err(|_| de::Error::custom("a mode is octal digits"))
    }
}
