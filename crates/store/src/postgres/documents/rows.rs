//! What a change reads and writes, as arrays: one statement each, however many documents.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::super::database::{Database, Param};
use super::super::leases::NOW;
use super::ordered;
use crate::document::{Document, DocumentChange, Effect, MOST_FORGOTTEN};

/// Documents that a change puts or removes, each once, in order.
pub(super) struct Touched<'a> {
    places: Places<'a>,
}

/// How a locked document stands.
pub(super) struct Found {
    pub(super) revision: u64,
    pub(super) is_kept: bool,
}

impl<'a> Touched<'a> {
    pub(super) fn by(changes: &'a [DocumentChange]) -> Self {
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
    pub(super) async fn lock(
        &self,
        client: &Client,
        db: &Database,
    ) -> Result<HashMap<(&'a [u8], &'a [u8]), Found>, Error> {
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
            let found = Found { revision: row.try_get::<_, i64>(1)?.cast_unsigned(), is_kept: row.try_get(2)? };
            let index = usize::try_from(row.try_get::<_, i64>(0)? - 1).unwrap_or(usize::MAX);
            let place = collections.get(index).copied().zip(keys.get(index).copied());
            Ok(place.map(|place| (place, found)))
        };
        rows.iter().filter_map(|row| read(row).transpose()).collect()
    }
}

/// All that one change writes.
#[derive(Default)]
pub(super) struct Writes<'a> {
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
    pub(super) fn of(effect: &'a Effect, is_there: impl Fn(&str, &str) -> bool) -> Self {
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
    pub(super) async fn commit(&self, client: &Client, db: &Database) -> Result<(), Error> {
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
