//! The only place where the environment is read, but for the variables that options name themselves.

use std::env;
use std::path::PathBuf;

/// The directory where the platform keeps a user's data, for R1.
pub(crate) fn data_directory() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        let absolute = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
        absolute.or_else(|| variable("HOME").map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("r1"))
}

/// Who is at the keyboard, as redactions name them.
pub(crate) fn operator() -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| env::var(name).ok());
    format!("operator:{}", user.filter(|user| !user.is_empty()).as_deref().unwrap_or("unknown"))
}
