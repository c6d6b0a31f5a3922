//! The project that the demo's agent mends: two shell scripts, so that it runs wherever `sh` does.

use std::path::{Path, PathBuf};

use crate::error::CliError;

const FILES: [(&str, &str); 2] =
    [("leap.sh", include_str!("project/leap.sh")), ("test.sh", include_str!("project/test.sh"))];

/// Makes it, in a new directory that stays.
pub(super) fn make(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let failed = |err| CliError::new("cannot make the demo's project").because(err);
    let directory = match given {
        Some(path) if path.exists() => {
            return Err(CliError::new(format!("{} is there already", path.display())).hint("name a new directory"));
        }
        Some(path) => {
            std::fs::create_dir_all(path).map_err(failed)?;
            path.canonicalize().map_err(failed)?
        }
        None => tempfile::Builder::new().prefix("r1-demo-").tempdir().map_err(failed)?.keep(),
    };
    for (name, content) in FILES {
        std::fs::write(directory.join(name), content).map_err(failed)?;
    }
    directory.canonicalize().map_err(failed)
}
