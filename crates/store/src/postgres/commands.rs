//! Commands: left, read, withdrawn, settled.
//!
//! Whoever leaves one holds the lock on the run's lease meanwhile, as an append does: so none is left
//! behind a terminal event, and positions of a run's commands grow in the order of their commits.
//! Whoever withdraws one needs no more than the lock on its row, which a batch that settles it holds too.

use std::collections::HashSet;

use r1_event::{Batch, RunId};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::database::{Database, Param};
use super::failure::failed;
use crate::command::Command;
use crate::error::{CommandError, StoreError};
use crate::rules::{self, Mailbox};

impl Database {
    /// Leaves a command and tells its position, with `announcement` of it for whoever listens; `None` if
    /// it is pending already.
    pub(super) async fn leave_command(
        &self,
        run: &RunId,
        command: &Command,
        announce: impl Fn(u64) -> Option<(String, String)>,
    ) -> Result<Option<u64>, CommandError> {
        rules::check_command(command)?;
        let (key, id) = (run.as_str().as_bytes(), command.id.as_bytes());
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        // Every run has a lease; what the next statement sees cannot change any more.
        transaction.query("SELECT 1 FROM @leases WHERE run_id = $1 FOR UPDATE", &[(&key, Type::BYTEA)]).await?;
        let rows = transaction
            .query(
                "SELECT r.terminal IS NOT NULL, EXISTS (SELECT 1 FROM @commands WHERE run_id = $1 AND id = $2),
                    (SELECT count(*) FROM @commands WHERE run_id = $1)
             FROM @runs r WHERE r.run_id = $1",
                &[(&key, Type::BYTEA), (&id, Type::BYTEA)],
            )
            .await?;
        let Some(row) = rows.first() else { return Err(CommandError::NoRun { run: run.clone() }) };
        let mailbox = |row: &Row| {
            let pending = row.try_get::<_, i64>(2)?.cast_unsigned();
            Ok(Mailbox { has_ended: row.try_get(0)?, is_known: row.try_get(1)?, pending })
        };
        if !mailbox(row).map_err(failed)?.admit(run)? {
            return Ok(None);
        }
        let body = &command.body[..];
        let rows = transaction
            .query(
                "INSERT INTO @commands (run_id, id, body) VALUES ($1, $2, $3) RETURNING pos",
                &[(&key, Type::BYTEA), (&id, Type::BYTEA), (&body, Type::BYTEA)],
            )
            .await?;
        let position = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose().map_err(failed)?;
        let position = position.unwrap_or_default().cast_unsigned();
        if let Some((channel, payload)) = announce(position) {
            // Sent by the server once this is committed.
            transaction.query("SELECT pg_notify($1, $2)", &[(&channel, Type::TEXT), (&payload, Type::TEXT)]).await?;
        }
        transaction.commit().await?;
        Ok(Some(position))
    }

    pub(super) async fn commands(&self, run: &RunId) -> Result<Vec<Command>, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = "SELECT id, body FROM @commands WHERE run_id = $1 ORDER BY pos";
        let rows = self.query(sql, &[(&key, Type::BYTEA)]).await?;
        let read = |row: &Row| {
            let id = String::from_utf8_lossy(row.try_get(0)?).into_owned();
            Ok(Command { id, body: row.try_get::<_, Vec<u8>>(1)?.into() })
        };
        rows.iter().map(read).collect::<Result<_, _>>().map_err(failed)
    }

    pub(super) async fn withdraw_command(&self, run: &RunId, id: &str) -> Result<bool, StoreError> {
        let (key, id) = (run.as_str().as_bytes(), id.as_bytes());
        let sql = "DELETE FROM @commands WHERE run_id = $1 AND id = $2 RETURNING pos";
        // Once only: done again, it would be told that the command was settled.
        Ok(!self.execute(sql, &[(&key, Type::BYTEA), (&id, Type::BYTEA)]).await?.is_empty())
    }
}

/// Commands by run and id.
#[derive(Default)]
pub(super) struct Named<'a> {
    keys: Vec<&'a [u8]>,
    ids: Vec<&'a [u8]>,
}

/// Commands that are pending, and stay so until this transaction ends.
pub(super) type Pending = HashSet<(Vec<u8>, Vec<u8>)>;

impl<'a> Named<'a> {
    /// Those that batches settle.
    pub(super) fn settled_by(batches: impl IntoIterator<Item = &'a Batch>) -> Self {
        let mut named = Self::default();
        for batch in batches {
            for id in batch.settled() {
                named.keys.push(batch.before().run().as_str().as_bytes());
                named.ids.push(id.as_bytes());
            }
        }
        named
    }

    /// Locks those that are pending; the leases of their runs are locked already.
    pub(super) async fn lock(&self, client: &Client, db: &Database) -> Result<Pending, Error> {
        let sql = "SELECT c.run_id, c.id FROM @commands c
                   JOIN unnest($1::bytea[], $2::bytea[]) AS q (run_id, id) ON c.run_id = q.run_id AND c.id = q.id
                   FOR UPDATE OF c";
        let rows = self.run(sql, client, db).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Removes them.
    pub(super) async fn delete(&self, client: &Client, db: &Database) -> Result<(), Error> {
        let sql = "DELETE FROM @commands c USING unnest($1::bytea[], $2::bytea[]) AS q (run_id, id)
                   WHERE c.run_id = q.run_id AND c.id = q.id";
        self.run(sql, client, db).await.map(drop)
    }

    async fn run(&self, template: &str, client: &Client, db: &Database) -> Result<Vec<Row>, Error> {
        if self.ids.is_empty() {
            return Ok(Vec::new());
        }
        let params: [Param<'_>; 2] = [(&self.keys, Type::BYTEA_ARRAY), (&self.ids, Type::BYTEA_ARRAY)];
        client.query_typed(&db.sql(template), &params).await
    }
}
