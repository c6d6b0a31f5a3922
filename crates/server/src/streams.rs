//! What all streams of events share.

use std::time::Duration;

use r1_protocol::dialect::Dialect;
use r1_runtime::control::feed::Feed;
use r1_store::SharedStore;

use crate::hub::Hub;
use crate::sse;

/// How events are streamed.
#[derive(Clone, Copy, Debug)]
pub struct StreamOptions {
    /// The names that events are served with, unless a client asks for others.
    pub dialect: Dialect,
    /// How long a stream may be silent.
    pub heartbeat: Duration,
    /// Of how many runs the feed keeps at hand what all their events share.
    pub remembered_runs: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { dialect: Dialect::default(), heartbeat: sse::HEARTBEAT, remembered_runs: 4096 }
    }
}

/// The sources of all streams.
pub(crate) struct Streams {
    pub(crate) hub: Hub,
    pub(crate) feed: Feed,
    pub(crate) options: StreamOptions,
}

impl Streams {
    pub(crate) fn new(store: SharedStore, options: StreamOptions) -> Self {
        Self { hub: Hub::default(), feed: Feed::new(store, options.remembered_runs), options }
    }
}
