//! When the sessions of bridges end.

use std::collections::HashSet;
use std::time::Duration;

use r1_runtime::control::beacon::close_sessions;
use r1_runtime::world;
use tokio_util::sync::CancellationToken;

use crate::access::tokens;
use crate::app::App;

/// How often it is seen to which have.
const LOOK_EVERY: Duration = Duration::from_secs(30);

impl App {
    /// Ends the runs of sessions whose token is gone, or that told nothing for a while, until `stop` is called.
    /// What is open then stays so: the bridge goes on with it here or elsewhere.
    pub async fn end_bridge_sessions(&self, stop: CancellationToken) {
        let look = async {
            let mut rounds = tokio::time::interval(LOOK_EVERY);
            rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                rounds.tick().await;
                self.end_bridge_sessions_now().await;
            }
        };
        stop.run_until_cancelled(look).await;
    }

    /// The same, once. What cannot be done now is done by a later look.
    pub async fn end_bridge_sessions_now(&self) {
        let store = self.engine.store();
        let Ok(tokens) = tokens::list(store).await else { return };
        let live: HashSet<_> = tokens.into_iter().map(|token| token.id).collect();
        let _ = close_sessions(&self.engine, world::now(), |session| live.contains(session)).await;
    }
}
