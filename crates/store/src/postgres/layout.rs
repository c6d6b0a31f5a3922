//! The tables, and how each version of them becomes the next.
//!
//! Run ids and owners are `BYTEA`: PostgreSQL's `TEXT` takes no NUL and depends on the database's
//! encoding, a log's run id may be anything.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::database::{Database, quote};
use super::failure::unreachable;
use crate::error::OpenError;

/// One step per layout version, in order, never changed once released: step `n` makes layout `n + 1`.
const STEPS: &[&str] = &[
    "
    CREATE TABLE @layout (version INT NOT NULL);
    INSERT INTO @layout VALUES (0);

    CREATE TABLE @runs (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id BYTEA NOT NULL UNIQUE,
        version SMALLINT NOT NULL,
        started_at BIGINT NOT NULL,
        terminal BIGINT,
        pruned_through BIGINT,
        snapshot_size BIGINT NOT NULL DEFAULT 0,
        snapshot BYTEA
    );
    CREATE INDEX runs_open ON @runs (id) WHERE terminal IS NULL;

    -- The order of the feed is (xid, pos): the transaction, and the place within it.
    CREATE TABLE @events (
        run BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        xid BIGINT NOT NULL,
        pos BIGINT NOT NULL,
        ts BIGINT NOT NULL,
        header BYTEA NOT NULL,
        payload BYTEA,
        PRIMARY KEY (run, seq)
    );
    CREATE UNIQUE INDEX events_feed ON @events (xid, pos);
    -- Never compressed: most payloads are small, and speed matters more than space for the others.
    ALTER TABLE @events ALTER header SET STORAGE MAIN, ALTER payload SET STORAGE EXTERNAL;

    -- Room on each page, so that renewing a lease rewrites a row in place.
    CREATE TABLE @leases (
        run_id BYTEA PRIMARY KEY,
        owner BYTEA NOT NULL,
        token BIGINT NOT NULL,
        until BIGINT NOT NULL,
        finished BOOLEAN NOT NULL DEFAULT false
    ) WITH (fillfactor = 50);

    -- What every append does, as one call: the server keeps the plans of a function's statements, whatever
    -- pooler stands in between. Each lease is locked before its token is read, in one order for all.
    CREATE FUNCTION @append(
        keys BYTEA[], tokens BIGINT[], first_pos BIGINT,
        runs BIGINT[], seqs BIGINT[], times BIGINT[], headers BYTEA[], payloads BYTEA[]
    ) RETURNS VOID LANGUAGE plpgsql AS $append$
    DECLARE
        newest BIGINT[];
    BEGIN
        newest := ARRAY(
            SELECT l.token FROM @leases l WHERE l.run_id = ANY (keys) AND NOT l.finished
            ORDER BY l.run_id FOR UPDATE);
        IF newest IS DISTINCT FROM tokens THEN
            RAISE EXCEPTION 'a run has another owner or has ended' USING ERRCODE = 'R1001';
        END IF;
        INSERT INTO @events (run, seq, xid, pos, ts, header, payload)
        SELECT q.run, q.seq, pg_current_xact_id()::text::bigint, first_pos + q.n, q.ts, q.header, q.payload
        FROM unnest(runs, seqs, times, headers, payloads) WITH ORDINALITY AS q (run, seq, ts, header, payload, n);
    END
    $append$;

    CREATE TABLE @side_records (
        run BIGINT NOT NULL,
        n BIGINT GENERATED ALWAYS AS IDENTITY,
        key BYTEA NOT NULL,
        record BYTEA NOT NULL,
        PRIMARY KEY (run, key)
    );

    -- A blob without a hash is still being uploaded.
    CREATE TABLE @blobs (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        hash BYTEA UNIQUE,
        size BIGINT NOT NULL DEFAULT 0,
        touched_at BIGINT NOT NULL
    );
    CREATE TABLE @blob_chunks (
        blob BIGINT NOT NULL,
        n BIGINT NOT NULL,
        bytes BYTEA NOT NULL,
        PRIMARY KEY (blob, n)
    );
    ALTER TABLE @blob_chunks ALTER bytes SET STORAGE EXTERNAL;
    CREATE TABLE @blob_refs (
        hash BYTEA NOT NULL,
        run BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        PRIMARY KEY (hash, run, seq)
    );
    CREATE INDEX blob_refs_run ON @blob_refs (run, seq);
",
    "
    CREATE TABLE @commands (
        run_id BYTEA NOT NULL,
        id BYTEA NOT NULL,
        pos BIGINT GENERATED ALWAYS AS IDENTITY,
        body BYTEA NOT NULL,
        PRIMARY KEY (run_id, id)
    );
",
    "
    -- What every append does, with less work around it. All bytes come as one value and are cut into rows
    -- here: an array of them is built, copied and unrolled value by value. And a call, unlike a query, is not
    -- planned, which would copy its arguments once more.
    DROP FUNCTION @append;
    CREATE PROCEDURE @append(
        keys BYTEA[], tokens BIGINT[], runs BIGINT[], seqs BIGINT[], places BIGINT[], times BIGINT[],
        starts INT[], header_sizes INT[], payload_sizes INT[], bytes BYTEA
    ) LANGUAGE plpgsql AS $append$
    DECLARE
        newest BIGINT[];
        xid BIGINT;
    BEGIN
        newest := ARRAY(
            SELECT l.token FROM @leases l WHERE l.run_id = ANY (keys) AND NOT l.finished
            ORDER BY l.run_id FOR UPDATE);
        IF newest IS DISTINCT FROM tokens THEN
            RAISE EXCEPTION 'a run has another owner or has ended' USING ERRCODE = 'R1001';
        END IF;
        xid := pg_current_xact_id()::text::bigint;
        INSERT INTO @events (run, seq, xid, pos, ts, header, payload)
        SELECT q.run, q.seq, xid, q.pos, q.ts,
            substr(bytes, q.start, q.header_size), substr(bytes, q.start + q.header_size, q.payload_size)
        FROM (
            SELECT unnest(runs) AS run, unnest(seqs) AS seq, unnest(places) AS pos, unnest(times) AS ts,
                unnest(starts) AS start, unnest(header_sizes) AS header_size, unnest(payload_sizes) AS payload_size
        ) q;
    END
    $append$;
",
    "
    -- Room on each page, so that a document whose place stays the same is rewritten in place.
    CREATE TABLE @documents (
        collection BYTEA NOT NULL,
        key BYTEA NOT NULL,
        rank BIGINT NOT NULL,
        revision BIGINT NOT NULL,
        expires_at BIGINT,
        body BYTEA NOT NULL,
        PRIMARY KEY (collection, key)
    ) WITH (fillfactor = 70);
    CREATE INDEX documents_ranked ON @documents (collection, rank, key);
    CREATE INDEX documents_expiring ON @documents (expires_at) WHERE expires_at IS NOT NULL;
    ALTER TABLE @documents ALTER body SET STORAGE EXTERNAL;
    CREATE TABLE @document_facets (
        collection BYTEA NOT NULL,
        name BYTEA NOT NULL,
        value BYTEA NOT NULL,
        rank BIGINT NOT NULL,
        key BYTEA NOT NULL,
        PRIMARY KEY (collection, name, value, rank, key)
    );
    CREATE INDEX document_facets_of ON @document_facets (collection, key);
",
];

/// The layout this R1 writes.
pub(super) const CURRENT: u32 = STEPS.len() as u32;

/// Every table.
pub(super) const TABLES: &[&str] = &[
    "layout",
    "runs",
    "events",
    "leases",
    "side_records",
    "blobs",
    "blob_chunks",
    "blob_refs",
    "commands",
    "documents",
    "document_facets",
];

/// Makes the tables, if that is wanted, or brings them up to date; leaves a newer layout as it is.
pub(super) async fn prepare(client: &Client, db: &Database, create: bool) -> Result<(), OpenError> {
    let failed = |err| unreachable(&db.location, err);
    match found(client, db).await? {
        Some(CURRENT) => return Ok(()),
        None if !create => return Err(OpenError::Missing { location: db.location.clone() }),
        Some(_) | None => {}
    }
    // Two processes may open a new store at once: the second waits here, and then finds the tables.
    client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await.map_err(failed)?;
    let key = i64::from_be_bytes(std::array::from_fn(|i| blake3::hash(db.schema.as_bytes()).as_bytes()[i]));
    client.execute_typed("SELECT pg_advisory_xact_lock($1)", &[(&key, Type::INT8)]).await.map_err(failed)?;
    client.batch_execute(db.settings()).await.map_err(failed)?;
    let done = match found(client, db).await {
        Ok(version) => migrate(client, db, version).await.map_err(failed),
        Err(err) => Err(err),
    };
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    client.batch_execute(end).await.map_err(failed)?;
    done
}

async fn migrate(client: &Client, db: &Database, found: Option<u32>) -> Result<(), tokio_postgres::Error> {
    if found.is_none() {
        let exists =
            client.query_typed("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[(&db.schema, Type::TEXT)]).await?;
        if exists.is_empty() {
            client.batch_execute(&format!("CREATE SCHEMA {}", quote(&db.schema))).await?;
        }
    }
    for step in STEPS.iter().skip(found.unwrap_or(0) as usize) {
        client.batch_execute(&db.sql(step)).await?;
    }
    client.batch_execute(&db.sql(&format!("UPDATE @layout SET version = {CURRENT}"))).await
}

/// The layout that is there; `None` if there is none yet.
async fn found(client: &Client, db: &Database) -> Result<Option<u32>, OpenError> {
    let location = || db.location.clone();
    let failed = |err| unreachable(&db.location, err);
    let tables = client
        .query_typed(
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relname = ANY ($2)",
            &[(&db.schema, Type::TEXT), (&TABLES, Type::TEXT_ARRAY)],
        )
        .await
        .map_err(failed)?;
    let names = tables.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>().map_err(failed)?;
    if names.is_empty() {
        return Ok(None);
    }
    let foreign = |found: String| OpenError::Foreign { location: location(), found };
    if !names.iter().any(|name| name == "layout") {
        return Err(foreign(format!("its schema has a table `{}` of another program", names[0])));
    }
    let sql = db.sql("SELECT version FROM @layout");
    let rows = db.unless_stuck(client, client.query_typed(&sql, &[])).await.map_err(failed)?;
    let version = match rows.as_slice() {
        [row] => row.try_get::<_, i32>(0).ok().and_then(|version| u32::try_from(version).ok()),
        _ => None,
    };
    match version.ok_or_else(|| foreign("its table `layout` does not hold one version".into()))? {
        version if version > CURRENT => {
            Err(OpenError::Newer { location: location(), found: version, supported: CURRENT })
        }
        version => Ok(Some(version)),
    }
}
