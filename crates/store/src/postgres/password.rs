//! Passwords that do not stand in the URL, found as PostgreSQL's own programs find them.

use std::fmt;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Where to look for a password if the URL has none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Passwords {
    /// The password: what `PGPASSWORD` says.
    pub password: Option<String>,
    /// A file with a line `host:port:database:user:password` per password: what `PGPASSFILE` names, or `~/.pgpass`.
    pub file: Option<PathBuf>,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { password, file } = self;
        f.debug_struct("Passwords").field("password", &password.as_ref().map(|_| "…")).field("file", file).finish()
    }
}

impl Passwords {
    /// The password for a server, if there is one.
    pub(super) fn find(&self, config: &Config) -> Result<Option<Vec<u8>>, PasswordFileError> {
        if let Some(password) = &self.password {
            return Ok(Some(password.clone().into_bytes()));
        }
        let Some(path) = &self.file else { return Ok(None) };
        let unreadable = |source| PasswordFileError::Unreadable { path: path.clone(), source };
        // Most people have none. What is no file (a pipe, a terminal) is not waited for.
        if !fs::metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        let mut file = File::open(path).map_err(unreadable)?;
        let mut lines = Vec::new();
        file.read_to_end(&mut lines).map_err(unreadable)?;
        let found = find_line(&lines, config);
        if found.is_some() && is_open_to_others(&file).map_err(unreadable)? {
            return Err(PasswordFileError::Open { path: path.clone() });
        }
        Ok(found)
    }
}

#[cfg(unix)]
fn is_open_to_others(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &File) -> std::io::Result<bool> {
    Ok(false)
}

/// The password of the first line that fits the server, its database and the user.
fn find_line(lines: &[u8], config: &Config) -> Option<Vec<u8>> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.to_string_lossy().into_owned(),
        None => config.get_hostaddrs().first().map_or_else(|| "localhost".into(), ToString::to_string),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [&host, &port, config.get_dbname().unwrap_or(user), user];
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#"));
    let mut passwords = lines.filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        wanted.iter().try_fold(line, |rest, wanted| behind_field(rest, wanted.as_bytes())).map(unescaped)
    });
    passwords.find(|password| !password.is_empty())
}

/// What follows the first field, if that is `wanted` or stands for anything.
fn behind_field<'a>(line: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut is_escaped = false;
    let end = line.iter().position(|byte| {
        let ends = *byte == b':' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    })?;
    let (field, rest) = (&line[..end], &line[end + 1..]);
    (field == b"*" || unescaped(field) == wanted).then_some(rest)
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = field.iter().copied();
    let mut plain = Vec::with_capacity(field.len());
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte });
    }
    plain
}

/// A password file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PasswordFileError {
    /// Others could have read it.
    #[error("others may read the password file {}: make it yours alone with `chmod 0600`", path.display())]
    Open {
        /// Which.
        path: PathBuf,
    },
    /// It is there.
    #[error("the password file {} cannot be read", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str, url: &str) -> Option<String> {
        find_line(lines.as_bytes(), &url.parse().unwrap()).map(|password| String::from_utf8(password).unwrap())
    }

    #[test]
    fn the_first_line_of_a_password_file_that_fits_counts() {
        let lines = "# db:5432:x:ann:comment\nnonsense\ndb:5433:*:ann:other port\r\n\
                     db:5432:x:ann:s3\\:cr\\\\et:\n*:*:*:ann:for the rest\n/run/pg:*:*:bob:by\\ socket\n";
        assert_eq!(found(lines, "postgres://ann@db/x").as_deref(), Some("s3:cr\\et:"));
        assert_eq!(found(lines, "postgres://ann@db:5433/y").as_deref(), Some("other port"));
        assert_eq!(found(lines, "postgres://ann@db/y").as_deref(), Some("for the rest"));
        assert_eq!(found(lines, "postgres://bob@%2Frun%2Fpg/y").as_deref(), Some("by socket"));
        assert_eq!(found(lines, "postgres://bob@db/x"), None);
        assert_eq!(found("a\\:b:*:*:*:colon", "postgres://x@a%3Ab/y").as_deref(), Some("colon"));
    }

    #[cfg(unix)]
    #[test]
    fn a_password_file_that_others_may_read_is_refused_if_it_would_be_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        fs::write(&path, "db:*:*:ann:s3cret").unwrap();
        let (ann, bob) = ("postgres://ann@db/x".parse().unwrap(), "postgres://bob@db/x".parse().unwrap());
        let passwords = Passwords { password: None, file: Some(path.clone()) };
        let restrict = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        restrict(0o640);
        let err = passwords.find(&ann).unwrap_err();
        assert!(err.to_string().contains("chmod 0600") && !format!("{err:?}").contains("s3cret"), "{err:?}");
        assert_eq!(passwords.find(&bob).unwrap(), None);
        restrict(0o600);
        assert_eq!(passwords.find(&ann).unwrap(), Some(b"s3cret".to_vec()));
        let missing = Passwords { password: None, file: Some(directory.path().join("none")) };
        assert_eq!(missing.find(&ann).unwrap(), None);
        let named = Passwords { password: Some("env".into()), ..passwords };
        assert_eq!(named.find(&ann).unwrap(), Some(b"env".to_vec()));
        assert!(!format!("{named:?}").contains("env"));
    }
}
