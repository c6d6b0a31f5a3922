//! Connections: how they are made, shared, and made again after the server went away.

use std::sync::OnceLock;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Transaction};
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, IsolationLevel, NoTls, Row};

use super::options::{PostgresOptions, Target};
use crate::error::{OpenError, StoreError};

/// A parameter with its type, so that no statement has to be prepared: prepared statements belong to
/// a connection, and behind a pooler the next one may be another.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Between two tries to reach a server that is away.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Where the tables are, and the shared connections to them.
pub(super) struct Database {
    pub(super) schema: String,
    pub(super) location: String,
    pub(super) patience: Patience,
    config: Config,
    prefix: String,
    pool: Pool,
    /// How transactions begin; known once the server was asked.
    begin: OnceLock<&'static str>,
    /// Whether a statement by itself is not such a transaction; known then too.
    needs_begin: OnceLock<bool>,
}

/// Each statement sees what was committed before it, whatever the server's default is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const BEGIN_SYNCHRONOUS: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on";

impl Database {
    pub(super) fn new(target: Target, options: &PostgresOptions) -> Result<Self, OpenError> {
        let Target { config, schema, location } = target;
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config.clone(), NoTls, manager))
            .max_size(options.connections.max(1))
            .build()
            .map_err(|err| OpenError::Unavailable { location: location.clone(), source: err.into() })?;
        let prefix = format!("{}.", quote(&schema));
        Ok(Self {
            schema,
            location,
            patience: Patience { total: options.patience, pause: RETRY_PAUSE },
            config,
            prefix,
            pool,
            begin: OnceLock::new(),
            needs_begin: OnceLock::new(),
        })
    }

    /// What begins a transaction whose commit is durable.
    pub(super) fn begin(&self) -> &'static str {
        self.begin.get().copied().unwrap_or(BEGIN_SYNCHRONOUS)
    }

    /// Whether a single statement needs a transaction around it to be durable when it returns.
    pub(super) fn needs_begin(&self) -> bool {
        self.needs_begin.get().copied().unwrap_or(true)
    }

    /// Asks the server how durable a commit is by default. Where it is not, every transaction says
    /// so itself: what a session says once, a pooler may forget.
    pub(super) async fn learn_durability(&self, client: &Client) -> Result<(), Error> {
        let settings = "SELECT current_setting('synchronous_commit'), current_setting('default_transaction_isolation'),
                               current_setting('default_transaction_read_only')";
        let row = client.query_typed_one(settings, &[]).await?;
        let begin = if row.get::<_, &str>(0) == "off" { BEGIN_SYNCHRONOUS } else { BEGIN };
        let is_usual = row.get::<_, &str>(1) == "read committed" && row.get::<_, &str>(2) == "off";
        self.begin.get_or_init(|| begin);
        self.needs_begin.get_or_init(|| begin == BEGIN_SYNCHRONOUS || !is_usual);
        Ok(())
    }

    /// `template` with `@` in front of each table replaced by the schema.
    pub(super) fn sql(&self, template: &str) -> String {
        template.replace('@', &self.prefix)
    }

    /// A connection of one's own, for use outside the pool. Lives as long as the client.
    pub(super) async fn connect(&self) -> Result<Client, Error> {
        let (client, connection) = self.config.connect(NoTls).await?;
        // Ends by itself when the client is dropped; why it broke reaches whoever waits for an answer.
        tokio::spawn(connection);
        Ok(client)
    }

    /// A connection that hands its notifications to the caller, who drives it.
    pub(super) async fn connect_raw(
        &self,
    ) -> Result<(Client, tokio_postgres::Connection<tokio_postgres::Socket, tokio_postgres::tls::NoTlsStream>), Error>
    {
        self.config.connect(NoTls).await
    }

    /// A shared connection; waits a while for a server that is away.
    pub(super) async fn client(&self) -> Result<Object, StoreError> {
        let mut patience = self.patience.start();
        loop {
            match self.pool.get().await {
                Ok(client) => return Ok(client),
                Err(PoolError::Backend(err)) if is_lost(&err) && patience.pause().await => {}
                Err(PoolError::Closed) => return Err(StoreError::Closed),
                Err(err) => return Err(StoreError::Backend { backend: "postgres", source: err.into() }),
            }
        }
    }

    /// Runs one statement that changes nothing, so it may be sent again when the connection breaks.
    pub(super) async fn query(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let sql = self.sql(template);
        let mut patience = self.patience.start();
        loop {
            match self.client().await?.query_typed(&sql, params).await {
                Ok(rows) => return Ok(rows),
                Err(err) if is_lost(&err) && patience.pause().await => {}
                Err(err) => return Err(failed(err)),
            }
        }
    }

    /// Runs one statement that changes something: it is sent once, and durable when this returns.
    pub(super) async fn execute(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let client = self.client().await?;
        self.execute_on(&client, &self.sql(template), params).await.map_err(failed)
    }

    /// The same for a statement that may be done twice: it is sent again when the connection breaks.
    pub(super) async fn repeat(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let sql = self.sql(template);
        let mut patience = self.patience.start();
        loop {
            let client = self.client().await?;
            match self.execute_on(&client, &sql, params).await {
                Ok(rows) => return Ok(rows),
                Err(err) if is_lost(&err) && patience.pause().await => {}
                Err(err) => return Err(failed(err)),
            }
        }
    }

    async fn execute_on(&self, client: &Client, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        // Sent at once: a caller that goes away leaves no transaction open.
        let (begun, rows, done) = tokio::join!(
            client.batch_execute(self.begin()),
            client.query_typed(sql, params),
            client.batch_execute("COMMIT"),
        );
        begun.and(rows).and_then(|rows| done.map(|()| rows))
    }

    /// Begins a transaction on a shared connection; it is rolled back unless committed.
    pub(super) async fn transaction<'a>(&self, client: &'a mut Object) -> Result<Transaction<'a>, StoreError> {
        self.begin_on(client).await.map_err(failed)
    }

    /// The same, with the driver's word for what went wrong.
    pub(super) async fn begin_on<'a>(&self, client: &'a mut Object) -> Result<Transaction<'a>, Error> {
        let level = IsolationLevel::ReadCommitted;
        let transaction = client.build_transaction().isolation_level(level).read_only(false).start().await?;
        if self.begin() == BEGIN_SYNCHRONOUS {
            transaction.batch_execute("SET LOCAL synchronous_commit = on").await?;
        }
        Ok(transaction)
    }

    /// Frees the space of rows that are gone; `FULL` also writes the rest of the table anew.
    pub(super) async fn vacuum(&self, how: &str, tables: &[&str]) -> Result<(), StoreError> {
        let client = self.client().await?;
        for table in tables {
            client.batch_execute(&self.sql(&format!("VACUUM {how} @{table}"))).await.map_err(failed)?;
        }
        Ok(())
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// How long to go on trying, and how long to wait between two tries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) total: Duration,
    pub(super) pause: Duration,
}

impl Patience {
    pub(super) fn start(self) -> Waiting {
        Waiting { until: Instant::now() + self.total, pause: self.pause }
    }
}

/// Patience that is running out.
pub(super) struct Waiting {
    until: Instant,
    pause: Duration,
}

impl Waiting {
    /// Waits before the next try; false when there should be none.
    pub(super) async fn pause(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        sleep(self.pause).await;
        true
    }
}

/// A store error for what the driver says.
pub(super) fn failed(err: Error) -> StoreError {
    StoreError::Backend { backend: "postgres", source: err.into() }
}

/// Whether the connection is gone or could not be made, as opposed to a statement that was refused.
pub(super) fn is_lost(err: &Error) -> bool {
    if let Some(code) = err.code() {
        let gone = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
        return gone.contains(code) || code.code().starts_with("08");
    }
    let io = std::error::Error::source(err).and_then(|source| source.downcast_ref::<std::io::Error>());
    match io {
        // What could not be encoded or decoded is no better on another connection.
        Some(io) => !matches!(io.kind(), std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData),
        None => err.is_closed(),
    }
}

/// An SQL identifier.
pub(super) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
