//! The rows of a group, as arrays: one statement per table, however many batches.

use std::collections::BTreeMap;

use bytes::BytesMut;
use r1_event::{Batch, Origin, Record};
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};
use tokio_postgres::{Client, Error};

use super::database::{Database, Param};
use crate::lease::FencingToken;
use crate::rules;

/// A chain is snapshotted whenever a batch crosses a multiple of this.
const SNAPSHOT_EVERY: u64 = 1024;

/// No statement carries much more than this, whatever the size of a batch.
const STATEMENT_BYTES: usize = 16 << 20;

/// All that one transaction writes.
pub(super) struct Writes<'a> {
    count: i64,
    pub(super) held: Held<'a>,
    /// At least one part; the parts are inserted one after the other.
    pub(super) events: Vec<Events<'a>>,
    pub(super) runs: Runs,
    pub(super) finished: Finished<'a>,
    pub(super) blobs: BlobRefs<'a>,
    pub(super) beside: Beside,
}

impl<'a> Writes<'a> {
    /// Nothing yet, under the leases that are `held`.
    pub(super) fn new(held: Held<'a>) -> Self {
        Self {
            count: 0,
            held,
            events: Vec::new(),
            runs: Runs::default(),
            finished: Finished::default(),
            blobs: BlobRefs::default(),
            beside: Beside::default(),
        }
    }

    pub(super) fn add(&mut self, run: i64, batch: &'a Batch) {
        for (seq, record) in (batch.before().size() + 1..).zip(batch.records()) {
            if self.events.last().is_none_or(|part| part.bytes.size >= STATEMENT_BYTES) {
                self.events.push(Events::default());
            }
            self.count += 1;
            if let Some(part) = self.events.last_mut() {
                part.push(run, seq.cast_signed(), self.count, record);
            }
        }
        for (seq, hash) in batch.blobs() {
            self.blobs.hashes.push(hash.as_bytes());
            self.blobs.runs.push(run);
            self.blobs.seqs.push(seq.get().cast_signed());
        }
        let after = batch.after();
        let crossed = after.size() / SNAPSHOT_EVERY > batch.before().size() / SNAPSHOT_EVERY;
        // Without a snapshot a chain is followed from event 1.
        if crossed || after.terminal().is_some() || batch.origin().is_some() {
            // Two batches of one run in a group: the later one's state is the one to keep.
            self.runs.retain_others(run);
            self.runs.ids.push(run);
            self.runs.terminals.push(after.terminal().map(|kind| kind.number().cast_signed()));
            self.runs.sizes.push(after.size().cast_signed());
            self.runs.snapshots.push(after.snapshot());
        }
        for record in batch.origin().map_or(&[][..], Origin::beside) {
            let encoded = record.encode();
            self.beside.runs.push(run);
            self.beside.keys.push(rules::side_record_key(record, &encoded).into_bytes());
            self.beside.records.push(encoded);
        }
        if after.terminal().is_some() {
            self.finished.keys.push(after.run().as_str().as_bytes());
        }
    }
}

/// How the server says that a lease is not what it was taken for; the function `append` says so too.
pub(super) const LEASE_LOST: &str = "R1001";

/// The leases that a transaction relies on, by key.
#[derive(Default)]
pub(super) struct Held<'a> {
    keys: Vec<&'a [u8]>,
    tokens: Vec<i64>,
}

impl<'a> FromIterator<(&'a [u8], FencingToken)> for Held<'a> {
    fn from_iter<T: IntoIterator<Item = (&'a [u8], FencingToken)>>(leases: T) -> Self {
        let leases: BTreeMap<_, _> = leases.into_iter().collect();
        let (keys, tokens) = leases.into_iter().map(|(key, token)| (key, token.0.cast_signed())).unzip();
        Self { keys, tokens }
    }
}

/// Rows of `events`.
#[derive(Default)]
pub(super) struct Events<'a> {
    runs: Vec<i64>,
    seqs: Vec<i64>,
    /// Where each one stands within the transaction.
    places: Vec<i64>,
    times: Vec<i64>,
    /// Where each one's header begins in `bytes`, counted from 1; its payload follows.
    starts: Vec<i32>,
    header_sizes: Vec<i32>,
    payload_sizes: Vec<Option<i32>>,
    bytes: Concat<'a>,
}

impl<'a> Events<'a> {
    fn push(&mut self, run: i64, seq: i64, place: i64, record: &'a Record) {
        self.runs.push(run);
        self.seqs.push(seq);
        self.places.push(place);
        self.times.push(crate::place(record).map_or(0, |place| place.ts.0));
        self.starts.push(size(self.bytes.size + 1));
        self.header_sizes.push(size(record.header.len()));
        self.payload_sizes.push(record.payload.as_ref().map(|payload| size(payload.len())));
        self.bytes.push(&record.header);
        self.bytes.push(record.payload.as_deref().unwrap_or_default());
    }

    /// Inserts them if the leases are still held, and fails with [`LEASE_LOST`] otherwise.
    pub(super) async fn insert(&self, held: &Held<'_>, client: &Client, db: &Database) -> Result<(), Error> {
        let sql = db.sql("CALL @append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
        let params: [Param<'_>; 10] = [
            (&held.keys, Type::BYTEA_ARRAY),
            (&held.tokens, Type::INT8_ARRAY),
            (&self.runs, Type::INT8_ARRAY),
            (&self.seqs, Type::INT8_ARRAY),
            (&self.places, Type::INT8_ARRAY),
            (&self.times, Type::INT8_ARRAY),
            (&self.starts, Type::INT4_ARRAY),
            (&self.header_sizes, Type::INT4_ARRAY),
            (&self.payload_sizes, Type::INT4_ARRAY),
            (&self.bytes, Type::BYTEA),
        ];
        client.execute_typed(&sql, &params).await.map(drop)
    }
}

/// A place or size among the bytes of one statement, of which the server takes less than 1 GiB.
fn size(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// One value made of many, without a copy in between.
#[derive(Debug, Default)]
struct Concat<'a> {
    parts: Vec<&'a [u8]>,
    size: usize,
}

impl<'a> Concat<'a> {
    fn push(&mut self, part: &'a [u8]) {
        self.size += part.len();
        self.parts.push(part);
    }
}

impl ToSql for Concat<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.reserve(self.size);
        self.parts.iter().for_each(|part| out.extend_from_slice(part));
        Ok(IsNull::No)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

/// Changes of `runs`: rare, for a head is found in `events`.
#[derive(Default)]
pub(super) struct Runs {
    ids: Vec<i64>,
    terminals: Vec<Option<i64>>,
    sizes: Vec<i64>,
    snapshots: Vec<Vec<u8>>,
}

impl Runs {
    pub(super) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn retain_others(&mut self, run: i64) {
        if let Some(index) = self.ids.iter().position(|id| *id == run) {
            self.ids.remove(index);
            self.terminals.remove(index);
            self.sizes.remove(index);
            self.snapshots.remove(index);
        }
    }

    pub(super) async fn update(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "UPDATE @runs r SET terminal = q.terminal, snapshot_size = q.size, snapshot = q.snapshot
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS q (id, terminal, size, snapshot)
             WHERE r.id = q.id",
        );
        let params: [Param<'_>; 4] = [
            (&self.ids, Type::INT8_ARRAY),
            (&self.terminals, Type::INT8_ARRAY),
            (&self.sizes, Type::INT8_ARRAY),
            (&self.snapshots, Type::BYTEA_ARRAY),
        ];
        client.execute_typed(&sql, &params).await.map(drop)
    }
}

/// Leases and commands of runs that end with this group.
#[derive(Default)]
pub(super) struct Finished<'a> {
    keys: Vec<&'a [u8]>,
}

impl Finished<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) async fn update(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "WITH gone AS (DELETE FROM @commands WHERE run_id = ANY ($1))
             UPDATE @leases SET finished = true WHERE run_id = ANY ($1)",
        );
        client.execute_typed(&sql, &[(&self.keys, Type::BYTEA_ARRAY)]).await.map(drop)
    }
}

/// Rows of `blob_refs`.
#[derive(Default)]
pub(super) struct BlobRefs<'a> {
    hashes: Vec<&'a [u8]>,
    runs: Vec<i64>,
    seqs: Vec<i64>,
}

impl BlobRefs<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(super) async fn insert(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "INSERT INTO @blob_refs (hash, run, seq)
             SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING",
        );
        let params: [Param<'_>; 3] =
            [(&self.hashes, Type::BYTEA_ARRAY), (&self.runs, Type::INT8_ARRAY), (&self.seqs, Type::INT8_ARRAY)];
        client.execute_typed(&sql, &params).await.map(drop)
    }
}

/// Rows of `side_records`, of runs that begin behind events that were pruned elsewhere.
#[derive(Default)]
pub(super) struct Beside {
    runs: Vec<i64>,
    keys: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
}

impl Beside {
    pub(super) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) async fn insert(&self, client: &Client, db: &Database) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let sql = db.sql(
            "INSERT INTO @side_records (run, key, record)
             SELECT q.run, q.key, q.record
             FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS q (run, key, record, n)
             ORDER BY q.n ON CONFLICT DO NOTHING",
        );
        let params: [Param<'_>; 3] =
            [(&self.runs, Type::INT8_ARRAY), (&self.keys, Type::BYTEA_ARRAY), (&self.records, Type::BYTEA_ARRAY)];
        client.execute_typed(&sql, &params).await.map(drop)
    }
}
