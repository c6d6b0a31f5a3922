//! Where the database is and how it is used.

use std::time::Duration;

use r1_event::id::from_hex;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::address::{place, shown};
use super::password::Passwords;
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
    /// Where the password comes from if the URL has none.
    pub passwords: Passwords,
    /// Whether a store that is not there is made; otherwise it is an error.
    pub create: bool,
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
            passwords: Passwords::default(),
            create: true,
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
        let invalid = |reason: &'static str| OpenError::Address { reason };
        let rest = behind_scheme(url).ok_or_else(|| invalid(NO_URL))?;
        if is_ambiguous(rest) {
            return Err(invalid(AMBIGUOUS));
        }
        let (url, schema) = split_schema(&format!("postgres://{rest}"));
        let schema = match schema {
            Some(written) => decoded(&written).ok_or_else(|| invalid(NO_SCHEMA))?,
            None => options.schema.clone(),
        };
        if schema.is_empty() || schema.len() > 63 || schema.chars().any(char::is_control) {
            return Err(invalid(NO_SCHEMA));
        }
        if parameter(&url, "sslmode").is_some_and(|mode| !matches!(mode, "disable" | "prefer")) {
            return Err(invalid(NO_TLS));
        }
        // What the driver says repeats names of options, and such a name may be a piece of a password.
        let mut config: Config = url.parse().map_err(|_: tokio_postgres::Error| invalid(UNREADABLE))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(invalid(NO_TLS));
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
        if config.get_password().is_none() {
            let password = options.passwords.find(&config);
            let failed = |err| OpenError::Unavailable { location: location.clone(), source: Box::new(err) };
            password.map_err(failed)?.map(|password| config.password(password));
        }
        Ok(Self { config, schema, location })
    }
}

const NO_TLS: &str = "this r1 speaks to PostgreSQL without TLS and never falls back silently: \
     use `sslmode=disable` on a trusted network, or a local TLS tunnel";

const NO_SCHEMA: &str = "a schema's name has 1 to 63 bytes of UTF-8 and no control characters; in an address `%` is \
     followed by two hexadecimal digits, and the sign itself is %25";

const NO_URL: &str = "a database is named like `postgres://USER@HOST:5432/DATABASE?schema=r1`, and a file whose name \
     looks like an address with `./` before it";

const AMBIGUOUS: &str = "in a name or password write `@` as %40, `/` as %2F, `?` as %3F, `&` as %26 and `=` as %3D";

const UNREADABLE: &str = "the port is a number, options are PostgreSQL's and written `?NAME=VALUE&NAME=VALUE`, and a \
     `%` is followed by two hexadecimal digits";

/// What follows `postgres://`, in whatever case that is written.
fn behind_scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    ["postgres", "postgresql"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(rest)
}

/// Whether a piece of a password could be taken for something that is shown or sent.
fn is_ambiguous(rest: &str) -> bool {
    let (credentials, place) = rest.split_once('@').unwrap_or(("", rest));
    let database = place.split('?').next().unwrap_or_default();
    credentials.contains(['/', '?']) || place.contains('@') || database.contains(['&', '='])
}

/// Takes `schema=…` out of the URL's query, which the driver would refuse.
fn split_schema(url: &str) -> (String, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.into(), None) };
    let (ours, theirs): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| pair.starts_with("schema="));
    let schema = ours.last().map(|pair| pair["schema=".len()..].to_owned());
    let url = if theirs.is_empty() { base.into() } else { format!("{base}?{}", theirs.join("&")) };
    (url, schema)
}

/// A part of an address with its `%XX` as what they stand for; `None` if they stand for no text.
fn decoded(part: &str) -> Option<String> {
    let mut pieces = part.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, plain) = piece.split_at_checked(2)?;
        bytes.extend(from_hex(digits)?);
        bytes.extend_from_slice(plain.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn parameter<'a>(url: &'a str, key: &str) -> Option<&'a str> {
    let pairs = url.split(['?', '&', ' ']);
    pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
}

fn location(config: &Config, schema: &str) -> String {
    let user = config.get_user().map_or(String::new(), |user| format!("{}@", shown(user)));
    format!("postgres://{user}{}?schema={}", place(config), shown(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, OpenError> {
        Target::parse(url, &PostgresOptions::default())
    }

    fn refusal(url: &str) -> String {
        parse(url).err().unwrap().to_string()
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
    fn the_schema_is_decoded_like_the_rest_of_the_address() {
        let schema = |written: &str| parse(&format!("postgres://localhost/x?schema={written}"));
        for (written, means) in [("my%20team", "my team"), ("%72%31", "r1"), ("caf%C3%A9", "café"), ("50%25", "50%")] {
            assert_eq!(schema(written).unwrap().schema, means);
        }
        let long = "%41".repeat(64);
        for written in ["50%", "%4", "%zz", "%+1", "%é", "%ff", "%00", "a%0Ab", "%", &long] {
            let refusal = schema(written).err().unwrap().to_string();
            assert!(refusal.contains("1 to 63 bytes of UTF-8"), "{written}: {refusal}");
        }
        assert_eq!(schema(&long[3..]).unwrap().schema.len(), 63);
    }

    #[test]
    fn tls_that_cannot_be_had_is_refused_and_never_silently_left_out() {
        for mode in ["require", "verify-ca", "verify-full"] {
            assert!(refusal(&format!("postgres://localhost/x?sslmode={mode}")).contains("without TLS"), "{mode}");
        }
        assert!(refusal("POSTGRES://localhost/x?sslmode=require").contains("without TLS"));
    }

    #[test]
    fn a_url_that_cannot_be_read_is_not_repeated() {
        for url in [
            "postgres://ann:hunter2@localhost:port/x",
            "postgres://ann:hunter2/x",
            "postgres:/ann:hunter2@db/x",
            "host=db user=ann password=hunter2",
            "postgres://ann:a@hunter2@db/x",
            "postgres://ann:a/b@hunter2@db/x",
            "postgres://ann:a?hunter2=b@db/x",
            "postgres://db/x?password=a@hunter2",
            "postgres://db/x?password=a&hunter2=b",
            "postgres://db/x?password=a&hunter2",
            "postgres://db/x&password=hunter2",
            "postgres://ann:hunter2%ff@%ff/x",
        ] {
            assert!(!refusal(url).contains("hunter2"), "{url}");
        }
    }

    #[test]
    fn what_is_no_plain_name_is_not_shown() {
        let target = parse("Postgres://ann%3Ahunter2@db/x%20hunter2?schema=a;hunter2").unwrap();
        assert_eq!(target.location, "postgres://…@db:5432/…?schema=…");
        assert_eq!(target.config.get_user(), Some("ann:hunter2"));
    }

    #[test]
    fn a_password_comes_from_the_url_or_from_elsewhere() {
        let passwords = Passwords { password: Some("elsewhere".into()), file: None };
        let options = PostgresOptions { passwords, ..PostgresOptions::default() };
        let password = |url| Target::parse(url, &options).unwrap().config.get_password().map(<[u8]>::to_vec);
        assert_eq!(password("postgres://ann:here@db/x"), Some(b"here".to_vec()));
        assert_eq!(password("postgres://ann@db/x"), Some(b"elsewhere".to_vec()));
    }
}
