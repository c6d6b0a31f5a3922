//! Who is in the way. Locks of others are waited for, but not for ever and not without a word.

use std::fmt;
use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::database::Database;
use super::failure::{failed, is_locked_out, unavailable};
use super::layout::TABLES;
use crate::error::StoreError;

/// How many sessions are named.
const MOST_NAMED: i64 = 3;

/// Others held a lock for longer than it was waited for.
#[derive(Debug, thiserror::Error)]
#[error("another session has held a lock on its tables for more than {waited:?}{}; {}", among(holders), end(holders))]
pub(super) struct LockedOut {
    waited: Duration,
    holders: Vec<Session>,
    #[source]
    source: Error,
}

/// A session of the server, as far as we may know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pid: i32,
    /// Its application, role and state.
    about: String,
}

impl Session {
    /// The columns that [`at`](Self::at) reads, of `pg_stat_activity a`. Of other roles' sessions little is told.
    pub(super) const COLUMNS: &str =
        "a.pid, concat_ws(', ', nullif(a.application_name, ''), a.usename, a.state, a.backend_type)";

    pub(super) fn at(row: &Row, column: usize) -> Result<Self, Error> {
        Ok(Self { pid: row.try_get(column)?, about: row.try_get(column + 1)? })
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.about)
    }
}

/// Names them.
pub(super) fn among(holders: &[Session]) -> String {
    let named: Vec<_> = holders.iter().map(Session::to_string).collect();
    if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) }
}

/// How such sessions are ended.
pub(super) fn end(sessions: &[Session]) -> String {
    match sessions {
        [] => "try again".into(),
        [session, ..] => {
            let pid = session.pid;
            format!("wait until it is done, or end it with `SELECT pg_terminate_backend({pid})`; then try again")
        }
    }
}

impl Database {
    /// A store error for what the driver says, with those who were in the way.
    pub(super) async fn failed(&self, err: Error) -> StoreError {
        if is_locked_out(&err) { unavailable(self.locked_out(err).await) } else { failed(err) }
    }

    /// Says who is in the way.
    pub(super) async fn locked_out(&self, source: Error) -> LockedOut {
        // Without names it is told all the same.
        let holders = self.lock_holders(TABLES).await.unwrap_or_default();
        LockedOut { waited: self.lock_wait, holders, source }
    }

    /// Sessions that have held a lock on these tables for a while, those that stand idle first.
    pub(super) async fn lock_holders(&self, tables: &[&str]) -> Result<Vec<Session>, Error> {
        let sql = format!(
            "SELECT {} FROM pg_stat_activity a
             WHERE a.pid <> pg_backend_pid() AND a.pid IN (
                 SELECT l.pid FROM pg_locks l
                 JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE l.granted AND l.locktype = 'relation' AND n.nspname = $1 AND c.relname = ANY ($2)
                     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                 AND coalesce(a.xact_start < clock_timestamp() - make_interval(secs => $3), true)
             ORDER BY coalesce(a.state, '') NOT LIKE 'idle%', a.xact_start LIMIT {MOST_NAMED}",
            Session::COLUMNS
        );
        let waited = self.lock_wait.as_secs_f64();
        let params = [(&self.schema as _, Type::TEXT), (&tables as _, Type::TEXT_ARRAY), (&waited as _, Type::FLOAT8)];
        let rows = self.connect().await?.query_typed(&sql, &params).await?;
        rows.iter().map(|row| Session::at(row, 0)).collect()
    }
}
