//! A preset that cannot be used. A broken file is never passed over for another one.

use std::io;
use std::path::PathBuf;

/// Why there is no preset.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// The file is not there, or cannot be read.
    #[error("there are no gates in {}: {source}", path.display())]
    Missing {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// No file and no built-in preset has this name.
    #[error(
        "there is no preset `{name}`: use `default`, `strict`, `fast`, the name of a file in `.stoke/gates.d/`, or a path"
    )]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The file is not YAML.
    #[error("{} is not YAML: {why}", path.display())]
    BadYaml {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The file is YAML, but no preset.
    #[error("{} is no preset of gates: {why}", path.display())]
    BadShape {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
}
