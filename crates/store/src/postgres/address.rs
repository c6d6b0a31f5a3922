//! Addresses of databases: what is taken for one, and what of it may be shown.

use std::fmt;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::options::{PostgresOptions, Target};

/// What someone named a PostgreSQL database with. Any part of it may be a password, so it is shown nowhere, and
/// neither is it by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// Takes everything for an address that could be one, also with a slip in it: as the name of a file or a run it
    /// would be printed, password and all. Opening tells what is wrong with it.
    #[must_use]
    pub fn recognise(text: &str) -> Option<Self> {
        let bare = text.trim_start_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        // Whoever has a file of such a name writes `./` before it.
        let is_path = bare.starts_with(['/', '.']);
        let lower = bare.to_ascii_lowercase();
        let names_server = ["postgres:", "postgresql:"].iter().any(|scheme| lower.contains(scheme));
        let looks_like_one = names_server || is_url(&lower) || has_keyword(&lower) || has_credentials(bare);
        (!is_path && looks_like_one).then(|| Self(text.into()))
    }

    /// The address itself, for [`PostgresStore::open`](super::PostgresStore::open) and nobody else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The server and its database, without the user: what everyone on the machine may know.
    #[must_use]
    pub fn place(&self) -> String {
        match Target::parse(&self.0, &PostgresOptions::default()) {
            Ok(target) => format!("postgres://{}", place(&target.config)),
            Err(_) => "postgres".into(),
        }
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresUrl(…)")
    }
}

/// The address of something else than a SQLite file.
fn is_url(lower: &str) -> bool {
    let is_scheme = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.:".contains(c));
    lower.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme) && scheme != "sqlite")
}

/// `host=db password=…`, with or without spaces.
fn has_keyword(lower: &str) -> bool {
    const KEYWORDS: [&str; 8] = ["host", "hostaddr", "port", "user", "password", "passfile", "dbname", "sslmode"];
    let mut parts: Vec<&str> = lower.split('=').collect();
    parts.pop();
    parts.iter().filter_map(|part| part.split_ascii_whitespace().next_back()).any(|word| KEYWORDS.contains(&word))
}

/// `ann:secret@db/x`: all but the scheme.
fn has_credentials(text: &str) -> bool {
    let first = text.split(['/', '\\']).next().unwrap_or_default();
    first.split_once(':').is_some_and(|(_, rest)| rest.contains('@'))
}

/// The first server and its database.
pub(super) fn place(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(|| "localhost".into(), ToString::to_string),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    // An IPv6 address has colons, a socket is a path.
    let host = if is_plain(&host, "._-:/") { &host } else { HIDDEN };
    format!("{host}:{port}/{}", shown(database))
}

const HIDDEN: &str = "…";

/// A part of an address if it is a plain name; what is not may be a password that got there by a slip.
pub(super) fn shown(part: &str) -> &str {
    if is_plain(part, "._-") { part } else { HIDDEN }
}

fn is_plain(part: &str, marks: &str) -> bool {
    part.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_could_be_the_address_of_a_database_is_taken_for_one_and_never_shown() {
        for text in [
            "postgres://ann:hunter2@db/x",
            "POSTGRES://ann:hunter2@db/x",
            "PostgreSQL://ann:hunter2@db/x",
            "postgres:/ann:hunter2@db/x",
            "postgresql:ann:hunter2@db",
            " 'postgres://ann:hunter2@db/x'",
            "R1_STORE=postgres://ann:hunter2@db/x",
            "jdbc:postgresql://ann:hunter2@db/x",
            "pgsql://ann:hunter2@db/x",
            "ann:hunter2@db/x",
            "host=db user=ann password=hunter2",
            "HOST = db PASSWORD = hunter2",
            "password='hunter2'",
        ] {
            let url = PostgresUrl::recognise(text).expect(text);
            assert!(!format!("{url:?} {}", url.place()).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn files_and_runs_are_not_taken_for_databases() {
        for text in [
            "r1.db",
            "/var/lib/postgres:/r1.db",
            "./postgres:x",
            "../a:b@c",
            "sqlite:///tmp/r1.db",
            "SQLite://r1.db",
            "backups/12:30@home.db",
            "C:\\me@work\\r1.db",
            "notes=old.cborseq",
            "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B",
            "",
        ] {
            assert_eq!(PostgresUrl::recognise(text), None, "{text}");
        }
    }

    #[test]
    fn the_place_names_server_and_database_alone() {
        for (url, place) in [
            ("postgres://ada:s3cret@db.example:5433/r1", "postgres://db.example:5433/r1"),
            ("postgresql://db/r1?password=s3cret", "postgres://db:5432/r1"),
            ("postgres://a:p@ss@db/r1", "postgres"),
            ("postgres://db/r1%20s3cret", "postgres://db:5432/…"),
        ] {
            assert_eq!(PostgresUrl::recognise(url).unwrap().place(), place);
        }
    }
}
