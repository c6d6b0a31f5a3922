//! Documents: found, changed, forgotten.
//!
//! A change locks the documents that it is about and decides with facts that cannot change any more. One
//! that is not there cannot be locked: should another transaction be first to insert it, the primary key
//! refuses ours, which starts over and finds it. Everyone locks and inserts in the order of collection and
//! key, so that nobody waits in a circle; should it happen all the same, that too starts over.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::fmt::Write as _;

use deadpool_postgres::Object;
use r1_event::UnixNanos;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::database::{Database, Param, failed, is_lost};
use super::leases::NOW;
use crate::document::{Document, DocumentChange, DocumentQuery, Effect, MOST_FORGOTTEN};
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
        Ok(rows.first().map(read))
    }

    pub(super) async fn documents(&self, collection: &str, query: &DocumentQuery) -> Result<Vec<Document>, StoreError> {
        let limit = i64::try_from(query.most()).unwrap_or(i64::MAX);
        let (rank, key) = query.after.as_ref().map_or((0, &[][..]), |(rank, key)| (ordered(*rank), key.as_bytes()));
        let collection = collection.as_bytes();
        let facets: Vec<[&[u8]; 2]> =
            query.facets.iter().map(|(name, value)| [name.as_bytes(), value.as_bytes()]).collect();
        let mut params: Vec<Param<'_>> = vec![(&collection, Type::BYTEA), (&limit, Type::INT8)];
        // Through one index in the order of the listing, which stops where the page does.
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
                    " AND EXISTS (SELECT 1 FROM @document_facets g WHERE g.collection = $1 AND g.name = ${name}
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
        Ok(self.query(&sql, &params).await?.iter().map(read).collect())
    }

    pub(super) async fn change_documents(&self, changes: &[DocumentChange]) -> Result<bool, StoreError> {
        rules::check_documents(changes)?;
        let mut patience = self.patience.start();
        loop {
            let client = self.client().await?;
            let err = match self.try_change(&client, changes).await {
                Ok(made) => return Ok(made),
                Err(ChangeError::Collided) => {
                    end(client).await;
                    continue;
                }
                Err(ChangeError::Lost(err)) => err,
                Err(ChangeError::Failed(err)) => {
                    end(client).await;
                    return Err(failed(err));
                }
            };
            if !patience.pause().await {
                return Err(failed(err));
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

/// Documents that a change puts or removes, each once, in order.
struct Touched<'a> {
    places: Places<'a>,
}

/// How a locked document stands.
struct Found {
    revision: u64,
    is_kept: bool,
}

impl<'a> Touched<'a> {
    fn by(changes: &'a [DocumentChange]) -> Self {
        let touched = changes.iter().filter_map(|change| match change {
            DocumentChange::Put { collection, document, expect: _ } => Some((&**collection, &*document.key)),
            DocumentChange::Remove { collection, key } => Some((&**collection, &**key)),
            // What is deleted as a whole is locked by deleting it.
            DocumentChange::Clear { collection: _ } => None,
        });
        let mut places = Places::default();
        touched.collect::<BTreeSet<_>>().into_iter().for_each(|(collection, key)| places.push(collection, key));
        Self { places }
    }

    /// Locks those that are there.
    async fn lock(&self, client: &Client, db: &Database) -> Result<HashMap<(&'a [u8], &'a [u8]), Found>, Error> {
        let Places { collections, keys } = &self.places;
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = db.sql(&format!(
            "SELECT q.n, d.revision, d.expires_at IS NULL OR d.expires_at > {NOW}
             FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS q (collection, key, n)
             JOIN @documents d ON d.collection = q.collection AND d.key = q.key
             ORDER BY d.collection, d.key FOR UPDATE OF d"
        ));
        let params: [Param<'_>; 2] = [(collections, Type::BYTEA_ARRAY), (keys, Type::BYTEA_ARRAY)];
        let rows = client.query_typed(&sql, &params).await?;
        let read = |row: &Row| {
            let index = usize::try_from(row.get::<_, i64>(0) - 1).ok()?;
            let found = Found { revision: row.get::<_, i64>(1).cast_unsigned(), is_kept: row.get(2) };
            Some(((*collections.get(index)?, *keys.get(index)?), found))
        };
        Ok(rows.iter().filter_map(read).collect())
    }
}

/// All that one change writes, as arrays: one statement each, however many documents.
#[derive(Default)]
struct Writes<'a> {
    cleared: Vec<&'a [u8]>,
    removed: Places<'a>,
    inserted: Rows<'a>,
    updated: Rows<'a>,
    facets: Facets<'a>,
}

#[derive(Default)]
struct Places<'a> {
    collections: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
}

#[derive(Default)]
struct Rows<'a> {
    places: Places<'a>,
    ranks: Vec<i64>,
    revisions: Vec<i64>,
    expiries: Vec<Option<i64>>,
    bodies: Vec<&'a [u8]>,
}

#[derive(Default)]
struct Facets<'a> {
    places: Places<'a>,
    names: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
    ranks: Vec<i64>,
}

impl<'a> Places<'a> {
    fn push(&mut self, collection: &'a str, key: &'a str) {
        self.collections.push(collection.as_bytes());
        self.keys.push(key.as_bytes());
    }
}

impl<'a> Writes<'a> {
    fn of(effect: &'a Effect, is_there: impl Fn(&str, &str) -> bool) -> Self {
        let mut writes = Self { cleared: effect.cleared.iter().map(String::as_bytes).collect(), ..Self::default() };
        for ((collection, key), document) in &effect.documents {
            let Some(document) = document else {
                writes.removed.push(collection, key);
                continue;
            };
            let Document { key, rank, facets, body, expires_at, revision } = document;
            let rows = if is_there(collection, key) { &mut writes.updated } else { &mut writes.inserted };
            rows.places.push(collection, key);
            rows.ranks.push(ordered(*rank));
            rows.revisions.push(revision.cast_signed());
            rows.expiries.push(expires_at.map(|moment| moment.0));
            rows.bodies.push(body);
            for (name, value) in facets {
                writes.facets.places.push(collection, key);
                writes.facets.names.push(name.as_bytes());
                writes.facets.values.push(value.as_bytes());
                writes.facets.ranks.push(ordered(*rank));
            }
        }
        writes
    }

    /// Sent at once. Should a statement fail, the server makes a rollback of the commit behind it.
    async fn commit(&self, client: &Client, db: &Database) -> Result<(), Error> {
        let (cleared, removed, inserted, outdated, updated, facets, expired, commit) = tokio::join!(
            self.clear(client, db),
            self.removed.remove(client, db),
            self.inserted.insert(client, db),
            self.remove_facets(client, db),
            self.updated.update(client, db),
            self.facets.insert(client, db),
            forget(client, db),
            client.batch_execute("COMMIT"),
        );
        cleared.and(removed).and(inserted).and(outdated).and(updated).and(facets).and(expired).and(commit)
    }

    async fn clear(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.cleared.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "WITH gone AS (DELETE FROM @document_facets WHERE collection = ANY ($1))
             DELETE FROM @documents WHERE collection = ANY ($1)",
        );
        client.execute_typed(&sql, &[(&self.cleared, Type::BYTEA_ARRAY)]).await.map(drop)
    }

    /// Removes the facets that documents no longer have.
    async fn remove_facets(&self, client: &Client, db: &Database) -> Result<(), Error> {
        let sql = db.sql(
            "DELETE FROM @document_facets f USING unnest($1::bytea[], $2::bytea[]) AS q (collection, key)
             WHERE f.collection = q.collection AND f.key = q.key AND NOT EXISTS (
                 SELECT 1 FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[])
                     AS n (collection, key, name, value, rank)
                 WHERE n.collection = f.collection AND n.key = f.key AND n.name = f.name AND n.value = f.value
                     AND n.rank = f.rank)",
        );
        let Rows { places, .. } = &self.updated;
        if places.keys.is_empty() {
            return Ok(());
        }
        let mut params = vec![(&places.collections as _, Type::BYTEA_ARRAY), (&places.keys as _, Type::BYTEA_ARRAY)];
        params.extend(self.facets.params());
        client.execute_typed(&sql, &params).await.map(drop)
    }
}

impl Places<'_> {
    async fn remove(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "WITH q AS MATERIALIZED (SELECT * FROM unnest($1::bytea[], $2::bytea[]) AS q (collection, key)),
             gone AS (DELETE FROM @document_facets f USING q WHERE f.collection = q.collection AND f.key = q.key)
             DELETE FROM @documents d USING q WHERE d.collection = q.collection AND d.key = q.key",
        );
        let params: [Param<'_>; 2] = [(&self.collections, Type::BYTEA_ARRAY), (&self.keys, Type::BYTEA_ARRAY)];
        client.execute_typed(&sql, &params).await.map(drop)
    }
}

impl Rows<'_> {
    async fn insert(&self, client: &Client, db: &Database) -> Result<(), Error> {
        let sql = "INSERT INTO @documents (collection, key, rank, revision, expires_at, body)
                   SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])";
        self.run(sql, client, db).await
    }

    async fn update(&self, client: &Client, db: &Database) -> Result<(), Error> {
        let sql = "UPDATE @documents d
                   SET rank = q.rank, revision = q.revision, expires_at = q.expires_at, body = q.body
                   FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])
                       AS q (collection, key, rank, revision, expires_at, body)
                   WHERE d.collection = q.collection AND d.key = q.key";
        self.run(sql, client, db).await
    }

    async fn run(&self, template: &str, client: &Client, db: &Database) -> Result<(), Error> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        let params: [Param<'_>; 6] = [
            (&self.places.collections, Type::BYTEA_ARRAY),
            (&self.places.keys, Type::BYTEA_ARRAY),
            (&self.ranks, Type::INT8_ARRAY),
            (&self.revisions, Type::INT8_ARRAY),
            (&self.expiries, Type::INT8_ARRAY),
            (&self.bodies, Type::BYTEA_ARRAY),
        ];
        client.execute_typed(&db.sql(template), &params).await.map(drop)
    }
}

impl Facets<'_> {
    fn params(&self) -> [Param<'_>; 5] {
        [
            (&self.places.collections, Type::BYTEA_ARRAY),
            (&self.places.keys, Type::BYTEA_ARRAY),
            (&self.names, Type::BYTEA_ARRAY),
            (&self.values, Type::BYTEA_ARRAY),
            (&self.ranks, Type::INT8_ARRAY),
        ]
    }

    async fn insert(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "INSERT INTO @document_facets (collection, key, name, value, rank)
             SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[])
             ON CONFLICT DO NOTHING",
        );
        client.execute_typed(&sql, &self.params()).await.map(drop)
    }
}

/// Removes some of the documents that are to be forgotten; those that others are at work on are left to them.
async fn forget(client: &Client, db: &Database) -> Result<(), Error> {
    let sql = db.sql(&format!(
        "WITH gone AS (
             DELETE FROM @documents d USING (
                 SELECT collection, key FROM @documents WHERE expires_at <= (SELECT {NOW})
                 ORDER BY expires_at LIMIT {MOST_FORGOTTEN} FOR UPDATE SKIP LOCKED) q
             WHERE d.collection = q.collection AND d.key = q.key RETURNING d.collection, d.key)
         DELETE FROM @document_facets f USING gone WHERE f.collection = gone.collection AND f.key = gone.key"
    ));
    client.execute_typed(&sql, &[]).await.map(drop)
}

fn read(row: &Row) -> Document {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let texts = |column| row.get::<_, Option<Vec<&[u8]>>>(column).unwrap_or_default().into_iter().map(text);
    Document {
        key: text(row.get(0)),
        rank: row.get::<_, i64>(1).cast_unsigned() ^ 1 << 63,
        facets: texts(5).zip(texts(6)).collect(),
        body: row.get::<_, Vec<u8>>(4).into(),
        expires_at: row.get::<_, Option<i64>>(3).map(UnixNanos),
        revision: row.get::<_, i64>(2).cast_unsigned(),
    }
}

/// A rank as the server keeps it: all of them, in the same order.
fn ordered(rank: u64) -> i64 {
    (rank ^ 1 << 63).cast_signed()
}
