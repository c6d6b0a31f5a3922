//! All that is at work while a server is open, and how it ends: nothing new, streams closed, runs handed over.
//! Nothing is cancelled.

use std::sync::Arc;
use std::time::Duration;

use r1_runtime::workers::Workers;
use r1_server::listen::Bound;
use r1_server::{App, Telemetry};
use r1_store::StoreError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::output;
use crate::signals::Signals;

/// So long connections may take to come to their end.
const GRACE: Duration = Duration::from_secs(10);

/// A server at work.
pub(super) struct Open {
    app: Arc<App>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    working: JoinHandle<()>,
    indexing: JoinHandle<()>,
    bridging: JoinHandle<()>,
    telemetry: Option<Telemetry>,
    hurry: CancellationToken,
}

impl Open {
    /// Opens the doors, and has the waiting runs taken.
    pub(super) fn start(app: Arc<App>, bound: Bound, workers: Workers, telemetry: Option<Telemetry>) -> Self {
        let (stop, hurry) = (CancellationToken::new(), workers.hurry());
        let serving = tokio::spawn(bound.serve(app.clone(), GRACE));
        let working = tokio::spawn(workers.run(stop.clone(), false));
        let indexing = {
            let (app, stop) = (app.clone(), stop.clone());
            let tell = |err: &StoreError| output::note(&format!("the index falls behind for a while: {err}"));
            tokio::spawn(async move { app.index().keep_up(stop, tell).await })
        };
        let bridging = {
            let (app, stop) = (app.clone(), stop.clone());
            tokio::spawn(async move { app.end_bridge_sessions(stop).await })
        };
        Self { app, stop, serving, working, indexing, bridging, telemetry, hurry }
    }

    /// Ends everything in order. A second signal skips the wait for what is under way, a third the order.
    pub(super) async fn end(self, signals: &mut Signals) {
        let Self { app, stop, serving, working, indexing, bridging, telemetry, hurry } = self;
        output::note("ending: what is under way is handed over; once more to end at once");
        app.draining().cancel();
        stop.cancel();
        let connections = [serving.abort_handle(), indexing.abort_handle(), bridging.abort_handle()];
        let runs = working.abort_handle();
        let mut all = std::pin::pin!(async {
            // How they ended was told where it happened.
            let _ = tokio::join!(serving, working, indexing, bridging);
            if let Some(telemetry) = telemetry {
                telemetry.close().await;
            }
        });
        tokio::select! {
            () = &mut all => return,
            _ = signals.next() => {
                hurry.cancel();
                connections.iter().for_each(tokio::task::AbortHandle::abort);
            }
        }
        tokio::select! {
            () = &mut all => {}
            // The runs stay as they are; whoever comes next sees that we are gone and goes on with them.
            _ = signals.next() => runs.abort(),
        }
    }
}
