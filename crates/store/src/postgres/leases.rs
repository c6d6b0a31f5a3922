//! Leases, by the server's clock: all machines agree on it.
//!
//! Renewing and giving back may be done twice. Taking a lease may not, for the second time the one before
//! it would be one's own: what was taken is known before the commit is sent, so a commit that was not
//! confirmed is looked up.

use std::collections::HashMap;
use std::time::Duration;

use r1_event::{RunId, UnixNanos};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::database::{Database, Param, failed, is_lost};
use super::read::{SUMMARY, position_of, read_summary};
use crate::error::{LeaseError, StoreError};
use crate::lease::{Acquired, FencingToken, Lease};
use crate::run::{OpenRun, RunPosition};
use crate::store::Renewals;

/// Now, in nanoseconds; also right after waiting for a lock, unlike the transaction's own time.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint";

impl Database {
    pub(super) async fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> Result<Acquired, LeaseError> {
        let mut patience = self.patience.start();
        loop {
            let err = match self.try_acquire(run, owner, ttl).await? {
                Ok(Some(acquired)) => return Ok(acquired),
                Ok(None) => {
                    // Someone has it. If they gave it back just now, it is to be had after all.
                    if let Some(owner) = self.holder(run).await? {
                        return Err(LeaseError::Held { run: run.clone(), owner });
                    }
                    continue;
                }
                Err(err) => err,
            };
            if !is_lost(&err) || !patience.pause().await {
                return Err(failed(err).into());
            }
        }
    }

    /// Takes the lease if it is to be had. The inner error may be a lost connection.
    async fn try_acquire(
        &self,
        run: &RunId,
        owner: &str,
        ttl: Duration,
    ) -> Result<Result<Option<Acquired>, Error>, StoreError> {
        let (key, owner, ttl) = (run.as_str().as_bytes(), owner.as_bytes(), nanos(ttl));
        // A row that came into being after the first part looked is left to the next try.
        let sql = self.sql(&format!(
            "WITH old AS MATERIALIZED (SELECT owner, token, until FROM @leases WHERE run_id = $1 FOR UPDATE)
             INSERT INTO @leases AS l (run_id, owner, token, until)
             SELECT $1, $2, 1, {NOW} + $3 FROM (SELECT count(*) FROM old) AS looked
             ON CONFLICT (run_id) DO UPDATE SET owner = $2, token = l.token + 1, until = {NOW} + $3
             WHERE (l.until <= {NOW} OR l.owner = $2) AND EXISTS (SELECT 1 FROM old)
             RETURNING l.owner, l.token, l.until,
                       (SELECT owner FROM old), (SELECT token FROM old), (SELECT until FROM old)"
        ));
        let params: [Param<'_>; 3] = [(&key, Type::BYTEA), (&owner, Type::BYTEA), (&ttl, Type::INT8)];
        let mut client = self.client().await?;
        let taken = async {
            let transaction = self.begin_on(&mut client).await?;
            let rows = transaction.query_typed(&sql, &params).await?;
            let acquired = rows.first().map(|row| Acquired {
                lease: read_lease(run, row, 0),
                previous: row.get::<_, Option<i64>>(4).and_then(|_| read_lease(run, row, 3).unless_given_back()),
            });
            Ok((acquired, transaction.commit().await))
        };
        match taken.await {
            Ok((acquired, Ok(()))) => Ok(Ok(acquired)),
            Ok((Some(acquired), Err(err))) if is_lost(&err) => {
                let found = self.lease(run).await?;
                Ok(if found.as_ref() == Some(&acquired.lease) { Ok(Some(acquired)) } else { Err(err) })
            }
            Ok((_, Err(err))) | Err(err) => Ok(Err(err)),
        }
    }

    /// Whose lease on the run is good.
    async fn holder(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = format!("SELECT owner FROM @leases WHERE run_id = $1 AND until > {NOW}");
        Ok(self.query(&sql, &[(&key, Type::BYTEA)]).await?.first().map(|row| owner_at(row, 0)))
    }

    pub(super) async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Lease, LeaseError> {
        let renewed = self.renew_all(std::slice::from_ref(lease), ttl).await?.pop();
        renewed.unwrap_or_else(|| Err(lost(lease, FencingToken::NONE)))
    }

    pub(super) async fn renew_all(&self, leases: &[Lease], ttl: Duration) -> Result<Renewals, StoreError> {
        let keys: Vec<&[u8]> = leases.iter().map(|lease| lease.run.as_str().as_bytes()).collect();
        let tokens: Vec<i64> = leases.iter().map(|lease| lease.token.0.cast_signed()).collect();
        let ttl = nanos(ttl);
        // Locked in the order in which appends lock them.
        let renewed = self
            .repeat(
                &format!(
                    "WITH held AS MATERIALIZED (
                         SELECT l.run_id, l.token
                         FROM @leases l JOIN unnest($1::bytea[], $2::bigint[]) AS q (run_id, token)
                             ON l.run_id = q.run_id AND l.token = q.token
                         WHERE l.until <> 0 ORDER BY l.run_id FOR UPDATE OF l)
                     UPDATE @leases l SET until = {NOW} + $3 FROM held
                     WHERE l.run_id = held.run_id AND l.token = held.token
                     RETURNING l.owner, l.token, l.until, l.run_id"
                ),
                &[(&keys, Type::BYTEA_ARRAY), (&tokens, Type::INT8_ARRAY), (&ttl, Type::INT8)],
            )
            .await?;
        let renewed: HashMap<(&[u8], i64), &Row> = renewed.iter().map(|row| ((row.get(3), row.get(1)), row)).collect();
        let mut current = HashMap::new();
        if leases.len() > renewed.len() {
            let sql = "SELECT run_id, token FROM @leases WHERE run_id = ANY ($1)";
            let rows = self.query(sql, &[(&keys, Type::BYTEA_ARRAY)]).await?;
            current.extend(rows.iter().map(|row| (row.get::<_, Vec<u8>>(0), row.get::<_, i64>(1))));
        }
        let outcome = |((lease, key), token): ((&Lease, &[u8]), i64)| match renewed.get(&(key, token)) {
            Some(row) => Ok(read_lease(&lease.run, row, 0)),
            None => {
                let current = current.get(key).map_or(FencingToken::NONE, |token| FencingToken(token.cast_unsigned()));
                Err(lost(lease, current))
            }
        };
        Ok(leases.iter().zip(keys.iter().copied()).zip(tokens).map(outcome).collect())
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
        Ok(rows.first().and_then(|row| read_lease(run, row, 0).unless_given_back()))
    }

    pub(super) async fn leases(&self, runs: &[RunId]) -> Result<Vec<Option<Lease>>, StoreError> {
        let keys: Vec<&[u8]> = runs.iter().map(|run| run.as_str().as_bytes()).collect();
        let sql = "SELECT owner, token, until, run_id FROM @leases WHERE run_id = ANY ($1)";
        let rows = self.query(sql, &[(&keys, Type::BYTEA_ARRAY)]).await?;
        let found: HashMap<&[u8], &Row> = rows.iter().map(|row| (row.get(3), row)).collect();
        let lease =
            |(run, key): (&RunId, &[u8])| found.get(key).and_then(|row| read_lease(run, row, 0).unless_given_back());
        Ok(runs.iter().zip(keys.iter().copied()).map(lease).collect())
    }

    pub(super) async fn open_runs(&self, after: Option<RunPosition>, limit: usize) -> Result<Vec<OpenRun>, StoreError> {
        let sql = format!(
            "SELECT s.*, l.owner, l.token, l.until FROM (SELECT {NOW} AS moment) AS clock,
                 ({SUMMARY} WHERE r.terminal IS NULL AND e.seq IS NOT NULL AND ($1::bigint IS NULL OR r.id > $1)) AS s
             LEFT JOIN @leases l ON l.run_id = s.run_id
             WHERE l.until IS NULL OR l.until <= clock.moment ORDER BY s.id LIMIT $2"
        );
        let mut open = Vec::new();
        let mut after = after.map(|position| position.0.cast_signed());
        // More than once only where damaged entries took the places of others.
        while open.len() < limit {
            let wanted = i64::try_from(limit - open.len()).unwrap_or(i64::MAX);
            let rows = self.query(&sql, &[(&after, Type::INT8), (&wanted, Type::INT8)]).await?;
            let Some(last) = rows.last() else { break };
            after = Some(position_of(last)?.0.cast_signed());
            let found = open.len();
            for row in &rows {
                let Ok(summary) = read_summary(row) else { continue };
                let lease = row
                    .get::<_, Option<i64>>(11)
                    .and_then(|_| read_lease(&summary.run_id, row, 10).unless_given_back());
                open.push(OpenRun { position: position_of(row)?, summary, lease });
            }
            if open.len() - found == rows.len() {
                break;
            }
        }
        Ok(open)
    }
}

/// The lease whose owner is in column `index`, with token and time behind it.
fn read_lease(run: &RunId, row: &Row, index: usize) -> Lease {
    Lease {
        run: run.clone(),
        owner: owner_at(row, index),
        token: FencingToken(row.get::<_, i64>(index + 1).cast_unsigned()),
        until: UnixNanos(row.get(index + 2)),
    }
}

fn owner_at(row: &Row, index: usize) -> String {
    String::from_utf8_lossy(row.get(index)).into_owned()
}

fn lost(lease: &Lease, current: FencingToken) -> LeaseError {
    LeaseError::Lost { run: lease.run.clone(), current }
}

/// At most a century, so that sums of times do not overflow.
pub(super) fn nanos(duration: Duration) -> i64 {
    const CENTURY: i64 = 100 * 365 * 24 * 3600 * 1_000_000_000;
    i64::try_from(duration.as_nanos()).unwrap_or(CENTURY).min(CENTURY)
}
