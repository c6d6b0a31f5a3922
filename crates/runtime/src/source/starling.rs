//! Runs in a Starling database.
//!
//! Rows are read as Starling reads them, which casts and converts; whatever one of them holds, the others
//! can still be judged.

mod database;

use std::path::Path;
use std::sync::Arc;

use r1_event::cbor::Value;
use r1_event::finding::{Finding, Part};
use r1_event::validate::Findings;
use r1_event::{Record, v1};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};

use self::database::Database;
use super::SourceError;

const PAGE_EVENTS: i64 = 512;

/// The tables that may hold events. Early versions used the second, and move its rows when they are opened.
const TABLES: [&str; 2] = ["eventlog_events", "events"];
const COLUMNS: [&str; 6] = ["run_id", "seq", "prev_hash", "ts", "kind", "payload"];

/// One run's log in a Starling database.
#[derive(Clone, Debug)]
pub struct StarlingRun {
    database: Arc<Database>,
    table: &'static str,
    /// The run as the rows have it, which is text unless somebody put something else there.
    key: Cell,
    run_id: String,
}

/// The runs in a Starling database; `None` if the database is something else.
pub(super) fn runs(path: &Path) -> Result<Option<Vec<StarlingRun>>, SourceError> {
    let database = Arc::new(Database::open(path)?);
    let connection = database.connect()?;
    let list = || -> rusqlite::Result<Option<Vec<StarlingRun>>> {
        let mut runs = None;
        for table in TABLES {
            if !has_events(&connection, table)? {
                continue;
            }
            let mut keys = connection.prepare(&format!("SELECT DISTINCT run_id FROM {table} ORDER BY run_id"))?;
            let found = keys.query_map([], |row| {
                let (key, run_id) =
                    (row.get(0)?, String::from_utf8_lossy(&octets(row.get_ref(0)?).unwrap_or_default()).into());
                Ok(StarlingRun { database: Arc::clone(&database), table, key, run_id })
            })?;
            runs.get_or_insert_with(Vec::new).extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        Ok(runs)
    };
    list().map_err(|err| database.error(err))
}

fn has_events(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns = columns.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(COLUMNS.iter().all(|wanted| columns.iter().any(|column| column == wanted)))
}

impl StarlingRun {
    pub(super) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// What only the rows show. A database that cannot be read says so when its events are.
    pub(super) fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        let mut look = || -> rusqlite::Result<()> {
            let Ok(connection) = self.database.connect() else { return Ok(()) };
            let mut beyond = connection.prepare(&format!(
                "SELECT seq, kind FROM {} WHERE run_id IS ?1 AND typeof(kind) = 'integer' AND kind NOT BETWEEN 0 AND 255",
                self.table,
            ))?;
            let mut rows = beyond.query([&self.key])?;
            while let Some(row) = rows.next()? {
                let (seq, kind) = (integer(row.get_ref(0)?), row.get::<_, i64>(1)?);
                let message = format!("there is no kind {kind}: Starling reads it as {}", low_byte(kind));
                let seq = seq.map(i64::cast_unsigned);
                findings.push(Finding::new(Part::Notice, "kind_out_of_range", seq, message));
            }
            Ok(())
        };
        let _ = look();
        findings
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = Result<Vec<Record>, SourceError>> {
        let mut connection = Some(self.database.connect());
        let mut after = None;
        std::iter::from_fn(move || {
            let open = match connection.take()? {
                Ok(open) => open,
                Err(err) => return Some(Err(err)),
            };
            match self.page(&open, &mut after) {
                Ok(page) => {
                    connection = Some(Ok(open));
                    (!page.is_empty()).then_some(Ok(page))
                }
                Err(err) => Some(Err(self.database.error(err))),
            }
        })
    }

    /// The events behind the seq `after`, which may be anything that SQLite can sort.
    fn page(&self, connection: &Connection, after: &mut Option<Cell>) -> rusqlite::Result<Vec<Record>> {
        let behind = if after.is_some() { "AND seq > ?2" } else { "" };
        let mut select = connection.prepare_cached(&format!(
            "SELECT seq, prev_hash, ts, kind, payload FROM {}
             WHERE run_id IS ?1 {behind} ORDER BY seq LIMIT {PAGE_EVENTS}",
            self.table,
        ))?;
        let mut rows = select.query(params_from_iter(std::iter::once(&self.key).chain(&*after)))?;
        let (mut page, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            last = Some(row.get(0)?);
            page.push(self.record(row)?);
        }
        *after = last;
        Ok(page)
    }

    fn record(&self, row: &Row<'_>) -> rusqlite::Result<Record> {
        let (seq, ts, kind) = (row.get_ref(0)?, row.get_ref(2)?, row.get_ref(3)?);
        let prev_hash = octets(row.get_ref(1)?);
        let header = match (integer(seq), integer(ts), integer(kind)) {
            (Some(seq), Some(ts), Some(kind)) => {
                let (seq, kind) = (seq.cast_unsigned(), low_byte(kind));
                v1::Header { run_id: &self.run_id, seq, prev_hash: prev_hash.as_deref(), ts, kind }.encode()
            }
            // Starling cannot read such a row. What it holds makes a header that no reader takes for one.
            _ => Value::object([
                ("ts", as_cbor(ts)),
                ("seq", as_cbor(seq)),
                ("kind", as_cbor(kind)),
                ("run_id", Value::text(&self.run_id)),
                ("prev_hash", prev_hash.map_or(Value::Null, Value::Bytes)),
            ])
            .encode(),
        };
        let payload = octets(row.get_ref(4)?).filter(|payload| !payload.is_empty());
        Ok(Record { header: header.into(), payload: payload.map(Into::into) })
    }
}

/// The integer that Starling makes of what a column holds.
fn integer(cell: ValueRef<'_>) -> Option<i64> {
    match cell {
        ValueRef::Integer(n) => Some(n),
        ValueRef::Text(digits) | ValueRef::Blob(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        ValueRef::Real(_) | ValueRef::Null => None,
    }
}

/// The bytes that Starling makes of what a column holds.
fn octets(cell: ValueRef<'_>) -> Option<Vec<u8>> {
    match cell {
        ValueRef::Null => None,
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Some(bytes.to_vec()),
        ValueRef::Integer(n) => Some(n.to_string().into()),
        ValueRef::Real(n) => Some(n.to_string().into()),
    }
}

/// A column's content as it is.
fn as_cbor(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::int(n),
        ValueRef::Real(n) => Value::Float(n),
        ValueRef::Text(text) => Value::text(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// Starling keeps a kind in eight bits, and takes those from whatever number it reads.
const fn low_byte(kind: i64) -> u8 {
    kind.to_le_bytes()[0]
}
