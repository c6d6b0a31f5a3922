//! How a server ends: nothing new, streams closed, runs handed over. Nothing is cancelled.

use r1_server::App;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::output;
use crate::signals::Signals;

/// Ends everything in order; a second signal skips the wait for what is under way.
pub(super) async fn end(
    app: &App,
    stop: &CancellationToken,
    serving: JoinHandle<()>,
    working: JoinHandle<()>,
    signals: &mut Signals,
) {
    output::note("ending: what is under way is handed over; once more to end at once");
    app.draining().cancel();
    stop.cancel();
    let (stop_serving, stop_working) = (serving.abort_handle(), working.abort_handle());
    tokio::select! {
        _ = async { tokio::join!(serving, working) } => {}
        _ = signals.next() => {
            // The runs stay as they are; whoever comes next sees that we are gone and goes on with them.
            stop_serving.abort();
            stop_working.abort();
        }
    }
}
