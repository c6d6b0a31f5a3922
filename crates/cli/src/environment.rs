//! The only place where the environment is read, but for the variables that options name themselves.

use std::env;
use std::path::PathBuf;

use r1_store::postgres::Passwords;

/// The directory where the platform keeps a user's data, for R1.
pub(crate) fn data_directory() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // Services and containers may have no HOME, yet the user has a home.
    let home = variable("HOME").or_else(env::home_dir);
    let data = if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        let absolute = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
        absolute.or_else(|| home.map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("r1"))
}

/// The directory for sockets of the user's programs.
pub(crate) fn runtime_directory() -> Option<PathBuf> {
    env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Who is at the keyboard, as redactions name them.
pub(crate) fn operator() -> String {
    format!("operator:{}", named_user().as_deref().unwrap_or("unknown"))
}

/// The user's name, as the machine knows it.
pub(crate) fn user() -> String {
    named_user().unwrap_or_else(|| "operator".into())
}

fn named_user() -> Option<String> {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| env::var(name).ok());
    user.filter(|user| !user.is_empty())
}

/// The user's editor.
pub(crate) fn editor() -> String {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| env::var(name).ok());
    named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".into())
}

/// One variable; for keys of providers.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// All variables whose names and values are text.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The user's home directory.
pub(crate) fn user_home() -> Option<PathBuf> {
    env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Passwords of databases, where PostgreSQL's own programs look for them.
pub(crate) fn database_passwords() -> Passwords {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let usual = || match cfg!(windows) {
        true => variable("APPDATA").map(|data| PathBuf::from(data).join("postgresql").join("pgpass.conf")),
        false => user_home().map(|home| home.join(".pgpass")),
    };
    Passwords {
        password: variable("PGPASSWORD").and_then(|password| password.into_string().ok()),
        file: variable("PGPASSFILE").map(PathBuf::from).or_else(usual),
    }
}

/// The file of this program, which can also supervise others.
pub(crate) fn this_program() -> Option<PathBuf> {
    env::current_exe().ok()
}
