//! Leases, by the server's clock: all machines agree on it.
//!
//! Each statement here may be done twice: taking a lease again only costs its owner a token.

use std::time::Duration;

use r1_event::{RunId, UnixNanos};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::database::{Database, Param};
use crate::error::{LeaseError, StoreError};
use crate::lease::{FencingToken, Lease};

/// Now, in nanoseconds; also right after waiting for a lock, unlike the transaction's own time.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint";

impl Database {
    pub(super) async fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> Result<Lease, LeaseError> {
        let ttl = nanos(ttl);
        let (key, owner) = (run.as_str().as_bytes(), owner.as_bytes());
        let sql = format!(
            "INSERT INTO @leases AS l (run_id, owner, token, until) VALUES ($1, $2, 1, {NOW} + $3)
             ON CONFLICT (run_id) DO UPDATE SET owner = $2, token = l.token + 1, until = {NOW} + $3
             WHERE l.until <= {NOW} OR l.owner = $2
             RETURNING owner, token, until"
        );
        let params: [Param<'_>; 3] = [(&key, Type::BYTEA), (&owner, Type::BYTEA), (&ttl, Type::INT8)];
        loop {
            if let [row] = self.repeat(&sql, &params).await?.as_slice() {
                return Ok(read_lease(run, row));
            }
            // Someone has it. If they gave it back just now, it is to be had after all.
            let rows = self
                .query(
                    &format!("SELECT owner FROM @leases WHERE run_id = $1 AND until > {NOW}"),
                    &[(&key, Type::BYTEA)],
                )
                .await?;
            if let [row] = rows.as_slice() {
                return Err(LeaseError::Held { run: run.clone(), owner: owner_at(row) });
            }
        }
    }

    pub(super) async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Lease, LeaseError> {
        let (key, token, ttl) = (lease.run.as_str().as_bytes(), lease.token.0.cast_signed(), nanos(ttl));
        let rows = self
            .repeat(
                &format!(
                    "UPDATE @leases SET until = {NOW} + $3 WHERE run_id = $1 AND token = $2
                     RETURNING owner, token, until"
                ),
                &[(&key, Type::BYTEA), (&token, Type::INT8), (&ttl, Type::INT8)],
            )
            .await?;
        match rows.as_slice() {
            [row] => Ok(read_lease(&lease.run, row)),
            _ => {
                let current = self.lease(&lease.run).await?.map_or(FencingToken::NONE, |lease| lease.token);
                Err(LeaseError::Lost { run: lease.run.clone(), current })
            }
        }
    }

    pub(super) async fn release(&self, lease: &Lease) -> Result<(), LeaseError> {
        let (key, token) = (lease.run.as_str().as_bytes(), lease.token.0.cast_signed());
        // The row stays, for tokens must go on counting.
        let sql = "UPDATE @leases SET until = 0 WHERE run_id = $1 AND token = $2";
        self.repeat(sql, &[(&key, Type::BYTEA), (&token, Type::INT8)]).await?;
        Ok(())
    }

    pub(super) async fn lease(&self, run: &RunId) -> Result<Option<Lease>, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = "SELECT owner, token, until FROM @leases WHERE run_id = $1";
        let rows = self.query(sql, &[(&key, Type::BYTEA)]).await?;
        Ok(rows.first().map(|row| read_lease(run, row)))
    }
}

fn read_lease(run: &RunId, row: &Row) -> Lease {
    Lease {
        run: run.clone(),
        owner: owner_at(row),
        token: FencingToken(row.get::<_, i64>(1).cast_unsigned()),
        until: UnixNanos(row.get(2)),
    }
}

fn owner_at(row: &Row) -> String {
    String::from_utf8_lossy(row.get(0)).into_owned()
}

/// At most a century, so that sums of times do not overflow.
pub(super) fn nanos(duration: Duration) -> i64 {
    const CENTURY: i64 = 100 * 365 * 24 * 3600 * 1_000_000_000;
    i64::try_from(duration.as_nanos()).unwrap_or(CENTURY).min(CENTURY)
}
