//! Where presets are, and reading them.

use std::fs::{self, File as Opened};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::File;
use super::{Preset, PresetError};

/// Where a project keeps what it wants of R1's gates.
pub(crate) const DIRECTORY: &str = ".stoke";
/// The preset that counts, below it.
pub(crate) const CHOSEN: &str = "gates.yaml";
/// Presets that can be chosen, below it.
const PRESETS: &str = "gates.d";

/// No preset is longer.
const MOST_BYTES: u64 = 1 << 20;

impl Preset {
    /// The preset that counts for a project: the one that is asked for by name or path; else what the project
    /// itself has chosen in `.stoke/gates.yaml`; else `default`. A name is looked for in `.stoke/gates.d/` and
    /// then among the built-in ones.
    pub fn load(repo: &Path, choice: Option<&str>) -> Result<Self, PresetError> {
        let directory = repo.join(DIRECTORY);
        let chosen = directory.join(CHOSEN);
        match choice {
            None if is_there(&chosen) => Self::read(&chosen),
            None => Self::named(&directory, "default"),
            Some(choice) if is_path(choice) => Self::read(Path::new(choice)),
            Some(choice) => Self::named(&directory, choice),
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, PresetError> {
        let missing = |source| PresetError::Missing { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        Opened::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(missing)?;
        if u64::try_from(bytes.len()).is_ok_and(|len| len > MOST_BYTES) {
            return Err(missing(io::Error::other("it is longer than 1 MiB")));
        }
        Self::parse(path, &bytes)
    }

    /// Reads what stands in a file; `path` is for what is said about it.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, PresetError> {
        let bad_yaml = |why: String| PresetError::BadYaml { path: path.to_owned(), why };
        let bad_shape = |why: String| PresetError::BadShape { path: path.to_owned(), why };
        let text = std::str::from_utf8(bytes).map_err(|err| bad_yaml(err.to_string()))?;
        // In two steps, so that what is no YAML and what is no preset are told apart.
        let value: Value = serde_saphyr::from_str(text).map_err(|err| bad_yaml(err.to_string()))?;
        let file: File = serde_path_to_error::deserialize(value).map_err(|err| match err.path().to_string() {
            root if root == "." => bad_shape(err.into_inner().to_string()),
            place => bad_shape(format!("`{place}`: {}", err.into_inner())),
        })?;
        file.into_preset().map_err(bad_shape)
    }

    /// The file that says the same.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        // A preset is text, numbers and lists: there is nothing that could fail.
        serde_saphyr::to_string(&File::of(self)).unwrap_or_default()
    }

    fn named(directory: &Path, name: &str) -> Result<Self, PresetError> {
        let path: PathBuf = directory.join(PRESETS).join(format!("{name}.yaml"));
        if is_there(&path) {
            return Self::read(&path);
        }
        Self::builtin(name).ok_or_else(|| PresetError::Unknown { name: name.to_owned() })
    }
}

/// Whether something has this name, also a link that leads nowhere: a broken file must not be passed over.
fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(err) => !matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

fn is_path(choice: &str) -> bool {
    choice.contains('/') || choice.ends_with(".yaml") || choice.ends_with(".yml")
}
