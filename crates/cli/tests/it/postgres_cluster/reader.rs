//! A client of the feed that goes to another node whenever its own is gone, and sometimes just so.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::is_terminal;
use super::node::Door;

/// As long as something can take: leases have to run out before another node may go on.
const LONG: Duration = Duration::from_secs(240);

pub(crate) struct Reader {
    ended: watch::Receiver<usize>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Seen>,
}

/// What a reader has seen.
#[derive(Default)]
pub(crate) struct Seen {
    /// Events by run, in the order in which they came.
    pub(crate) runs: HashMap<String, Vec<String>>,
    /// Events that came again.
    pub(crate) twice: usize,
    ids: HashSet<String>,
    cursor: Option<String>,
}

impl Reader {
    /// Follows the feed from its beginning, first at the door with this number.
    pub(crate) fn follow(doors: &[Door], number: usize) -> Self {
        let (told, ended) = watch::channel(0);
        let (stop, mut stopped) = oneshot::channel();
        let doors = doors.to_vec();
        let task = tokio::spawn(async move {
            let mut seen = Seen::default();
            for visit in number.. {
                let door = &doors[visit % doors.len()];
                // Restless: it moves on after some hundred events although nothing is wrong.
                let patience = 200 + 137 * (visit % 7);
                tokio::select! {
                    () = seen.read(door, patience, &told) => {}
                    _ = &mut stopped => return seen,
                }
            }
            seen
        });
        Self { ended, stop, task }
    }

    /// Waits until so many runs have ended, and says how many have.
    pub(crate) async fn until_ended(&self, count: usize) -> usize {
        let (mut ended, began) = (self.ended.clone(), Instant::now());
        match timeout(LONG, ended.wait_for(|ended| *ended >= count)).await {
            Ok(ended) => *ended.unwrap(),
            Err(_) => panic!("{} of {count} runs ended within {:?}", *self.ended.borrow(), began.elapsed()),
        }
    }

    /// Lets it see all that there is, and takes what it has seen.
    pub(crate) async fn close(mut self) -> Seen {
        // Whoever is quiet for this long after the last run has ended has seen everything.
        while timeout(Duration::from_secs(3), self.ended.changed()).await.is_ok() {}
        self.stop.send(()).unwrap();
        self.task.await.unwrap()
    }
}

impl Seen {
    /// Reads until the line breaks, or until it has had enough of this door.
    async fn read(&mut self, door: &Door, most: usize, told: &watch::Sender<usize>) {
        let mut request = door.get("/hecate/v1/events/stream");
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor);
        }
        let Ok(Ok(response)) = timeout(Duration::from_secs(5), request.send()).await else { return };
        // Then there is another node.
        if !response.status().is_success() {
            return;
        }
        let (mut stream, mut buffer, mut count) = (response.bytes_stream(), Vec::new(), 0);
        // A node without its database is silent: its heartbeat is not worth waiting for.
        while let Ok(Some(Ok(piece))) = timeout(Duration::from_secs(4), stream.next()).await {
            buffer.extend_from_slice(&piece);
            while let Some(end) = buffer.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = buffer.drain(..end + 2).collect();
                count += usize::from(self.take(std::str::from_utf8(&frame).unwrap(), told));
            }
            if count >= most {
                return;
            }
        }
    }

    /// Takes a whole frame; what a broken line leaves half is asked for again.
    fn take(&mut self, frame: &str, told: &watch::Sender<usize>) -> bool {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
        if let Some(id) = field("id:") {
            self.cursor = Some(id.to_owned());
        }
        let Some(data) = field("data:") else { return false };
        let event: Value = serde_json::from_str(data).unwrap();
        if !self.ids.insert(event["event_id"].as_str().unwrap().to_owned()) {
            self.twice += 1;
            return true;
        }
        let run = event["run_id"].as_str().unwrap();
        let log = self.runs.entry(run.to_owned()).or_default();
        assert_eq!(event["sequence"], log.len(), "the order of a run is kept, and nothing of it is missing");
        log.push(data.to_owned());
        if is_terminal(data) {
            told.send_modify(|ended| *ended += 1);
        }
        true
    }
}
