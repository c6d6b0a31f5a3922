//! One transaction for all batches that wait.
//!
//! Two round trips at most: the first locks the leases and looks at the heads, so that this side decides
//! with facts that cannot change any more; the second writes everything and commits. A refused batch is
//! answered and left out, the others go on.
//!
//! **Known heads.** A committer remembers how the logs stood after its own commits and does not ask
//! again: only a lease's holder writes to a run. If all runs of a group are known, there is nothing to
//! ask, and the second round trip is the only one. Should a lease have been lost, the server refuses the
//! whole group; should another store have written with the same lease all the same, either the request
//! does not fit what is remembered, or the primary key `(run, seq)` refuses the row. Each time the group
//! starts over and asks.
//!
//! **Fencing.** The row of a lease is locked before its token is read and until the commit; taking a
//! lease over updates that row. So no append commits after a takeover with the token from before it.
//! The server compares the tokens (`append` in the layout), whether or not this side has asked before.
//!
//! **Order of the feed.** An event is filed under its transaction's id. Ids are given out at the first
//! lock, before all locks are held: a transaction that waited for a run could have a lower id than the
//! one that wrote to the run meanwhile. That is seen here (the head is filed under a higher id than our
//! own) and answered by starting over with a new id, so a run's events are in order in the feed too.

use std::collections::{BTreeMap, HashMap, HashSet};

use r1_event::{Batch, Digest, Record, RunId, Version};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::commands::{Named, Pending};
use super::database::{Database, Param};
use super::documents::is_collision;
use super::failure::{is_cancelled, is_lost};
use super::notes::{Noted, Notes};
use super::read::{digest_at, head_of, seq_at};
use super::rows::{LEASE_LOST, Writes};
use crate::error::AppendError;
use crate::lease::{FencingToken, Lease};
use crate::rules::Standing;
use crate::run::Head;

/// A batch and the right to append it.
pub(super) struct Request {
    pub(super) lease: Lease,
    pub(super) batch: Batch,
}

impl Request {
    pub(super) fn run(&self) -> &RunId {
        self.batch.before().run()
    }

    pub(super) fn bytes(&self) -> usize {
        self.batch.records().iter().map(Record::size).sum()
    }

    fn key(&self) -> &[u8] {
        self.run().as_str().as_bytes()
    }

    fn is_empty(&self) -> bool {
        self.batch.records().is_empty() && self.batch.settled().is_empty() && self.batch.noted().is_none()
    }
}

/// Why a whole transaction came to nothing.
pub(super) enum GroupError {
    /// The server refused a statement: nothing was written.
    Refused(Error),
    /// The connection broke before anything was to be committed: nothing was written.
    Lost(Error),
    /// The connection broke when the commit was on its way.
    Unconfirmed(Error),
    /// Our transaction is older than one that wrote to the same run: nothing was written.
    OutOfOrder,
    /// The run was written by a transaction that this server has not had: nothing was written.
    Restored(Restored),
    /// What was remembered of a run is no longer so: nothing was written.
    Outdated,
    /// It took so long that others may hold a lock, and was cancelled: nothing was written. Whoever asks first is
    /// told who it is. The connection is not used again, for the cancellation may still be under way.
    Stuck,
    /// Another transaction was in the way: nothing was written.
    Collided,
}

/// A store from another server, where ids of transactions are further on. What is appended here would stand before
/// what is there, so nothing is.
#[derive(Debug, thiserror::Error)]
#[error(
    "its newest event was written by transaction {written}, and this server is only at {current}: the database was \
     restored from another server. Go on with that server, or take the runs to a new schema of this one with \
     `r1 log export` and `r1 log import`"
)]
pub(super) struct Restored {
    written: i64,
    current: i64,
}

/// What became of each request, in order.
pub(super) type Outcomes = Vec<Result<Head, AppendError>>;

/// Stores a group. `doubtful` says that an earlier try was not confirmed: what is there already counts
/// as stored. Locks make that certain, for they are had only once the earlier transaction has ended.
pub(super) async fn store(
    client: &Client,
    db: &Database,
    requests: &[Request],
    known: &mut KnownRuns,
    doubtful: bool,
) -> Result<Outcomes, GroupError> {
    // Whatever goes wrong, the next try asks: only a success puts it back.
    let remembered = std::mem::take(known);
    let assumed = State::assume(requests, &remembered);
    let is_begun = assumed.is_none();
    let mut state = match assumed {
        Some(state) => state,
        None => look(client, db, requests, &remembered).await?,
    };
    let stored = if doubtful { already_stored(client, db, requests, &state).await? } else { HashSet::new() };
    let mut accepted = Vec::new();
    let mut outcomes = Outcomes::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        if stored.contains(&index) {
            outcomes.push(Ok(Head::from(request.batch.after())));
            continue;
        }
        let run = state.runs.entry(request.key().to_vec()).or_default();
        let outcome = decide(request, run, &state.blobs, &mut state.commands, &mut state.noted, doubtful);
        let refused = match outcome {
            Err(AppendError::Conflict { .. } | AppendError::Finished { .. }) => true,
            // The token was only taken for the newest one.
            Err(AppendError::Fenced { .. }) => !is_begun,
            _ => false,
        };
        // Neither a refusal nor an empty batch meets the key that would tell.
        if run.remembered && (refused || request.batch.records().is_empty()) {
            return Err(GroupError::Outdated);
        }
        if outcome.is_ok() && !request.is_empty() {
            accepted.push(request);
        }
        outcomes.push(outcome);
    }
    write(client, db, &mut state, &accepted, is_begun).await?;
    *known = remembered;
    known.remember(requests, state);
    Ok(outcomes)
}

/// How logs stood after this committer's own commits.
#[derive(Default)]
pub(super) struct KnownRuns {
    runs: HashMap<RunId, (i64, Head)>,
}

impl KnownRuns {
    /// More runs than are ever busy at once; beyond that it begins anew.
    const MOST: usize = 16_384;

    fn remember(&mut self, requests: &[Request], mut state: State) {
        if self.runs.len() > Self::MOST {
            self.runs.clear();
        }
        for request in requests {
            if let Some(Run { standing, id: Some(id), .. }) = state.runs.remove(request.key()) {
                self.runs.insert(request.run().clone(), (id, standing.head));
            }
        }
    }
}

/// A run as the locks have frozen it.
struct Run {
    standing: Standing,
    /// Its number, once it has a row.
    id: Option<i64>,
    /// Whether its head was not read in this transaction.
    remembered: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self { standing: Standing { head: Head::EMPTY, token: FencingToken::NONE }, id: None, remembered: false }
    }
}

#[derive(Default)]
struct State {
    xid: i64,
    runs: BTreeMap<Vec<u8>, Run>,
    blobs: HashSet<Digest>,
    commands: Pending,
    noted: Noted,
}

async fn look(client: &Client, db: &Database, requests: &[Request], known: &KnownRuns) -> Result<State, GroupError> {
    let mut keys: Vec<&[u8]> = requests.iter().map(Request::key).collect();
    keys.sort_unstable();
    keys.dedup();
    let unknown = requests.iter().filter(|request| !known.runs.contains_key(request.run()));
    let mut unknown: Vec<&[u8]> = unknown.map(Request::key).collect();
    unknown.sort_unstable();
    unknown.dedup();
    let mut hashes: Vec<&[u8]> =
        requests.iter().flat_map(|request| request.batch.blobs()).map(|(_, hash)| &hash.as_bytes()[..]).collect();
    hashes.sort_unstable();
    hashes.dedup();

    // Everyone locks in the same order, so nobody waits in a circle.
    let leases = db.sql(
        "SELECT run_id, token, finished, pg_current_xact_id()::text::bigint
         FROM @leases WHERE run_id = ANY ($1) ORDER BY run_id FOR UPDATE",
    );
    let blobs = db.sql("SELECT hash FROM @blobs WHERE hash = ANY ($1) ORDER BY hash FOR KEY SHARE");
    let heads = db.sql(
        "SELECT q.run_id, r.id, r.terminal, e.seq, e.header, CASE WHEN r.version = 1 THEN e.payload END, e.xid,
                pg_snapshot_xmax(pg_current_snapshot())::text::bigint
         FROM unnest($1::bytea[]) AS q (run_id)
         JOIN @runs r ON r.run_id = q.run_id
         CROSS JOIN LATERAL
             (SELECT seq, header, payload, xid FROM @events WHERE run = r.id ORDER BY seq DESC LIMIT 1) e",
    );
    let ask = async |sql: &str, names: &[&[u8]]| {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        client.query_typed(sql, &[(&names, Type::BYTEA_ARRAY)]).await
    };
    let settled = Named::settled_by(requests.iter().map(|request| &request.batch));
    let notes = Notes::of(requests.iter().map(|request| &request.batch));
    // Sent at once, run in this order; each sees what was committed before it began.
    let (begun, leases, blobs, heads, commands, noted) = tokio::join!(
        client.batch_execute(db.begin()),
        ask(&leases, &keys),
        ask(&blobs, &hashes),
        ask(&heads, &unknown),
        settled.lock(client, db),
        notes.lock(client, db),
    );
    begun.map_err(before_commit)?;
    let (leases, blobs) = (leases.map_err(before_commit)?, blobs.map_err(before_commit)?);
    // Without a lease nothing will be written, whatever the order.
    let xid = leases.first().map_or(Ok(i64::MAX), |row| row.try_get(3)).map_err(before_commit)?;
    let mut state = State { xid, ..State::default() };
    state.commands = commands.map_err(before_commit)?;
    state.noted = noted.map_err(before_commit)?;
    let blobs = blobs.iter().filter_map(|row| digest_at(row, 0).transpose());
    state.blobs = blobs.collect::<Result<_, _>>().map_err(before_commit)?;
    state.read_heads(&heads.map_err(before_commit)?)?;
    state.recall(requests, known);
    state.read_leases(&leases)?;
    Ok(state)
}

impl State {
    fn read_heads(&mut self, rows: &[Row]) -> Result<(), GroupError> {
        for row in rows {
            let read = || Ok((row.try_get(6)?, row.try_get(7)?, row.try_get::<_, &[u8]>(0)?.to_vec(), row.try_get(1)?));
            let (written, current, key, id) = read().map_err(before_commit)?;
            // What can be seen was committed, and so has an id that was given out before.
            if written >= current {
                return Err(GroupError::Restored(Restored { written, current }));
            }
            if written > self.xid {
                return Err(GroupError::OutOfOrder);
            }
            let head = || Ok(head_of(row.try_get(2)?, seq_at(row, 3)?, row.try_get(4)?, row.try_get(5)?));
            let run = self.runs.entry(key).or_default();
            run.standing.head = head().map_err(before_commit)?;
            run.id = Some(id);
        }
        Ok(())
    }

    /// The state if nothing has to be asked: the server checks the tokens before it writes.
    fn assume(requests: &[Request], known: &KnownRuns) -> Option<Self> {
        let is_known = |request: &Request| {
            let batch = &request.batch;
            let names_nothing = batch.blobs().is_empty() && batch.settled().is_empty() && batch.noted().is_none();
            known.runs.contains_key(request.run()) && names_nothing
        };
        if !requests.iter().all(is_known) {
            return None;
        }
        let mut state = Self::default();
        state.recall(requests, known);
        for request in requests {
            if let Some(run) = state.runs.get_mut(request.key()) {
                run.standing.token = request.lease.token;
            }
        }
        Some(state)
    }

    /// What a failed insert means, as long as nothing was to be committed.
    fn explain(&self, err: Error) -> GroupError {
        let is_outdated =
            err.code().is_some_and(|code| *code == SqlState::UNIQUE_VIOLATION || code.code() == LEASE_LOST);
        if is_outdated && self.runs.values().any(|run| run.remembered) {
            GroupError::Outdated
        } else {
            before_commit(err)
        }
    }

    fn recall(&mut self, requests: &[Request], known: &KnownRuns) {
        for request in requests {
            if let Some((id, head)) = known.runs.get(request.run()) {
                let run = self.runs.entry(request.key().to_vec()).or_default();
                (run.id, run.standing.head, run.remembered) = (Some(*id), head.clone(), true);
            }
        }
    }

    fn read_leases(&mut self, rows: &[Row]) -> Result<(), GroupError> {
        for row in rows {
            let read = || Ok((row.try_get::<_, &[u8]>(0)?.to_vec(), row.try_get::<_, i64>(1)?, row.try_get(2)?));
            let (key, token, is_finished): (_, _, bool) = read().map_err(before_commit)?;
            let run = self.runs.entry(key).or_default();
            run.standing.token = FencingToken(token.cast_unsigned());
            // A finished run may have been pruned, and then no key would refuse an event after its end.
            if run.remembered && is_finished && run.standing.head.terminal.is_none() {
                return Err(GroupError::Outdated);
            }
        }
        Ok(())
    }
}

/// Which requests an earlier, unconfirmed transaction has stored after all.
async fn already_stored(
    client: &Client,
    db: &Database,
    requests: &[Request],
    state: &State,
) -> Result<HashSet<usize>, GroupError> {
    let (mut indices, mut ids, mut seqs) = (Vec::new(), Vec::new(), Vec::new());
    for (index, request) in requests.iter().enumerate() {
        let id = state.runs.get(request.key()).and_then(|run| run.id);
        if let (Some(id), false) = (id, request.batch.records().is_empty()) {
            indices.push(index as i64);
            ids.push(id);
            seqs.push(request.batch.after().size().cast_signed());
        }
    }
    let sql = db.sql(
        "SELECT q.index, e.header FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS q (index, run, seq)
         JOIN @events e ON e.run = q.run AND e.seq = q.seq",
    );
    let array = Type::INT8_ARRAY;
    let params: [Param<'_>; 3] = [(&indices, array.clone()), (&ids, array.clone()), (&seqs, array)];
    let rows = client.query_typed(&sql, &params).await.map_err(before_commit)?;
    let found = rows.iter().map(|row| Ok((row.try_get::<_, i64>(0)? as usize, row.try_get::<_, &[u8]>(1)?)));
    let found = found.collect::<Result<Vec<_>, _>>().map_err(before_commit)?.into_iter();
    // A header names the one before it by hash: the same header is the same log up to there.
    let same = |(index, header): &(usize, &[u8])| {
        requests[*index].batch.records().last().is_some_and(|last| last.header == *header)
    };
    Ok(found.filter(same).map(|(index, _)| index).collect())
}

fn decide(
    request: &Request,
    run: &mut Run,
    blobs: &HashSet<Digest>,
    commands: &mut Pending,
    noted: &mut Noted,
    doubtful: bool,
) -> Result<Head, AppendError> {
    let batch = &request.batch;
    run.standing.admit(&request.lease, batch)?;
    if let Some((_, blob)) = batch.blobs().iter().find(|(_, blob)| !blobs.contains(blob)) {
        return Err(AppendError::BlobMissing { run: request.run().clone(), blob: *blob });
    }
    let command = |id: &String| (request.key().to_vec(), id.clone().into_bytes());
    // An unconfirmed try that was stored after all is found by its events. Without any, a command that is
    // gone was settled by it, or withdrawn before anything came of it; and a note may be taken already.
    let may_be_gone = doubtful && batch.records().is_empty();
    if let Some(id) = batch.settled().iter().find(|id| !may_be_gone && !commands.contains(&command(id))) {
        return Err(AppendError::CommandWithdrawn { run: request.run().clone(), id: id.clone() });
    }
    if batch.noted().is_some_and(|note| !noted.admit(note, may_be_gone)) {
        return Err(AppendError::NoteMoved { run: request.run().clone() });
    }
    for id in batch.settled() {
        commands.remove(&command(id));
    }
    // The next request of the group for this run begins where this one ends.
    run.standing.head = Head::from(batch.after());
    Ok(run.standing.head.clone())
}

async fn write(
    client: &Client,
    db: &Database,
    state: &mut State,
    accepted: &[&Request],
    mut is_begun: bool,
) -> Result<(), GroupError> {
    if accepted.is_empty() {
        return client.batch_execute("ROLLBACK").await.map_err(before_commit);
    }
    create_runs(client, db, state, accepted).await.map_err(before_commit)?;
    let state = &*state;
    let held = accepted.iter().map(|request| (request.key(), request.lease.token));
    let mut writes = Writes::new(held.collect());
    for request in accepted {
        let id = state.runs.get(request.key()).and_then(|run| run.id).unwrap_or_default();
        writes.add(id, &request.batch);
    }
    let Writes { mut events, held, runs, finished, blobs, beside, .. } = writes;
    let last = events.pop().unwrap_or_default();
    let settled = Named::settled_by(accepted.iter().map(|request| &request.batch));
    let notes = Notes::of(accepted.iter().map(|request| &request.batch));
    let unconfirmed = |err| match state.explain(err) {
        GroupError::Lost(err) => GroupError::Unconfirmed(err),
        other => other,
    };
    let has_rows_elsewhere = !(runs.is_empty() && finished.is_empty() && blobs.is_empty() && beside.is_empty());
    let is_alone = events.is_empty() && !has_rows_elsewhere;
    if !is_begun && is_alone && !db.needs_begin() {
        let inserted = db.unless_stuck(client, last.insert(&held, client, db)).await;
        return inserted.map_err(|err| if is_cancelled(&err) { GroupError::Stuck } else { unconfirmed(err) });
    }
    if !is_begun && !events.is_empty() {
        client.batch_execute(db.begin()).await.map_err(before_commit)?;
        is_begun = true;
    }
    for part in &events {
        part.insert(&held, client, db).await.map_err(|err| state.explain(err))?;
    }
    let begin = async || if is_begun { Ok(()) } else { client.batch_execute(db.begin()).await };
    // Sent at once. Should a statement fail, the server makes a rollback of the commit behind it.
    let results = tokio::join!(
        begin(),
        last.insert(&held, client, db),
        runs.update(client, db),
        finished.update(client, db),
        blobs.insert(client, db),
        beside.insert(client, db),
        settled.delete(client, db),
        notes.take(client, db),
        client.batch_execute("COMMIT"),
    );
    let (begun, events, runs, finished, blobs, beside, settled, noted, commit) = results;
    let written = begun.and(events).and(runs).and(finished).and(blobs).and(beside).and(settled).and(noted);
    written.and(commit).map_err(unconfirmed)
}

/// Makes the rows of runs that begin with this group.
async fn create_runs(client: &Client, db: &Database, state: &mut State, accepted: &[&Request]) -> Result<(), Error> {
    let (mut keys, mut versions, mut times, mut pruned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let begins = |batch: &Batch| batch.before().size() == 0 || batch.origin().is_some();
    for request in accepted.iter().filter(|request| begins(&request.batch)) {
        keys.push(request.key());
        versions.push(version_number(request.batch.after().version()));
        let first = request.batch.records().first().and_then(crate::place);
        times.push(first.map_or(0, |place| place.ts.0));
        pruned.push(request.batch.origin().map(|origin| origin.through().get().cast_signed()));
    }
    if keys.is_empty() {
        return Ok(());
    }
    let sql = db.sql(
        "INSERT INTO @runs (run_id, version, started_at, pruned_through)
         SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bigint[]) RETURNING run_id, id",
    );
    let params: [Param<'_>; 4] = [
        (&keys, Type::BYTEA_ARRAY),
        (&versions, Type::INT2_ARRAY),
        (&times, Type::INT8_ARRAY),
        (&pruned, Type::INT8_ARRAY),
    ];
    for row in client.query_typed(&sql, &params).await? {
        if let Some(run) = state.runs.get_mut(row.try_get::<_, &[u8]>(0)?) {
            run.id = Some(row.try_get(1)?);
        }
    }
    Ok(())
}

const fn version_number(version: Version) -> i16 {
    match version {
        Version::V1 => 1,
        Version::V2 => 2,
    }
}

fn before_commit(err: Error) -> GroupError {
    if is_collision(&err) {
        GroupError::Collided
    } else if is_lost(&err) {
        GroupError::Lost(err)
    } else {
        GroupError::Refused(err)
    }
}
