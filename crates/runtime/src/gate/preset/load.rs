//! Where presets are, and reading them.

use std::fmt;
use std::fs::{self, File as Opened};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::File;
use super::{Preset, PresetError};

/// Presets that can be chosen, below [`Preset::DIRECTORY`].
const PRESETS: &str = "gates.d";

/// No preset is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Where a preset is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetSource {
    /// In a file, which may turn out to be missing or broken.
    File(PathBuf),
    /// It comes with R1.
    Builtin(String),
}

impl fmt::Display for PresetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Builtin(name) => write!(f, "built-in preset `{name}`"),
        }
    }
}

impl PresetSource {
    /// Reads it.
    pub fn load(&self) -> Result<Preset, PresetError> {
        match self {
            Self::File(path) => Preset::read(path),
            Self::Builtin(name) => Preset::builtin(name).ok_or_else(|| PresetError::Unknown { name: name.clone() }),
        }
    }
}

impl Preset {
    /// Where a project keeps what it wants of R1's gates.
    pub const DIRECTORY: &'static str = ".stoke";

    /// The preset that the project has chosen, below [`Self::DIRECTORY`].
    pub const CHOSEN: &'static str = "gates.yaml";

    /// The preset that counts for a project: the one that is asked for by name or path; else what the project
    /// itself has chosen in `.stoke/gates.yaml`; else `default`. A name is looked for in `.stoke/gates.d/` and
    /// then among the built-in ones.
    pub fn load(repo: &Path, choice: Option<&str>) -> Result<Self, PresetError> {
        Self::find(repo, choice)?.load()
    }

    /// Where [`Self::load`] finds it.
    pub fn find(repo: &Path, choice: Option<&str>) -> Result<PresetSource, PresetError> {
        let directory = repo.join(Self::DIRECTORY);
        let chosen = directory.join(Self::CHOSEN);
        let name = match choice {
            None if is_there(&chosen) => return Ok(PresetSource::File(chosen)),
            Some(choice) if is_path(choice) => return Ok(PresetSource::File(choice.into())),
            None => "default",
            Some(choice) => choice,
        };
        let path = directory.join(PRESETS).join(format!("{name}.yaml"));
        if is_there(&path) {
            Ok(PresetSource::File(path))
        } else if Self::BUILTIN.contains(&name) {
            Ok(PresetSource::Builtin(name.to_owned()))
        } else {
            Err(PresetError::Unknown { name: name.to_owned() })
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
