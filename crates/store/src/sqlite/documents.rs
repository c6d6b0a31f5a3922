//! Documents: found, changed, noted in, forgotten.
//!
//! Bodies have a table of their own. They are all that may have to leave no trace, and SQLite leaves some
//! when it moves rows (`erase.rs`), which replacing and removing makes it do. So once a body was dropped, the
//! next erasure writes that one table anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use r1_event::{Note, UnixNanos};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::row::{self, signed};
use super::writer::Session;
use crate::document::{Document, DocumentChange, DocumentQuery, Effect, MOST_FORGOTTEN};
use crate::error::StoreError;

/// A document; `None` if there is none `now`.
pub(super) fn get(
    db: &Connection,
    collection: &str,
    key: &str,
    now: UnixNanos,
) -> Result<Option<Document>, StoreError> {
    let mut document = db.prepare_cached(
        "SELECT d.id, d.key, d.rank, d.revision, d.expires_at, b.body
         FROM documents AS d JOIN document_bodies AS b ON b.document = d.id
         WHERE d.collection = ?1 AND d.key = ?2 AND (d.expires_at IS NULL OR d.expires_at > ?3)",
    )?;
    Ok(document.query_one(params![collection, key, now.0], |row| read(db, row)).optional()?)
}

/// The documents that `query` asks for.
pub(super) fn find(
    db: &Connection,
    collection: &str,
    query: &DocumentQuery,
    now: UnixNanos,
) -> Result<Vec<Document>, StoreError> {
    let (sql, parameters) = search(collection, query, now);
    let mut documents = db.prepare_cached(&sql)?;
    let documents = documents.query_map(params_from_iter(parameters), |row| read(db, row))?;
    Ok(documents.collect::<Result<_, _>>()?)
}

/// The statement that finds documents, and its parameters.
///
/// Goes through one index in the order of the listing, so that it stops where the page does; `CROSS JOIN`
/// keeps SQLite from another order.
fn search(collection: &str, query: &DocumentQuery, now: UnixNanos) -> (String, Vec<Value>) {
    let mut parameters =
        vec![Value::from(collection.to_owned()), Value::from(now.0), signed(query.most() as u64).into()];
    let mut parameter = |value: Value| {
        parameters.push(value);
        parameters.len()
    };
    let mut sql = String::from("SELECT d.id, d.key, d.rank, d.revision, d.expires_at, b.body FROM ");
    let listed = if query.facets.is_empty() {
        sql.push_str("documents AS d INDEXED BY documents_ranked");
        "d"
    } else {
        sql.push_str("document_facets AS f CROSS JOIN documents AS d ON d.id = f.document");
        "f"
    };
    sql.push_str(" CROSS JOIN document_bodies AS b ON b.document = d.id");
    let mut conditions = format!("{listed}.collection = ?1 AND (d.expires_at IS NULL OR d.expires_at > ?2)");
    // Writing to a string cannot fail.
    for (index, (name, value)) in query.facets.iter().enumerate() {
        let (name, value) = (parameter(name.clone().into()), parameter(value.clone().into()));
        let _ = if index == 0 {
            write!(conditions, " AND f.name = ?{name} AND f.value = ?{value}")
        } else {
            write!(
                conditions,
                " AND EXISTS (SELECT 1 FROM document_facets AS g WHERE g.collection = ?1 AND g.name = ?{name}
                  AND g.value = ?{value} AND g.rank = f.rank AND g.key = f.key)"
            )
        };
    }
    if let Some((rank, key)) = &query.after {
        let (rank, key) = (parameter(row::ordered(*rank).into()), parameter(key.clone().into()));
        let _ = write!(conditions, " AND ({listed}.rank, {listed}.key) < (?{rank}, ?{key})");
    }
    let _ = write!(sql, " WHERE {conditions} ORDER BY {listed}.rank DESC, {listed}.key DESC LIMIT ?3");
    (sql, parameters)
}

/// Makes all changes, whose sizes were checked, or none.
pub(super) fn change(
    session: &mut Session<'_>,
    changes: &[DocumentChange],
    now: UnixNanos,
) -> rusqlite::Result<Result<bool, StoreError>> {
    let db = session.db;
    let revision = |collection: &str, key: &str| -> rusqlite::Result<_> {
        Ok(Place::find(db, collection, key)?.filter(|place| place.is_kept_at(now)).map(|place| place.revision))
    };
    let Some(Effect { cleared, documents }) = Effect::of(changes, revision)? else { return Ok(Ok(false)) };
    for collection in cleared {
        clear(db, &collection)?;
    }
    for ((collection, key), document) in documents {
        match (Place::find(db, &collection, &key)?, document) {
            (Some(place), Some(document)) => replace(db, &collection, &place, &document)?,
            (None, Some(document)) => insert(db, &collection, &document)?,
            (Some(place), None) => remove(db, place.id)?,
            (None, None) => {}
        }
    }
    forget(db, now)?;
    Ok(Ok(true))
}

/// The document that a note is to be taken in, if it is as it must be.
pub(super) fn noted(db: &Connection, note: &Note, now: UnixNanos) -> rusqlite::Result<Option<Noted>> {
    let place = Place::find(db, &note.collection, &note.key)?;
    Ok(place.filter(|place| place.is_kept_at(now) && place.revision == note.revision).map(Noted))
}

/// A document that is as a note expects it.
pub(super) struct Noted(Place);

impl Noted {
    pub(super) fn take(self, db: &Connection, note: &Note) -> rusqlite::Result<()> {
        let mut update = db.prepare_cached("UPDATE documents SET revision = ?2 WHERE id = ?1")?;
        update.execute(params![self.0.id, signed(note.revision + 1)])?;
        replace_body(db, self.0.id, &note.body)
    }
}

/// Writes all bodies anew if any was dropped since the last time, so that no page keeps a trace of one.
///
/// A table that is emptied as a whole gives its pages back, and those are overwritten.
pub(super) fn remove_traces(db: &Connection) -> rusqlite::Result<()> {
    if db.execute("DELETE FROM facts WHERE name = 'dropped'", [])? > 0 {
        db.execute_batch(
            "INSERT INTO document_bodies_aside SELECT document, body FROM document_bodies ORDER BY document;
             DELETE FROM document_bodies;
             INSERT INTO document_bodies SELECT document, body FROM document_bodies_aside ORDER BY document;
             DELETE FROM document_bodies_aside;",
        )?;
    }
    Ok(())
}

/// A document's row, also one that is to be forgotten.
struct Place {
    id: i64,
    rank: u64,
    revision: u64,
    expires_at: Option<UnixNanos>,
}

impl Place {
    fn find(db: &Connection, collection: &str, key: &str) -> rusqlite::Result<Option<Self>> {
        let mut place = db.prepare_cached(
            "SELECT id, rank, revision, expires_at FROM documents WHERE collection = ?1 AND key = ?2",
        )?;
        let read = |row: &Row<'_>| {
            Ok(Self {
                id: row.get(0)?,
                rank: row::reordered(row.get(1)?),
                revision: row::unsigned(row, 2)?,
                expires_at: row.get::<_, Option<i64>>(3)?.map(UnixNanos),
            })
        };
        place.query_one(params![collection, key], read).optional()
    }

    fn is_kept_at(&self, now: UnixNanos) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

fn read(db: &Connection, row: &Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        key: row.get(1)?,
        rank: row::reordered(row.get(2)?),
        facets: facets(db, row.get(0)?)?,
        body: row.get::<_, Vec<u8>>(5)?.into(),
        expires_at: row.get::<_, Option<i64>>(4)?.map(UnixNanos),
        revision: row::unsigned(row, 3)?,
    })
}

fn facets<F: FromIterator<(String, String)>>(db: &Connection, id: i64) -> rusqlite::Result<F> {
    let mut facets = db.prepare_cached("SELECT name, value FROM document_facets WHERE document = ?1 ORDER BY 1, 2")?;
    let facets = facets.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    facets.collect()
}

fn insert(db: &Connection, collection: &str, document: &Document) -> rusqlite::Result<()> {
    let Document { key, rank, facets, body, expires_at, revision } = document;
    let mut insert = db.prepare_cached(
        "INSERT INTO documents (collection, key, rank, revision, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let expires_at = expires_at.map(|moment| moment.0);
    let id = insert.insert(params![collection, key, row::ordered(*rank), signed(*revision), expires_at])?;
    let mut insert = db.prepare_cached("INSERT INTO document_bodies (document, body) VALUES (?1, ?2)")?;
    insert.execute(params![id, &body[..]])?;
    facets.iter().try_for_each(|facet| insert_facet(db, collection, id, document, facet))
}

fn replace(db: &Connection, collection: &str, place: &Place, document: &Document) -> rusqlite::Result<()> {
    let Document { key: _, rank, facets: wanted, body, expires_at, revision } = document;
    let mut update =
        db.prepare_cached("UPDATE documents SET rank = ?2, revision = ?3, expires_at = ?4 WHERE id = ?1")?;
    let expires_at = expires_at.map(|moment| moment.0);
    update.execute(params![place.id, row::ordered(*rank), signed(*revision), expires_at])?;
    replace_body(db, place.id, body)?;
    let mut found: BTreeSet<(String, String)> = facets(db, place.id)?;
    if place.rank != *rank {
        db.prepare_cached("DELETE FROM document_facets WHERE document = ?1")?.execute([place.id])?;
        found.clear();
    }
    for facet in wanted {
        if !found.remove(facet) {
            insert_facet(db, collection, place.id, document, facet)?;
        }
    }
    let mut delete =
        db.prepare_cached("DELETE FROM document_facets WHERE document = ?1 AND name = ?2 AND value = ?3")?;
    for (name, value) in found {
        delete.execute(params![place.id, name, value])?;
    }
    Ok(())
}

fn insert_facet(
    db: &Connection,
    collection: &str,
    id: i64,
    document: &Document,
    (name, value): &(String, String),
) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO document_facets (collection, name, value, rank, key, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(params![collection, name, value, row::ordered(document.rank), document.key, id])?;
    Ok(())
}

fn replace_body(db: &Connection, id: i64, body: &[u8]) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE document_bodies SET body = ?2 WHERE document = ?1")?.execute(params![id, body])?;
    note_dropped(db)
}

fn remove(db: &Connection, id: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM document_facets WHERE document = ?1")?.execute([id])?;
    db.prepare_cached("DELETE FROM document_bodies WHERE document = ?1")?.execute([id])?;
    db.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])?;
    note_dropped(db)
}

fn clear(db: &Connection, collection: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM document_facets WHERE collection = ?1")?.execute([collection])?;
    let mut bodies = db.prepare_cached(
        "DELETE FROM document_bodies WHERE document IN (SELECT id FROM documents WHERE collection = ?1)",
    )?;
    bodies.execute([collection])?;
    db.prepare_cached("DELETE FROM documents WHERE collection = ?1")?.execute([collection])?;
    note_dropped(db)
}

/// Removes some of the documents that are to be forgotten.
fn forget(db: &Connection, now: UnixNanos) -> rusqlite::Result<()> {
    let mut expired =
        db.prepare_cached("SELECT id FROM documents WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2")?;
    let expired = expired.query_map(params![now.0, signed(MOST_FORGOTTEN as u64)], |row| row.get(0))?;
    expired.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().try_for_each(|id| remove(db, id))
}

fn note_dropped(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO facts (name, value) VALUES ('dropped', 1)")?.execute([]).map(drop)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::layout;
    use super::*;

    /// How many steps SQLite takes for one page, and how many documents are on it.
    fn steps(db: &Connection, query: &DocumentQuery) -> (i32, usize) {
        let (sql, parameters) = search("many", query, UnixNanos(0));
        let mut documents = db.prepare(&sql).unwrap();
        let found = documents.query_map(params_from_iter(parameters), |_| Ok(())).unwrap().count();
        (documents.get_status(StatementStatus::VmStep), found)
    }

    #[test]
    fn a_page_costs_the_same_among_a_hundred_thousand_documents() {
        let mut db = Connection::open_in_memory().unwrap();
        layout::migrate(&mut db).unwrap();
        let add = |first: u32, last: u32| {
            db.execute_batch(&format!(
                "CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS
                     (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) SELECT i FROM n;
                 INSERT INTO documents SELECT i, 'many', printf('%06d', i), i / 10, 1, NULL FROM n;
                 INSERT INTO document_bodies SELECT i, x'00' FROM n;
                 INSERT INTO document_facets SELECT 'many', 'all', 'yes', i / 10, printf('%06d', i), i FROM n;
                 INSERT INTO document_facets SELECT 'many', 'rest', i % 50, i / 10, printf('%06d', i), i FROM n;
                 DROP TABLE n;"
            ))
            .unwrap();
        };
        let facet = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let middle = Some((row::reordered(250), "002503".to_owned()));
        let queries = [
            DocumentQuery { limit: 20, ..DocumentQuery::default() },
            DocumentQuery { limit: 20, after: middle.clone(), ..DocumentQuery::default() },
            DocumentQuery { limit: 20, facets: vec![facet("rest", "7")], after: middle.clone() },
            DocumentQuery { limit: 20, facets: vec![facet("rest", "7"), facet("all", "yes")], after: middle },
        ];
        add(1, 5_000);
        let few = queries.each_ref().map(|query| steps(&db, query));
        add(5_001, 100_000);
        let many = queries.each_ref().map(|query| steps(&db, query));
        assert_eq!((many, few.map(|(_, found)| found)), (few, [20; 4]));
    }
}
