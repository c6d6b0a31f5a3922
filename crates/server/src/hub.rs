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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use r1_event::{Batch, Chain, Payload, UnixNanos};
    use r1_protocol::data;
    use r1_store::{Lease, MemoryStore, SharedStore};

    use super::*;

    struct Writer {
        store: SharedStore,
        lease: Lease,
        chain: Chain,
    }

    impl Writer {
        async fn new() -> Self {
            let store: SharedStore = Arc::new(MemoryStore::new());
            let run: RunId = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap();
            let lease = store.acquire(&run, "w", Duration::from_secs(60)).await.unwrap().lease;
            let mut writer = Self { store, lease, chain: Chain::new(run) };
            writer.append(vec![Payload::RunStarted(Box::default())]).await;
            writer
        }

        async fn append(&mut self, payloads: Vec<Payload>) {
            let mut batch = Batch::new(&self.chain);
            for payload in payloads {
                batch.push(UnixNanos(0), payload).unwrap();
            }
            self.chain = batch.after().clone();
            self.store.append(&self.lease, batch).await.unwrap();
        }

        async fn things(&mut self, count: usize) {
            let thing = Payload::Typed(data::typed("external.thing", &serde_json::json!({})));
            self.append(vec![thing; count]).await;
        }

        async fn follow(&self, hub: &Hub) -> Follower {
            let events = RunEvents::open(self.store.clone(), self.chain.run().clone()).await.unwrap();
            hub.follow(events, 0, Wanted::default()).await.unwrap()
        }
    }

    async fn read_until(follower: &mut Follower, next: &mut u64, end: u64) {
        while *next < end {
            for event in follower.next().await.unwrap().unwrap().events {
                assert_eq!(event.sequence, *next, "no event is skipped or comes twice");
                *next += 1;
            }
        }
    }

    #[tokio::test]
    async fn followers_share_a_channel_and_the_last_one_takes_it_along() {
        let (hub, mut writer) = (Hub::default(), Writer::new().await);
        let (mut one, mut two) = (writer.follow(&hub).await, writer.follow(&hub).await);
        assert_eq!(hub.lock().len(), 1);
        writer.things(3).await;
        for follower in [&mut one, &mut two] {
            read_until(follower, &mut 0, 4).await;
        }
        drop(one);
        assert_eq!(hub.lock().len(), 1);
        drop(two);
        assert_eq!(hub.lock().len(), 0);
    }

    #[tokio::test]
    async fn whoever_falls_behind_the_window_reads_the_store_and_misses_nothing() {
        let (hub, mut writer) = (Hub::default(), Writer::new().await);
        let (mut quick, mut slow) = (writer.follow(&hub).await, writer.follow(&hub).await);
        let (mut read, mut read_slowly) = (0, 0);
        read_until(&mut slow, &mut read_slowly, 1).await;
        for round in 1..=30 {
            writer.things(100).await;
            read_until(&mut quick, &mut read, round * 100 + 1).await;
        }
        read_until(&mut slow, &mut read_slowly, 3001).await;
        writer.append(vec![Payload::RunCompleted(Default::default())]).await;
        for (follower, next) in [(&mut quick, &mut read), (&mut slow, &mut read_slowly)] {
            read_until(follower, next, 3002).await;
            assert!(follower.next().await.unwrap().is_none(), "the run has ended");
        }
    }

    #[tokio::test]
    async fn a_run_that_has_ended_needs_no_channel() {
        let (hub, mut writer) = (Hub::default(), Writer::new().await);
        writer.append(vec![Payload::RunCompleted(Default::default())]).await;
        let mut follower = writer.follow(&hub).await;
        assert_eq!(hub.lock().len(), 0);
        read_until(&mut follower, &mut 0, 2).await;
        assert!(follower.next().await.unwrap().is_none());
    }
}
