//! Where the database is and how it is used.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::OpenError;

/// How a [`PostgresStore`](super::PostgresStore) behaves. The default is right for most.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The schema that holds the tables; made if it is not there. `?schema=` in the URL comes first.
    pub schema: String,
    /// Most connections used for reading and housekeeping at one time.
    pub connections: usize,
    /// How many transactions of appends may be under way at one time. With two, the server works on one
    /// while the other waits for the disk or is being made; with more, each has fewer events to share a
    /// sync of the disk among.
    pub committers: usize,
    /// How long to wait for a server that is not there (restarting, say) before giving an error.
    pub patience: Duration,
    /// How often to look for what other processes wrote, should notifications be lost. Costs one
    /// query, and only while someone waits.
    pub poll_interval: Duration,
    /// Whether to use `LISTEN` and `NOTIFY`. Without them other processes' events are found by polling.
    pub notifications: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "r1".into(),
            connections: 8,
            committers: 2,
            patience: Duration::from_secs(15),
            poll_interval: Duration::from_millis(500),
            notifications: true,
        }
    }
}

/// A URL that was understood.
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) schema: String,
    /// For people; without the password.
    pub(super) location: String,
}

impl Target {
    pub(super) fn parse(url: &str, options: &PostgresOptions) -> Result<Self, OpenError> {
        // Nothing of a URL that cannot be read is repeated: any part of it may be the password.
        let invalid = |reason: String| OpenError::Unavailable {
            location: "the given PostgreSQL URL".into(),
            source: reason.into(),
        };
        let (url, schema) = split_schema(url);
        let schema = schema.unwrap_or_else(|| options.schema.clone());
        if schema.is_empty() || schema.len() > 63 || schema.contains('\0') {
            return Err(invalid("a schema name has 1 to 63 bytes and no NUL".into()));
        }
        if parameter(&url, "sslmode").is_some_and(|mode| !matches!(mode, "disable" | "prefer")) {
            return Err(invalid(NO_TLS.into()));
        }
        let mut config: Config =
            url.parse().map_err(|err: tokio_postgres::Error| match std::error::Error::source(&err) {
                Some(cause) => invalid(format!("it cannot be read: {cause}")),
                None => invalid("it cannot be read".into()),
            })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(invalid(NO_TLS.into()));
        }
        if config.get_application_name().is_none() {
            config.application_name("r1");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        if config.get_tcp_user_timeout().is_none() {
            // A peer that vanished without a word must not hold a commit for ever.
            config.tcp_user_timeout(Duration::from_secs(30));
        }
        let location = location(&config, &schema);
        Ok(Self { config, schema, location })
    }
}

const NO_TLS: &str = "this r1 speaks to PostgreSQL without TLS and never falls back silently: \
     use `sslmode=disable` on a trusted network, or a local TLS tunnel";

/// Takes `schema=…` out of the URL's query, which the driver would refuse.
fn split_schema(url: &str) -> (String, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.into(), None) };
    let (ours, theirs): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| pair.starts_with("schema="));
    let schema = ours.last().map(|pair| pair["schema=".len()..].to_owned());
    let url = if theirs.is_empty() { base.into() } else { format!("{base}?{}", theirs.join("&")) };
    (url, schema)
}

fn parameter<'a>(url: &'a str, key: &str) -> Option<&'a str> {
    let pairs = url.split(['?', '&', ' ']);
    pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
}

fn location(config: &Config, schema: &str) -> String {
    let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(|| "localhost".into(), ToString::to_string),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{user}{host}:{port}/{database}?schema={schema}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, OpenError> {
        Target::parse(url, &PostgresOptions::default())
    }

    fn refusal(url: &str) -> String {
        let err = parse(url).err().unwrap();
        format!("{err}: {}", std::error::Error::source(&err).unwrap())
    }

    #[test]
    fn the_location_names_everything_but_the_password() {
        let target = parse("postgres://ann:hunter2@db.example:6543/logs?schema=team&sslmode=disable").unwrap();
        assert_eq!(target.location, "postgres://ann@db.example:6543/logs?schema=team");
        assert_eq!(target.schema, "team");
        assert!(!format!("{:?}", target.config).contains("hunter2"));
    }

    #[test]
    fn the_schema_comes_from_the_url_or_from_the_options() {
        assert_eq!(parse("postgres://localhost/x").unwrap().schema, "r1");
        assert_eq!(parse("postgres://localhost/x?schema=a&connect_timeout=1").unwrap().schema, "a");
        assert!(refusal("postgres://localhost/x?schema=").contains("1 to 63 bytes"));
    }

    #[test]
    fn tls_that_cannot_be_had_is_refused_and_never_silently_left_out() {
        for mode in ["require", "verify-ca", "verify-full"] {
            assert!(refusal(&format!("postgres://localhost/x?sslmode={mode}")).contains("without TLS"), "{mode}");
        }
        assert!(refusal("host=localhost sslmode=require").contains("without TLS"));
    }

    #[test]
    fn a_url_that_cannot_be_read_is_not_repeated() {
        assert!(!refusal("postgres://ann:hunter2@localhost:port/x").contains("hunter2"));
    }
}
