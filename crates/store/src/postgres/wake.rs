//! Hearing that logs have grown and that commands were left, from this process and from others.
//!
//! A notification is only a hint. It is sent after the commit by a connection of its own, where it
//! costs the writers nothing; whoever loses it (a pooler, a network, a process that died in between)
//! is woken by the next poll.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use r1_event::id::{from_hex, to_hex};
use r1_event::{RunId, Seq};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Error, Notification};

use super::database::{Database, quote};
use super::options::PostgresOptions;
use super::read::{run_id_at, seq_at};
use crate::error::StoreError;
use crate::watch::Watches;

/// PostgreSQL takes payloads of less than 8000 bytes.
const PAYLOAD_BYTES: usize = 7_900;

/// In front of a run for which a command was left.
const COMMAND: &str = "command ";

/// Stands for more runs than a payload can name.
const MANY: &str = "*";

/// Says nothing but that it arrived.
const CALL: &str = "hello";

/// How long a store that was just opened is given until a notification must have arrived.
const TRIAL: Duration = Duration::from_secs(2);

/// Between two announcements. What is stored meanwhile goes with the next one: a busy store would
/// otherwise spend more on telling than on storing.
const ANNOUNCE_PAUSE: Duration = Duration::from_millis(5);

/// Before connecting again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// Wakes everyone who waits, here and in other processes.
#[derive(Clone)]
pub(super) struct Wake {
    /// Whether other processes are told.
    announces: bool,
    shared: Arc<Shared>,
}

struct Shared {
    watches: Watches,
    /// What other processes have not been told yet.
    outbox: Mutex<Outbox>,
    post: Notify,
    poll_now: Notify,
    /// Our own listening connection, whose notifications we need not hear.
    own_process: AtomicI32,
    opened_at: Instant,
    /// Whether the listening connection has heard from another one.
    hears: watch::Sender<bool>,
}

#[derive(Default)]
struct Outbox {
    runs: BTreeMap<RunId, Seq>,
    many: bool,
}

impl Outbox {
    fn add(&mut self, run: RunId, next: Seq) {
        self.runs.insert(run, next);
        // Even the shortest names would not fit: bounded, however slow the announcing is.
        if self.runs.len() > PAYLOAD_BYTES / 4 {
            self.many = true;
            self.runs.clear();
        }
    }

    fn payload(&mut self) -> Option<String> {
        let Self { runs, many } = std::mem::take(self);
        if many {
            return Some(MANY.into());
        }
        let items: Vec<String> =
            runs.iter().map(|(run, next)| format!("{next}:{}", to_hex(run.as_str().as_bytes()))).collect();
        let payload = items.join(" ");
        match payload.len() {
            0 => None,
            fits if fits <= PAYLOAD_BYTES => Some(payload),
            _ => Some(MANY.into()),
        }
    }
}

/// The runs a payload names; `None` if it does not say which.
fn named(payload: &str) -> Option<Vec<(RunId, Seq)>> {
    let item = |item: &str| {
        let (run, next) = numbered(item)?;
        Some((run, Seq::new(next)?))
    };
    payload.split(' ').map(item).collect()
}

/// A run and a number for it.
fn numbered(item: &str) -> Option<(RunId, u64)> {
    let (number, run) = item.split_once(':')?;
    let run = String::from_utf8(from_hex(run)?).ok()?.parse().ok()?;
    Some((run, number.parse().ok()?))
}

impl Wake {
    pub(super) fn start(db: &Arc<Database>, options: &PostgresOptions, tasks: &mut JoinSet<()>) -> Self {
        let wake = Self {
            announces: options.notifications,
            shared: Arc::new(Shared {
                watches: Watches::default(),
                outbox: Mutex::default(),
                post: Notify::new(),
                poll_now: Notify::new(),
                own_process: AtomicI32::new(0),
                opened_at: Instant::now(),
                hears: watch::Sender::new(false),
            }),
        };
        if options.notifications {
            tasks.spawn(wake.clone().listen(Arc::clone(db)));
        }
        tasks.spawn(wake.clone().poll(Arc::clone(db), options.poll_interval));
        wake
    }

    pub(super) fn watches(&self) -> &Watches {
        &self.shared.watches
    }

    /// Whether notifications arrive, which listening alone does not show: a pooler may swallow them. A store that was
    /// just opened is given a moment to find out.
    pub(super) async fn hears(&self) -> bool {
        let mut hears = self.shared.hears.subscribe();
        let deadline = if self.announces { self.shared.opened_at + TRIAL } else { self.shared.opened_at };
        timeout_at(deadline, hears.wait_for(|hears| *hears)).await.is_ok_and(|heard| heard.is_ok())
    }

    /// Tells that these runs have grown, once that is durable.
    pub(super) fn stored(&self, grown: Vec<(RunId, Seq)>) {
        if grown.is_empty() {
            return;
        }
        self.shared.watches.publish_all(grown.iter().map(|(run, next)| (run, *next)));
        if !self.announces {
            return;
        }
        let mut outbox = self.outbox();
        grown.into_iter().for_each(|(run, next)| outbox.add(run, next));
        drop(outbox);
        self.shared.post.notify_one();
    }

    /// What to send, and where, with a command of this position; `None` if other processes are not told.
    pub(super) fn announcement(&self, db: &Database, run: &RunId, position: u64) -> Option<(String, String)> {
        let payload = || format!("{COMMAND}{position}:{}", to_hex(run.as_str().as_bytes()));
        self.announces.then(|| (channel(db), payload()))
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        // Valid at every step, so a panic elsewhere cannot have left it half changed.
        self.shared.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one connection listening, whatever happens to it.
    async fn listen(self, db: Arc<Database>) {
        loop {
            // Why it ended does not matter: until it is back, polling finds everything.
            drop(self.listen_once(&db).await);
            self.shared.hears.send_replace(false);
            sleep(RECONNECT_PAUSE).await;
        }
    }

    async fn listen_once(&self, db: &Database) -> Result<(), Error> {
        let (client, mut connection) = db.connect_raw().await?;
        let drive = async {
            while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(notification) = message? {
                    self.hear(&notification);
                }
            }
            Ok(())
        };
        let announce = async {
            let pid = client.query_typed_one("SELECT pg_backend_pid()", &[]).await?;
            self.shared.own_process.store(pid.get(0), Ordering::Relaxed);
            let channel = channel(db);
            client.batch_execute(&format!("LISTEN {}", quote(&channel))).await?;
            // What was notified while nobody listened is found now.
            self.shared.poll_now.notify_one();
            let announcements = async {
                loop {
                    let payload = self.outbox().payload();
                    match payload {
                        Some(payload) => {
                            notify(&client, &channel, &payload).await?;
                            sleep(ANNOUNCE_PAUSE).await;
                        }
                        None => self.shared.post.notified().await,
                    }
                }
            };
            tokio::join!(call(db, &channel), announcements).1
        };
        tokio::select! {
            ended = drive => ended,
            failed = announce => failed,
        }
    }

    fn hear(&self, notification: &Notification) {
        if notification.process_id() == self.shared.own_process.load(Ordering::Relaxed) {
            return;
        }
        self.shared.hears.send_replace(true);
        if notification.payload() == CALL {
            return;
        }
        if let Some((run, position)) = notification.payload().strip_prefix(COMMAND).and_then(numbered) {
            self.shared.watches.publish_command(&run, position);
            return;
        }
        match named(notification.payload()) {
            Some(runs) => self.shared.watches.publish_all(runs.iter().map(|(run, next)| (run, *next))),
            None => self.shared.poll_now.notify_one(),
        }
    }

    /// Looks for growth that nobody told us of.
    async fn poll(self, db: Arc<Database>, interval: Duration) {
        let mut seen = Seen::default();
        loop {
            tokio::select! {
                () = sleep(interval) => {}
                () = self.shared.poll_now.notified() => {}
            }
            if self.shared.watches.is_watched() {
                // A server that is away is asked again at the next tick.
                drop(self.look(&db, &mut seen).await);
            }
        }
    }

    async fn look(&self, db: &Database, seen: &mut Seen) -> Result<(), StoreError> {
        let watched = self.shared.watches.watched();
        let keys: Vec<&[u8]> = watched.iter().map(|run| run.as_str().as_bytes()).collect();
        let heads = db
            .query(
                "SELECT q.n, (SELECT max(seq) FROM @events WHERE run = r.id)
                 FROM unnest($1::bytea[]) WITH ORDINALITY AS q (run_id, n) JOIN @runs r ON r.run_id = q.run_id",
                &[(&keys, Type::BYTEA_ARRAY)],
            )
            .await?;
        seen.heads.retain(|run, _| watched.contains(run));
        for row in heads {
            let run = usize::try_from(row.get::<_, i64>(0) - 1).ok().and_then(|n| watched.get(n));
            if let (Some(run), Some(last)) = (run, seq_at(&row, 1))
                && seen.heads.insert(run.clone(), last) != Some(last)
            {
                self.shared.watches.publish(run, last.next());
            }
        }
        self.look_for_commands(db).await?;
        let feed = db.query("SELECT xid, pos FROM @events ORDER BY xid DESC, pos DESC LIMIT 1", &[]).await?;
        let end = feed.first().map(|row| (row.get(0), row.get(1)));
        if seen.feed != end {
            seen.feed = end;
            self.shared.watches.publish_feed();
        }
        Ok(())
    }

    /// Goes by what is pending, not by who waits: every holder of a run waits for commands all the time.
    async fn look_for_commands(&self, db: &Database) -> Result<(), StoreError> {
        for row in db.query("SELECT run_id, max(pos) FROM @commands GROUP BY run_id", &[]).await? {
            // One that nobody can name is nobody's.
            if let Ok(run) = run_id_at(&row, 0) {
                self.shared.watches.publish_command(&run, row.get::<_, i64>(1).cast_unsigned());
            }
        }
        Ok(())
    }
}

/// What the last poll saw.
#[derive(Default)]
struct Seen {
    heads: HashMap<RunId, Seq>,
    feed: Option<(i64, i64)>,
}

/// Sends a notification to be heard by the listening connection, from another one as other processes do. If it is
/// lost, nobody hears it, and that is the answer.
async fn call(db: &Database, channel: &str) {
    if let Ok(client) = db.client().await {
        drop(notify(&client, channel, CALL).await);
    }
}

/// Sends one notification. A lost hint does no harm, so it does not wait for the disk.
async fn notify(client: &Client, channel: &str, payload: &str) -> Result<(), Error> {
    // One message is one transaction, for less than half the work of three. Neither digits nor our own words need quoting.
    client.batch_execute(&format!("SET LOCAL synchronous_commit = off; NOTIFY {}, '{payload}'", quote(channel))).await
}

/// One channel per schema; a hash, because channel names are as short as identifiers.
fn channel(db: &Database) -> String {
    let hash = blake3::hash(db.schema.as_bytes());
    format!("r1_{}", to_hex(&hash.as_bytes()[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> RunId {
        name.parse().unwrap()
    }

    #[test]
    fn a_payload_names_runs_whatever_their_ids_hold() {
        let mut outbox = Outbox::default();
        let odd = run("a b:\0'\u{1F600}");
        outbox.add(odd.clone(), Seq::new(7).unwrap());
        outbox.add(run("b"), Seq::FIRST);
        let payload = outbox.payload().unwrap();
        assert_eq!(named(&payload), Some(vec![(odd, Seq::new(7).unwrap()), (run("b"), Seq::FIRST)]));
        assert_eq!(outbox.payload(), None, "what was told is not told again");
    }

    #[test]
    fn more_runs_than_fit_are_called_many() {
        let mut outbox = Outbox::default();
        for n in 0..300 {
            outbox.add(run(&format!("run_{n:026}")), Seq::FIRST);
        }
        assert_eq!(outbox.payload().as_deref(), Some(MANY));
        assert_eq!(named(MANY), None);
        for n in 0..5_000 {
            outbox.add(run(&format!("{n}")), Seq::FIRST);
        }
        assert!(outbox.runs.len() <= PAYLOAD_BYTES / 4);
        assert_eq!(outbox.payload().as_deref(), Some(MANY));
    }
}
