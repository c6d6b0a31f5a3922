//! Whether the tables still have the columns that were made. Rows are read as these types without asking again, so a
//! table that someone has altered is refused when the store is opened.

use std::collections::HashSet;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::database::Database;
use super::failure::unreachable;
use super::layout::TABLES;
use crate::error::OpenError;

/// Every column of the current layout, as the server describes it.
const COLUMNS: &[(&str, &[&str])] = &[
    ("layout", &["version integer not null"]),
    (
        "runs",
        &[
            "id bigint not null",
            "run_id bytea not null",
            "version smallint not null",
            "started_at bigint not null",
            "terminal bigint",
            "pruned_through bigint",
            "snapshot_size bigint not null",
            "snapshot bytea",
        ],
    ),
    (
        "events",
        &[
            "run bigint not null",
            "seq bigint not null",
            "xid bigint not null",
            "pos bigint not null",
            "ts bigint not null",
            "header bytea not null",
            "payload bytea",
        ],
    ),
    (
        "leases",
        &[
            "run_id bytea not null",
            "owner bytea not null",
            "token bigint not null",
            "until bigint not null",
            "finished boolean not null",
        ],
    ),
    ("side_records", &["run bigint not null", "n bigint not null", "key bytea not null", "record bytea not null"]),
    ("blobs", &["id bigint not null", "hash bytea", "size bigint not null", "touched_at bigint not null"]),
    ("blob_chunks", &["blob bigint not null", "n bigint not null", "bytes bytea not null"]),
    ("blob_refs", &["hash bytea not null", "run bigint not null", "seq bigint not null"]),
    ("commands", &["run_id bytea not null", "id bytea not null", "pos bigint not null", "body bytea not null"]),
    (
        "documents",
        &[
            "collection bytea not null",
            "key bytea not null",
            "rank bigint not null",
            "revision bigint not null",
            "expires_at bigint",
            "body bytea not null",
        ],
    ),
    (
        "document_facets",
        &[
            "collection bytea not null",
            "name bytea not null",
            "value bytea not null",
            "rank bigint not null",
            "key bytea not null",
        ],
    ),
];

/// Refuses tables that lack a column or have it in another way. What was added does no harm.
pub(super) async fn check(client: &Client, db: &Database) -> Result<(), OpenError> {
    let location = || db.location.clone();
    let found = client
        .query_typed(
            "SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, NULL), a.attnotnull
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relname = ANY ($2) AND a.attnum > 0 AND NOT a.attisdropped",
            &[(&db.schema, Type::TEXT), (&TABLES, Type::TEXT_ARRAY)],
        )
        .await
        .map_err(|err| unreachable(&db.location, err))?;
    let column = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
    let found: Result<HashSet<(String, bool)>, Error> = found.iter().map(column).collect();
    let found = found.map_err(|err| unreachable(&db.location, err))?;
    for (table, columns) in COLUMNS {
        for column in *columns {
            let (described, may_be_null) = match column.strip_suffix(" not null") {
                Some(described) => (format!("{table}.{described}"), false),
                None => (format!("{table}.{column}"), true),
            };
            // A column that is promised to be full may be read as one that is not.
            let is_there =
                found.contains(&(described.clone(), true)) || may_be_null && found.contains(&(described, false));
            if !is_there {
                let reason = format!("its table `{table}` was altered: there is no column `{column}`");
                return Err(OpenError::Damaged { location: location(), source: reason.into() });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_looked_at() {
        assert_eq!(COLUMNS.iter().map(|(table, _)| *table).collect::<Vec<_>>(), TABLES);
    }
}
