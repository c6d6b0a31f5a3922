//! Rows that were erased or removed, and how to be sure that they are gone from the tables' files.
//!
//! PostgreSQL keeps the old version of a changed row until a vacuum finds that no transaction can see it any more,
//! and does not wipe the free space inside a page even then: so tables are written anew (`VACUUM FULL`). A vacuum
//! that may not do that, or that has to spare a row for somebody, says so in a notice at most and succeeds. What it
//! needs is therefore looked at first:
//!
//! - **The right to.** A role that does not own the tables may write to them, but not vacuum them.
//! - **Nobody who can still see the rows.** A transaction that began before they were changed, also one of another
//!   database, a prepared one, or what a replica has asked for, keeps them alive. Once all of that has ended it
//!   stays so, for whoever comes later sees the change.
//! - **The table for itself**, for as long as the writing takes. It is not waited for long: whoever comes later
//!   would have to wait behind us. A table of more than [`REWRITE_BYTES`] would be locked for too long, so that it
//!   is left to those who run the server.
//!
//! What PostgreSQL keeps for itself is out of a client's reach: the write-ahead log holds a row until its segments
//! are recycled; archives, replicas and backups have histories of their own.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::database::{Database, Patience};
use super::failure::{in_full, is_locked_out};
use super::layout::TABLES;
use super::locks::{Session, among, end};
use crate::error::StoreError;
use crate::store::Traces;

/// A table of this size is written anew within seconds.
const REWRITE_BYTES: i64 = 1 << 30;

/// How long it is waited for those who can still see what was removed.
const SEEN: Patience = Patience { total: Duration::from_secs(3), pause: Duration::from_millis(50) };

/// What may hold an erased payload: events, documents that were computed from them, and the commands before them.
const SAYING: &[&str] = &["events", "documents", "commands"];

impl Database {
    /// Clears away what is left of payloads that were erased before the call. The erasure stands, so that a failure is
    /// told as what it leaves behind.
    pub(super) async fn sweep_erased(&self) -> Traces {
        match self.sweep(SAYING, REWRITE_BYTES).await {
            Ok(traces) => traces,
            Err(err) => Traces::Left {
                reason: format!("the tables could not be vacuumed: {}", in_full(&self.failed(err).await)),
                remedy: "mend that, then try again".into(),
            },
        }
    }

    /// Clears away what is left of all that was removed, however large it is.
    pub(super) async fn sweep_all(&self) -> Result<Traces, StoreError> {
        match self.sweep(TABLES, i64::MAX).await {
            Ok(traces) => Ok(traces),
            Err(err) => Err(self.failed(err).await),
        }
    }

    /// Frees the space of rows that are gone, for others to use.
    pub(super) async fn vacuum(&self, tables: &[&str]) -> Result<(), StoreError> {
        let vacuum = async {
            let sweeper = Sweeper::start(self).await?;
            for table in tables {
                sweeper.vacuum("VACUUM", table).await?;
            }
            sweeper.end().await
        };
        match vacuum.await {
            Ok(()) => Ok(()),
            Err(err) => Err(self.failed(err).await),
        }
    }

    async fn sweep(&self, tables: &[&str], largest: i64) -> Result<Traces, Error> {
        let sweeper = Sweeper::start(self).await?;
        let traces = self.sweep_with(&sweeper, tables, largest).await?;
        sweeper.end().await?;
        Ok(traces)
    }

    async fn sweep_with(&self, sweeper: &Sweeper<'_>, tables: &[&str], largest: i64) -> Result<Traces, Error> {
        if let Some(traces) = sweeper.not_ours(tables).await? {
            return Ok(traces);
        }
        if let Some(traces) = sweeper.still_seen().await? {
            return Ok(traces);
        }
        let mut traces = Traces::Gone;
        for table in tables {
            if sweeper.size(table).await? > largest {
                sweeper.vacuum("VACUUM", table).await?;
                traces = Traces::Left {
                    reason: format!("the table `{table}` is so large that writing it anew would stop all for a while"),
                    remedy: format!("run `{}` when that suits", self.vacuum_full(&[table])),
                };
                continue;
            }
            match sweeper.vacuum("VACUUM FULL", table).await {
                Ok(()) => {}
                Err(err) if is_locked_out(&err) => {
                    let users = self.lock_holders(&[table]).await?;
                    traces = Traces::Left {
                        reason: format!("others use the table `{table}` all the time{}", among(&users)),
                        remedy: end(&users),
                    };
                }
                Err(err) => return Err(err),
            }
        }
        Ok(traces)
    }

    fn vacuum_full(&self, tables: &[&str]) -> String {
        let tables: Vec<_> = tables.iter().map(|table| format!("@{table}")).collect();
        self.sql(&format!("VACUUM FULL {}", tables.join(", ")))
    }
}

/// A connection of its own, for a vacuum takes no transaction and so is told by its session how long to wait.
struct Sweeper<'a> {
    db: &'a Database,
    client: Client,
    /// All that was removed so far was removed by transactions below this id.
    below: String,
}

impl<'a> Sweeper<'a> {
    async fn start(db: &'a Database) -> Result<Self, Error> {
        let client = db.connect().await?;
        // However long the writing takes.
        let settings = format!("SET lock_timeout = {}; SET statement_timeout = 0", db.lock_wait.as_millis().max(1));
        client.batch_execute(&settings).await?;
        let row = client.query_typed_one("SELECT pg_snapshot_xmax(pg_current_snapshot())::text", &[]).await?;
        Ok(Self { db, client, below: row.try_get(0)? })
    }

    /// Leaves the session as it was, for behind a pooler somebody else may get it.
    async fn end(self) -> Result<(), Error> {
        self.client.batch_execute("RESET lock_timeout; RESET statement_timeout").await
    }

    async fn vacuum(&self, how: &str, table: &str) -> Result<(), Error> {
        self.client.batch_execute(&self.db.sql(&format!("{how} @{table}"))).await
    }

    async fn size(&self, table: &str) -> Result<i64, Error> {
        let table = self.db.sql(&format!("@{table}"));
        let sql = "SELECT pg_total_relation_size($1::text::regclass)";
        self.client.query_typed_one(sql, &[(&table, Type::TEXT)]).await?.try_get(0)
    }

    /// Whether the tables are not ours to vacuum.
    async fn not_ours(&self, tables: &[&str]) -> Result<Option<Traces>, Error> {
        let sql = "SELECT pg_get_userbyid(c.relowner)::text, current_user::text
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_database d ON d.datname = current_database()
             WHERE n.nspname = $1 AND c.relname = ANY ($2)
                 AND NOT pg_has_role(c.relowner, 'USAGE') AND NOT pg_has_role(d.datdba, 'USAGE')
                 AND CASE WHEN current_setting('server_version_num')::int >= 170000
                     THEN NOT has_table_privilege(c.oid, 'MAINTAIN') ELSE true END
             LIMIT 1";
        let params = [(&self.db.schema as _, Type::TEXT), (&tables as _, Type::TEXT_ARRAY)];
        let rows = self.client.query_typed(sql, &params).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (owner, role): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Some(Traces::Left {
            reason: format!("the role `{role}` may not vacuum the tables, which belong to `{owner}`"),
            remedy: format!("have `{owner}` run `{}`, or try again as `{owner}`", self.db.vacuum_full(tables)),
        }))
    }

    /// Whether somebody can still see what was removed; waits a while for those who are about to end.
    async fn still_seen(&self) -> Result<Option<Traces>, Error> {
        let mut patience = SEEN.start();
        loop {
            let traces = match self.seen_by().await? {
                None => return Ok(None),
                Some(traces) => traces,
            };
            if !patience.pause().await {
                return Ok(Some(traces));
            }
        }
    }

    async fn seen_by(&self) -> Result<Option<Traces>, Error> {
        // Of sessions in other databases only their own changes count. Ages, because ids of 32 bits begin anew.
        let sql = format!(
            "WITH bound AS MATERIALIZED (SELECT age($1::text::xid8::xid) AS age)
             SELECT {}, NULL, NULL FROM pg_stat_activity a, bound
             WHERE a.pid <> pg_backend_pid() AND (age(a.backend_xid) > bound.age OR age(a.backend_xmin) > bound.age
                 AND (a.datid IS NULL OR a.datname = current_database()))
             UNION ALL SELECT NULL, NULL, p.gid, NULL FROM pg_prepared_xacts p, bound
             WHERE age(p.transaction) > bound.age
             UNION ALL SELECT NULL, NULL, NULL, s.slot_name FROM pg_replication_slots s, bound
             WHERE age(s.xmin) > bound.age LIMIT 1",
            Session::COLUMNS
        );
        let rows = self.client.query_typed(&sql, &[(&self.below, Type::TEXT)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (prepared, slot) = (row.try_get::<_, Option<&str>>(2)?, row.try_get::<_, Option<&str>>(3)?);
        let (who, remedy) = match (prepared, slot) {
            (Some(gid), _) => (
                format!("the prepared transaction `{gid}`"),
                format!("commit it, or roll it back with `ROLLBACK PREPARED '{gid}'`; then try again"),
            ),
            (None, Some(slot)) => (
                format!("a replica (slot `{slot}`)"),
                "wait until its readers are done, or drop the slot if the replica is gone; then try again".into(),
            ),
            (None, None) => {
                let session = Session::at(row, 0)?;
                (format!("a transaction of {session}"), end(&[session]))
            }
        };
        let reason = format!("{who} is older than the erasure and may still see what was there");
        Ok(Some(Traces::Left { reason, remedy }))
    }
}
