//! Notices what other processes append and which commands they leave, while someone waits for it.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::commands;
use super::open::Door;
use super::read;
use crate::watch::Watches;

/// How long an append of another process may stay unnoticed.
const INTERVAL: Duration = Duration::from_millis(20);

/// Looks for changes of the file as long as anyone watches.
#[derive(Debug)]
pub(super) struct Notice {
    door: Door,
    watches: Watches,
    watchman: Arc<Mutex<Option<Watchman>>>,
}

#[derive(Debug)]
struct Watchman {
    /// Dropped to call him off.
    duty: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Notice {
    pub(super) fn new(door: Door, watches: Watches) -> Self {
        Self { door, watches, watchman: Arc::default() }
    }

    /// Call after someone has begun to watch.
    pub(super) fn attend(&self) {
        let mut watchman = lock(&self.watchman);
        if watchman.is_some() || !self.watches.is_watched() {
            return;
        }
        let (duty, called_off) = mpsc::channel();
        let (door, watches, post) = (self.door.clone(), self.watches.clone(), Arc::clone(&self.watchman));
        let patrol = move || patrol(&door, &watches, &post, &called_off);
        // Without the thread only foreign appends go unnoticed until the next read.
        *watchman = std::thread::Builder::new()
            .name("r1-sqlite-notice".into())
            .spawn(patrol)
            .ok()
            .map(|thread| Watchman { duty, thread });
    }

    /// Ends the thread and lets go of the file.
    pub(super) async fn close(&self) {
        let watchman = lock(&self.watchman).take();
        if let Some(Watchman { duty, thread }) = watchman {
            drop(duty);
            // It cannot do harm any more even if it panicked.
            drop(tokio::task::spawn_blocking(move || thread.join()).await);
        }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        // The thread holds the post too, so only this calls it off.
        drop(lock(&self.watchman).take());
    }
}

fn patrol(door: &Door, watches: &Watches, post: &Mutex<Option<Watchman>>, called_off: &mpsc::Receiver<()>) {
    let mut known = Known::default();
    let mut db = None;
    while called_off.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let mut watchman = lock(post);
        if !watches.is_watched() {
            *watchman = None;
            return;
        }
        drop(watchman);
        if db.is_none() {
            db = door.reader().ok();
        }
        if let Some(connection) = &db {
            // A failed look is repeated; reading itself will tell what is wrong.
            known.look(connection, watches).unwrap_or_default();
        }
    }
}

#[derive(Default)]
struct Known {
    data_version: Option<i64>,
    last_position: Option<i64>,
    last_command: u64,
}

impl Known {
    fn look(&mut self, db: &Connection, watches: &Watches) -> rusqlite::Result<()> {
        let data_version = db.prepare_cached("PRAGMA data_version")?.query_one([], |row| row.get(0))?;
        if self.data_version == Some(data_version) {
            return Ok(());
        }
        for run in watches.watched() {
            if let Some(next) = read::next_seq(db, &run)? {
                watches.publish_run(&run, next);
            }
        }
        // By what is new, not by who waits: every holder of a run waits for commands all the time.
        for (position, run) in commands::left_since(db, self.last_command)? {
            watches.publish_command(&run, position);
            self.last_command = position;
        }
        let last = db.prepare_cached("SELECT max(pos) FROM events")?.query_one([], |row| row.get(0))?;
        if self.last_position != last {
            watches.publish_feed();
            self.last_position = last;
        }
        self.data_version = Some(data_version);
        Ok(())
    }
}

fn lock(watchman: &Mutex<Option<Watchman>>) -> MutexGuard<'_, Option<Watchman>> {
    watchman.lock().unwrap_or_else(PoisonError::into_inner)
}
