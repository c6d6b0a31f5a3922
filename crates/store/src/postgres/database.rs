//! Connections: how they are made, shared, and made again after the server went away.

use std::sync::OnceLock;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use tokio::time::{Instant, sleep};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, NoTls, Row};

use super::failure::{backend, is_cancelled, is_lost};
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
    /// How long others may hold a lock that we need.
    pub(super) lock_wait: Duration,
    config: Config,
    prefix: String,
    pool: Pool,
    begin: Begin,
    /// Whether commits are durable only if we say so; known once the server was asked.
    is_asynchronous: OnceLock<bool>,
    /// Whether a statement by itself is not a transaction as ours are; known then too.
    needs_begin: OnceLock<bool>,
}

/// How transactions begin. What a session says once, a pooler may forget: each says for itself what it needs.
struct Begin {
    settings: String,
    settings_synchronous: String,
    write: String,
    write_synchronous: String,
    read: String,
}

impl Begin {
    fn new(lock_wait: Duration) -> Self {
        // Each statement sees what was committed before it, whatever the server's default is.
        const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
        // 0 would mean without end.
        let settings = format!("SET LOCAL lock_timeout = {}", lock_wait.as_millis().max(1));
        let settings_synchronous = format!("{settings}; SET LOCAL synchronous_commit = on");
        Self {
            write: format!("{BEGIN} READ WRITE; {settings}"),
            write_synchronous: format!("{BEGIN} READ WRITE; {settings_synchronous}"),
            read: format!("{BEGIN} READ ONLY; {settings}"),
            settings,
            settings_synchronous,
        }
    }
}

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
            lock_wait: options.lock_wait,
            config,
            prefix,
            pool,
            begin: Begin::new(options.lock_wait),
            is_asynchronous: OnceLock::new(),
            needs_begin: OnceLock::new(),
        })
    }

    /// What begins a transaction whose commit is durable.
    pub(super) fn begin(&self) -> &str {
        if self.is_asynchronous() { &self.begin.write_synchronous } else { &self.begin.write }
    }

    /// The same without the beginning, for one that is begun.
    pub(super) fn settings(&self) -> &str {
        if self.is_asynchronous() { &self.begin.settings_synchronous } else { &self.begin.settings }
    }

    fn is_asynchronous(&self) -> bool {
        self.is_asynchronous.get().copied().unwrap_or(true)
    }

    /// Whether a single statement needs a transaction around it to be durable when it returns.
    pub(super) fn needs_begin(&self) -> bool {
        self.needs_begin.get().copied().unwrap_or(true)
    }

    /// Asks the server how durable a commit is by default. Where it is not, every transaction says so itself.
    pub(super) async fn learn_durability(&self, client: &Client) -> Result<(), Error> {
        let settings = "SELECT current_setting('synchronous_commit'), current_setting('default_transaction_isolation'),
                               current_setting('default_transaction_read_only')";
        let row = client.query_typed_one(settings, &[]).await?;
        let is_asynchronous = row.try_get::<_, &str>(0)? == "off";
        let is_usual = row.try_get::<_, &str>(1)? == "read committed" && row.try_get::<_, &str>(2)? == "off";
        self.is_asynchronous.get_or_init(|| is_asynchronous);
        self.needs_begin.get_or_init(|| is_asynchronous || !is_usual);
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
                Err(PoolError::Backend(err)) => return Err(self.failed(err).await),
                Err(PoolError::Closed) => return Err(StoreError::Closed),
                Err(err) => return Err(backend(err)),
            }
        }
    }

    /// Runs one statement that changes nothing, so it may be sent again when the connection breaks.
    pub(super) async fn query(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let sql = self.sql(template);
        let mut patience = self.patience.start();
        loop {
            let err = match self.ask(self.client().await?, &sql, params).await {
                Ok(rows) => return Ok(rows),
                Err(err) => err,
            };
            if !is_lost(&err) || !patience.pause().await {
                return Err(self.failed(err).await);
            }
        }
    }

    /// Asks without a transaction around it, which is cheap. Only if that takes long it is asked again in one, where
    /// the server tells whether others hold a lock on what is read.
    async fn ask(&self, client: Object, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        match self.unless_stuck(&client, client.query_typed(sql, params)).await {
            Err(err) if is_cancelled(&err) => {
                // Ours may still be under way, and must not meet the next statement.
                drop(Object::take(client));
                self.run_in(&self.begin.read, &self.connect().await?, sql, params).await
            }
            answer => answer,
        }
    }

    /// Waits for the end of a statement that has no transaction around it, and cancels it if it takes so long that
    /// others may hold a lock which it needs.
    pub(super) async fn unless_stuck<T>(
        &self,
        client: &Client,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut statement = std::pin::pin!(statement);
        tokio::select! {
            biased;
            ended = &mut statement => return ended,
            () = sleep(self.lock_wait) => {}
        }
        // One that cannot be cancelled is waited for.
        drop(client.cancel_token().cancel_query(NoTls).await);
        statement.await
    }

    /// Runs one statement that changes something: it is sent once, and durable when this returns.
    pub(super) async fn execute(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let client = self.client().await?;
        match self.run_in(self.begin(), &client, &self.sql(template), params).await {
            Ok(rows) => Ok(rows),
            Err(err) => Err(self.failed(err).await),
        }
    }

    /// The same for a statement that may be done twice: it is sent again when the connection breaks.
    pub(super) async fn repeat(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let sql = self.sql(template);
        let mut patience = self.patience.start();
        loop {
            let client = self.client().await?;
            let err = match self.run_in(self.begin(), &client, &sql, params).await {
                Ok(rows) => return Ok(rows),
                Err(err) => err,
            };
            if !is_lost(&err) || !patience.pause().await {
                return Err(self.failed(err).await);
            }
        }
    }

    async fn run_in(&self, begin: &str, client: &Client, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        // Sent at once: a caller that goes away leaves no transaction open.
        let (begun, rows, done) =
            tokio::join!(client.batch_execute(begin), client.query_typed(sql, params), client.batch_execute("COMMIT"));
        begun.and(rows).and_then(|rows| done.map(|()| rows))
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

/// An SQL identifier.
pub(super) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
