//! Live events, read once per run for all who follow it.
//!
//! A run that somebody follows has a [`Channel`]: one task reads its new events and keeps the last of them,
//! written as they go out, in a bounded window. Followers take them from there, each at its own pace. There
//! is no queue per follower: one that falls behind the window reads the store instead, so nothing is ever
//! skipped and a slow client costs nothing but its place. The last follower that goes takes the channel along.
//!
//! A follower takes from the window only what came after it joined. What is older it reads from the store,
//! where it may have been erased since.

mod channel;
mod follower;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use r1_event::RunId;
use r1_protocol::View;
use r1_runtime::control::events::{EventsError, RunEvents, Wanted};

use self::channel::Channel;
pub(crate) use self::follower::{Follower, Stopped};

/// All channels of a server.
#[derive(Clone, Default)]
pub(crate) struct Hub {
    channels: Arc<Mutex<Channels>>,
}

type Channels = HashMap<Key, Weak<Channel>>;

/// What all followers of a channel share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    run: RunId,
    view: View,
}

impl Hub {
    /// Follows a run from the event `first` on.
    pub(crate) async fn follow(&self, events: RunEvents, first: u64, wanted: Wanted) -> Result<Follower, EventsError> {
        let end = events.end().await?;
        if end.terminal {
            return Ok(Follower::of_ended(events, first, wanted));
        }
        let next = end.last_sequence.map_or(0, |last| last + 1);
        let channel = self.channel(&events, wanted.view, next);
        Ok(Follower::new(events, first, wanted, channel))
    }

    /// How many runs are followed.
    pub(crate) fn followed(&self) -> usize {
        self.lock().len()
    }

    /// The channel of a run; a new one begins at the event `next`.
    fn channel(&self, events: &RunEvents, view: View, next: u64) -> Arc<Channel> {
        let key = Key { run: events.run().clone(), view };
        let mut channels = self.lock();
        if let Some(channel) = channels.get(&key).and_then(Weak::upgrade).filter(|channel| channel.is_open()) {
            return channel;
        }
        let left = Leave { channels: Arc::downgrade(&self.channels), key: key.clone() };
        let channel = Channel::open(events.clone(), view, next, left);
        channels.insert(key, Arc::downgrade(&channel));
        channel
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a channel off the list when it goes.
struct Leave {
    channels: Weak<Mutex<Channels>>,
    key: Key,
}

impl Drop for Leave {
    fn drop(&mut self) {
        let Some(channels) = self.channels.upgrade() else { return };
        let mut channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
        // A new channel for the same run may have taken the place already.
        if channels.get(&self.key).is_some_and(|channel| channel.strong_count() == 0) {
            channels.remove(&self.key);
        }
    }
}
