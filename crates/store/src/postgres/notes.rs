//! Notes of batches, in the transaction that stores them.

use std::collections::{BTreeMap, HashMap};

use r1_event::{Batch, Note};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::database::{Database, Param};
use super::leases::NOW;

/// Notes by collection and key; of several in one document the last.
#[derive(Default)]
pub(super) struct Notes<'a> {
    collections: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
    revisions: Vec<i64>,
    bodies: Vec<&'a [u8]>,
}

/// Documents that notes are to be taken in, as the locks have frozen them.
#[derive(Default)]
pub(super) struct Noted(HashMap<(String, String), Found>);

struct Found {
    revision: u64,
    /// Whether the document says already what the last note would have it say.
    says_so: bool,
}

impl<'a> Notes<'a> {
    pub(super) fn of(batches: impl IntoIterator<Item = &'a Batch>) -> Self {
        let noted = batches.into_iter().filter_map(Batch::noted);
        let noted: BTreeMap<_, _> = noted.map(|note| ((&*note.collection, &*note.key), note)).collect();
        let mut notes = Self::default();
        for ((collection, key), Note { revision, body, .. }) in noted {
            notes.collections.push(collection.as_bytes());
            notes.keys.push(key.as_bytes());
            notes.revisions.push(revision.wrapping_add(1).cast_signed());
            notes.bodies.push(body);
        }
        notes
    }

    /// Locks the documents that are there, in the order in which those who change them do.
    pub(super) async fn lock(&self, client: &Client, db: &Database) -> Result<Noted, Error> {
        let sql = format!(
            "SELECT d.collection, d.key, d.revision, d.revision = q.revision AND d.body = q.body
             FROM @documents d JOIN unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[])
                 AS q (collection, key, revision, body) ON d.collection = q.collection AND d.key = q.key
             WHERE d.expires_at IS NULL OR d.expires_at > {NOW}
             ORDER BY d.collection, d.key FOR UPDATE OF d"
        );
        let text = |row: &Row, column| row.try_get(column).map(|text| String::from_utf8_lossy(text).into_owned());
        let read = |row: &Row| {
            let found = Found { revision: row.try_get::<_, i64>(2)?.cast_unsigned(), says_so: row.try_get(3)? };
            Ok(((text(row, 0)?, text(row, 1)?), found))
        };
        self.run(&sql, client, db).await?.iter().map(read).collect::<Result<_, _>>().map(Noted)
    }

    /// Writes them.
    pub(super) async fn take(&self, client: &Client, db: &Database) -> Result<(), Error> {
        let sql = "UPDATE @documents d SET revision = q.revision, body = q.body
                   FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[])
                       AS q (collection, key, revision, body)
                   WHERE d.collection = q.collection AND d.key = q.key";
        self.run(sql, client, db).await.map(drop)
    }

    async fn run(&self, template: &str, client: &Client, db: &Database) -> Result<Vec<Row>, Error> {
        if self.keys.is_empty() {
            return Ok(Vec::new());
        }
        let params: [Param<'_>; 4] = [
            (&self.collections, Type::BYTEA_ARRAY),
            (&self.keys, Type::BYTEA_ARRAY),
            (&self.revisions, Type::INT8_ARRAY),
            (&self.bodies, Type::BYTEA_ARRAY),
        ];
        client.query_typed(&db.sql(template), &params).await
    }
}

impl Noted {
    /// Whether `note` may be taken; the next one finds the document as it leaves it.
    ///
    /// `may_be_taken` says that an unconfirmed try may have taken it already, which is as good.
    pub(super) fn admit(&mut self, note: &Note, may_be_taken: bool) -> bool {
        let Some(found) = self.0.get_mut(&(note.collection.clone(), note.key.clone())) else { return false };
        if found.revision == note.revision {
            found.revision += 1;
            return true;
        }
        may_be_taken && found.says_so && found.revision == note.revision.wrapping_add(1)
    }
}
