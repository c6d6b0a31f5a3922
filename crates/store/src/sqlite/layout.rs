//! What stands in the file, and how an older file becomes a newer one.

use std::collections::HashSet;

use rusqlite::{Connection, TransactionBehavior};

/// `R1LG`: marks a SQLite file as ours.
pub(super) const APPLICATION_ID: u32 = 0x5231_4c47;

/// The layout this R1 writes.
pub(super) const CURRENT: u32 = MIGRATIONS.len() as u32;

/// Step *n* turns layout *n* into *n* + 1; layout 0 is an empty file. Append only: a released step never changes.
///
/// - Only `events` holds what an agent said or saw, so that erasing has one place to look at; `commands`
///   holds what it is about to be told, `document_bodies` what was computed from events.
/// - `events.pos` is the feed's cursor. Positions are never given twice although the column is a plain
///   key: the event with the highest one is the last of its run, and pruning never removes that.
/// - `runs.snapshot` is a chain as it was at some event, so that going on with a run reads few events.
/// - `runs.pruning` is set while events up to `pruned_through` are still being removed.
/// - `commands.body` is NULL once the command is settled or withdrawn, see `commands.rs`.
/// - `facts.moved` is set once SQLite may have moved events between pages, see `erase.rs`.
/// - `facts.dropped` is set once a document's body was dropped. `document_bodies_aside` is empty but for
///   moments, see `documents.rs`.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        version INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        terminal INTEGER,
        pruned_through INTEGER,
        pruning INTEGER NOT NULL DEFAULT 0,
        snapshot BLOB
    ) STRICT;
    CREATE INDEX runs_pruning ON runs (id) WHERE pruning = 1;
    CREATE TABLE events (
        pos INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        header BLOB NOT NULL,
        payload BLOB,
        UNIQUE (run, seq)
    ) STRICT;
    CREATE TABLE leases (
        run_id TEXT PRIMARY KEY,
        token INTEGER NOT NULL,
        owner TEXT NOT NULL,
        until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE side_records (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        key TEXT NOT NULL,
        record BLOB NOT NULL,
        UNIQUE (run, key)
    ) STRICT;
    CREATE TABLE blobs (
        hash BLOB PRIMARY KEY,
        size INTEGER NOT NULL,
        stored_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blob_refs (
        hash BLOB NOT NULL,
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (hash, run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blob_refs_run ON blob_refs (run, seq);
    CREATE TABLE facts (
        name TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE INDEX runs_open ON runs (id) WHERE terminal IS NULL;
    CREATE TABLE commands (
        pos INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL,
        id TEXT NOT NULL,
        body BLOB
    ) STRICT;
    CREATE UNIQUE INDEX commands_pending ON commands (run, id) WHERE body IS NOT NULL;
",
    "
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        rank INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        expires_at INTEGER,
        UNIQUE (collection, key)
    ) STRICT;
    CREATE INDEX documents_ranked ON documents (collection, rank, key);
    CREATE INDEX documents_expiring ON documents (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE document_facets (
        collection TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        rank INTEGER NOT NULL,
        key TEXT NOT NULL,
        document INTEGER NOT NULL,
        PRIMARY KEY (collection, name, value, rank, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX document_facets_of ON document_facets (document, name, value);
    CREATE TABLE document_bodies (
        document INTEGER PRIMARY KEY,
        body BLOB NOT NULL
    ) STRICT;
    CREATE TABLE document_bodies_aside (
        document INTEGER PRIMARY KEY,
        body BLOB NOT NULL
    ) STRICT;
",
];

/// The layout of an open file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_one("PRAGMA user_version", [], |row| row.get(0))
}

/// What of the current layout is not there any more: tables, columns and indexes. What was added does no harm.
///
/// A store that lost something is not refused, for most of what is in it can still be read.
pub(super) fn faults(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut whole = Connection::open_in_memory()?;
    migrate(&mut whole)?;
    let found: HashSet<Part> = parts(connection)?.into_iter().collect();
    let has_table = |table: &String| found.contains(&("table".into(), table.clone(), table.clone()));
    let lost = parts(&whole)?.into_iter().filter(|part| !found.contains(part));
    let lost = lost.filter(|(kind, table, _)| kind == "table" || has_table(table));
    Ok(lost.map(|(kind, table, name)| fault(&kind, &table, &name)).collect())
}

fn fault(kind: &str, table: &str, name: &str) -> String {
    match kind {
        "column" => format!("the column `{name}` of the table `{table}` is missing: restore a backup"),
        "index" => format!("the index `{name}` of the table `{table}` is missing: restore a backup"),
        _ => format!("the table `{name}` is missing, and with it all that was kept there: restore a backup"),
    }
}

/// What it is, the table it belongs to, and its name.
type Part = (String, String, String);

/// Every table, column and index.
fn parts(connection: &Connection) -> rusqlite::Result<Vec<Part>> {
    let mut parts = connection.prepare(
        "SELECT type, tbl_name, name FROM sqlite_schema WHERE sql IS NOT NULL
         UNION ALL
         SELECT 'column', t.name, c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table'",
    )?;
    let parts = parts.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    parts.collect()
}

/// Brings an empty or older file up to date; all steps or none.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited for the lock.
    let found = version(&transaction)?;
    for step in MIGRATIONS.iter().skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    if found < CURRENT {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", CURRENT)?;
    }
    transaction.commit()
}
