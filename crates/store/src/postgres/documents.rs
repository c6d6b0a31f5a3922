//! Documents: found, changed, forgotten.
//!
//! A change locks the documents that it is about and decides with facts that cannot change any more. One
//! that is not there cannot be locked: should another transaction be first to insert it, the primary key
//! refuses ours, which starts over and finds it. Everyone locks and inserts in the order of collection and
//! key, so that nobody waits in a circle; should it happen all the same, that too starts over.

mod rows;

use std::convert::Infallible;
use std::fmt::Write as _;

use deadpool_postgres::Object;
use futures_util::FutureExt as _;
use r1_event::UnixNanos;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use self::rows::{Touched, Writes};
use super::database::{Database, Param};
use super::failure::{failed, is_lost};
use super::leases::NOW;
use crate::document::{Document, DocumentChange, DocumentQuery, Effect};
use crate::error::StoreError;
use crate::rules;

/// What is read of a document `d`; its facets are in order.
const COLUMNS: &str = "d.key, d.rank, d.revision, d.expires_at, d.body, w.names, w.contents";
const FACETS: &str = "CROSS JOIN LATERAL (
    SELECT array_agg(name ORDER BY name, value) AS names, array_agg(value ORDER BY name, value) AS contents
    FROM @document_facets WHERE collection = d.collection AND key = d.key) w";

impl Database {
    pub(super) async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM @documents d {FACETS}
             WHERE d.collection = $1 AND d.key = $2 AND (d.expires_at IS NULL OR d.expires_at > (SELECT {NOW}))"
        );
        let (collection, key) = (collection.as_bytes(), key.as_bytes());
        let rows = self.query(&sql, &[(&collection, Type::BYTEA), (&key, Type::BYTEA)]).await?;
        rows.first().map(read).transpose().map_err(failed)
    }

    pub(super) async fn documents(&self, collection: &str, query: &DocumentQuery) -> Result<Vec<Document>, StoreError> {
        let limit = i64::try_from(query.most()).unwrap_or(i64::MAX);
        let (rank, key) = query.after.as_ref().map_or((0, &[][..]), |(rank, key)| (ordered(*rank), key.as_bytes()));
        let collection = collection.as_bytes();
        let facets: Vec<[&[u8]; 2]> =
            query.facets.iter().map(|(name, value)| [name.as_bytes(), value.as_bytes()]).collect();
        let mut params: Vec<Param<'_>> = vec![(&collection, Type::BYTEA), (&limit, Type::INT8)];
        // Through one index in the order of the listing, which stops where the page does. Further facets are
        // looked up row by row; the planner would make a join of `EXISTS` and gather all that have the facet.
        let (listed, tables) = match facets.first() {
            Some(_) => ("f", "@document_facets f JOIN @documents d ON d.collection = f.collection AND d.key = f.key"),
            None => ("d", "@documents d"),
        };
        let mut conditions =
            format!("{listed}.collection = $1 AND (d.expires_at IS NULL OR d.expires_at > (SELECT {NOW}))");
        // Writing to a string cannot fail.
        for (index, [name, value]) in facets.iter().enumerate() {
            params.extend([(name as _, Type::BYTEA), (value as _, Type::BYTEA)]);
            let (name, value) = (params.len() - 1, params.len());
            let _ = if index == 0 {
                write!(conditions, " AND f.name = ${name} AND f.value = ${value}")
            } else {
                write!(
                    conditions,
                    " AND (SELECT true FROM @document_facets g WHERE g.collection = $1 AND g.name = ${name}
                      AND g.value = ${value} AND g.rank = f.rank AND g.key = f.key)"
                )
            };
        }
        if query.after.is_some() {
            params.extend([(&rank as _, Type::INT8), (&key as _, Type::BYTEA)]);
            let _ =
                write!(conditions, " AND ({listed}.rank, {listed}.key) < (${}, ${})", params.len() - 1, params.len());
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM {tables} {FACETS} WHERE {conditions}
             ORDER BY {listed}.rank DESC, {listed}.key DESC LIMIT $2"
        );
        self.query(&sql, &params).await?.iter().map(read).collect::<Result<_, _>>().map_err(failed)
    }

    pub(super) async fn change_documents(&self, changes: &[DocumentChange]) -> Result<bool, StoreError> {
        rules::check_documents(changes)?;
        let mut patience = self.patience.start();
        loop {
            let client = self.client().await?;
            let abandoned = RollBack(&client);
            let made = self.try_change(&client, changes).await;
            // It has come to its end, one way or another.
            std::mem::forget(abandoned);
            let err = match made {
                Ok(made) => return Ok(made),
                Err(ChangeError::Collided) => {
                    end(client).await;
                    continue;
                }
                Err(ChangeError::Lost(err)) => err,
                Err(ChangeError::Failed(err)) => {
                    end(client).await;
                    return Err(self.failed(err).await);
                }
            };
            if !patience.pause().await {
                return Err(self.failed(err).await);
            }
        }
    }

    async fn try_change(&self, client: &Client, changes: &[DocumentChange]) -> Result<bool, ChangeError> {
        let touched = Touched::by(changes);
        let (begun, found) = tokio::join!(client.batch_execute(self.begin()), touched.lock(client, self));
        begun.map_err(before_commit)?;
        let found = found.map_err(before_commit)?;
        let kept = |collection: &str, key: &str| {
            let found = found.get(&(collection.as_bytes(), key.as_bytes()));
            Ok::<_, Infallible>(found.filter(|found| found.is_kept).map(|found| found.revision))
        };
        let Ok(effect) = Effect::of(changes, kept);
        let Some(effect) = effect else {
            client.batch_execute("ROLLBACK").await.map_err(before_commit)?;
            return Ok(false);
        };
        let is_there = |collection: &str, key: &str| {
            !effect.cleared.contains(collection) && found.contains_key(&(collection.as_bytes(), key.as_bytes()))
        };
        let writes = Writes::of(&effect, is_there);
        writes.commit(client, self).await.map_err(|err| match before_commit(err) {
            // It may have been committed all the same.
            ChangeError::Lost(err) => ChangeError::Failed(err),
            other => other,
        })?;
        Ok(true)
    }
}

/// Why a change was not made.
enum ChangeError {
    /// Another transaction was in the way: nothing was changed.
    Collided,
    /// The connection broke before anything was to be committed: nothing was changed.
    Lost(Error),
    /// Anything else.
    Failed(Error),
}

fn before_commit(err: Error) -> ChangeError {
    if is_collision(&err) || err.code() == Some(&SqlState::UNIQUE_VIOLATION) {
        ChangeError::Collided
    } else if is_lost(&err) {
        ChangeError::Lost(err)
    } else {
        ChangeError::Failed(err)
    }
}

/// Whether the server ended our transaction because of another one.
pub(super) fn is_collision(err: &Error) -> bool {
    let collisions = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    err.code().is_some_and(|code| collisions.contains(code))
}

/// Ends the transaction; a connection on which that fails is not used again.
async fn end(client: Object) {
    if client.batch_execute("ROLLBACK").await.is_err() {
        drop(Object::take(client));
    }
}

/// Ends a transaction whose owner goes away in the midst of it: the next one to use the connection must not find it
/// open, nor anyone its locks.
struct RollBack<'a>(&'a Client);

impl Drop for RollBack<'_> {
    fn drop(&mut self) {
        // Sent now; nobody waits for the answer.
        drop(self.0.batch_execute("ROLLBACK").now_or_never());
    }
}

fn read(row: &Row) -> Result<Document, Error> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let texts = |column| row.try_get::<_, Option<Vec<&[u8]>>>(column).map(Option::unwrap_or_default);
    Ok(Document {
        key: text(row.try_get(0)?),
        rank: row.try_get::<_, i64>(1)?.cast_unsigned() ^ 1 << 63,
        facets: texts(5)?.into_iter().map(text).zip(texts(6)?.into_iter().map(text)).collect(),
        body: row.try_get::<_, Vec<u8>>(4)?.into(),
        expires_at: row.try_get::<_, Option<i64>>(3)?.map(UnixNanos),
        revision: row.try_get::<_, i64>(2)?.cast_unsigned(),
    })
}

/// A rank as the server keeps it: all of them, in the same order.
fn ordered(rank: u64) -> i64 {
    (rank ^ 1 << 63).cast_signed()
}
