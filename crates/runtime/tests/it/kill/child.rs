//! A worker process: this test binary again, told by its environment what to do.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use r1_event::RunId;
use r1_runtime::engine::Claim;
use r1_runtime::workers::Workers;
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::house::House;

const HOUSE: &str = "R1_TEST_KILL_HOUSE";
const RUN: &str = "R1_TEST_KILL_RUN";
const LEASE_MS: &str = "R1_TEST_KILL_LEASE_MS";

/// How many runs a worker process works on at a time.
const SLOTS: usize = 8;

/// What a worker process is to do.
pub(super) enum Errand {
    /// Work on whatever waits, until killed.
    WorkOnAll,
    /// Work on this run with leases of this length, and say what came of it.
    WorkOnOne(RunId, Duration),
}

/// A worker process. It ends with this, or with the process that started it.
pub(super) struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Worker {
    pub(super) fn start(house: &House, errand: Errand) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kill::child::works_for_another_test", "--ignored", "--nocapture"]);
        command.env(HOUSE, house.path());
        if let Errand::WorkOnOne(run, lease) = errand {
            command.env(RUN, run.as_str()).env(LEASE_MS, lease.as_millis().to_string());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Kills it and waits until it is gone.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(super) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub(super) fn wake(&self) {
        self.signal(Signal::CONT);
    }

    /// What it says of its work, once that is over.
    pub(super) fn last_words(&mut self) -> String {
        let lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.filter(|line| line.contains("outcome: ")).last().expect("it says what came of it")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "works for other tests, which run it in a process of its own"]
async fn works_for_another_test() {
    std::thread::spawn(end_with_the_parent);
    let house = House::at(Path::new(&std::env::var_os(HOUSE).expect("only other tests run this"))).await;
    let instance = r1_runtime::world::new_instance_id().unwrap();
    let stop = CancellationToken::new();
    let Ok(run) = std::env::var(RUN) else {
        return Workers::new(house.engine(&instance), SLOTS).run(stop, false).await;
    };
    let lease = Duration::from_millis(std::env::var(LEASE_MS).unwrap().parse().unwrap());
    let engine = house.engine_with_lease(&instance, lease);
    let outcome = engine.work(&run.parse().unwrap(), Claim::default(), stop).await;
    println!("\noutcome: {outcome:?}");
}

/// Whoever started this process holds the other end of its input.
fn end_with_the_parent() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(1);
}
