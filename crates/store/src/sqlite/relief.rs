//! Copies pages from the write-ahead log into the database, so that the log can begin anew.
//!
//! SQLite would let whoever commits copy them, with everybody else waiting. Here a thread of its own copies most of
//! them while the writer goes on; what was written meanwhile is little, and the writer copies that itself, because
//! the log begins anew only when nothing in it is missing in the database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::open::Door;

/// How often the thread tries to leave little to the writer.
const PASSES: usize = 4;

/// What the log may hold, in pages.
#[derive(Clone, Copy, Debug)]
struct Measure {
    /// From here on it is copied.
    full: i32,
    /// If that did not make it begin anew, because someone reads what is in it, it is tried again every so many.
    step: i32,
    /// So few are left to the writer.
    few: i32,
}

impl Measure {
    fn new(full: u32) -> Self {
        let full = i32::try_from(full).unwrap_or(i32::MAX).max(1);
        Self { full, step: (full / 4).max(1), few: full / 32 }
    }
}

/// The thread, once there was something to do for it.
#[derive(Clone, Debug)]
pub(super) struct Relief {
    measure: Measure,
    helper: Arc<Mutex<Option<Helper>>>,
}

#[derive(Debug)]
struct Helper {
    /// Dropped to end it.
    calls: SyncSender<()>,
    /// Set when it has done what it can.
    is_done: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Relief {
    /// Sees to the log of `writer` from now on, whenever it holds `pages`.
    pub(super) fn attend(writer: &mut Connection, door: Door, pages: u32) -> rusqlite::Result<Self> {
        let measure = Measure::new(pages);
        let relief = Self { measure, helper: Arc::default() };
        let Measure { full, step, few: _ } = measure;
        let (hand, mut due) = (relief.clone(), full);
        // Called behind every commit. What comes to nothing here is no failure of the commit.
        writer.wal_hook(Some(move |log: &mut Wal, pages: i32| {
            if pages < full {
                due = full;
            } else if hand.is_done() {
                copy(log);
                due = pages.saturating_add(step);
            } else if pages >= due {
                due = pages.saturating_add(step);
                if !hand.call(&door) {
                    copy(log);
                }
            }
            Ok(())
        }))?;
        Ok(relief)
    }

    /// Lets go of the file.
    pub(super) fn end(&self) {
        if let Some(Helper { calls, thread, .. }) = self.lock().take() {
            drop(calls);
            // It cannot do harm any more even if it panicked.
            drop(thread.join());
        }
    }

    /// Wakes the thread; false if there is none.
    fn call(&self, door: &Door) -> bool {
        let mut helper = self.lock();
        if helper.is_none() {
            *helper = Helper::start(door.clone(), self.measure.few).ok();
        }
        // Being at work already is as good.
        helper.as_ref().is_some_and(|helper| helper.calls.try_send(()) != Err(mpsc::TrySendError::Disconnected(())))
    }

    fn is_done(&self) -> bool {
        self.lock().as_ref().is_some_and(|helper| helper.is_done.swap(false, Ordering::AcqRel))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Helper>> {
        self.helper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Helper {
    fn start(door: Door, few: i32) -> std::io::Result<Self> {
        let (calls, called) = mpsc::sync_channel(1);
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        let work = move || {
            let Ok(db) = door.checkpointer() else { return };
            while called.recv().is_ok() {
                copy_most(&db, few);
                done.store(true, Ordering::Release);
            }
        };
        let thread = std::thread::Builder::new().name("r1-sqlite-relief".into()).spawn(work)?;
        Ok(Self { calls, is_done, thread })
    }
}

/// Copies until only a few pages are left, or until it does not help.
fn copy_most(db: &Connection, few: i32) {
    for _ in 0..PASSES {
        let left = db.query_one("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            let (logged, copied): (i32, i32) = (row.get(1)?, row.get(2)?);
            Ok(logged.saturating_sub(copied))
        });
        // What fails here the writer finds out for itself.
        if !left.is_ok_and(|left| left > few) {
            break;
        }
    }
}

/// Copies what is left.
fn copy(log: &mut Wal) {
    // All is kept in the log too, so a failure loses nothing: it is copied another time.
    log.checkpoint().ok();
}
