//! What it costs when nothing happens, measured in a server process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Runtime;

use crate::stage::{Stage, Writer, ask};
use crate::table::{Table, Target, scaled};

/// Names the store to the process that is measured.
const STORE: &str = "R1_BENCH_IDLE_SERVER";
const SUBSCRIBER_KIB: f64 = 64.0;
/// Of one core.
const IDLE_PERCENT: f64 = 1.0;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let directory = TempDir::new().expect("a directory");
    let (runs, followers) = (scaled(10_000, 200), scaled(1_000, 100));
    let path = runtime.block_on(async {
        let stage = Stage::open(directory.path()).await;
        let mut path = String::new();
        for number in 0..runs {
            let writer = Writer::new(&stage.store, number as u64).await;
            path = format!("/hecate/v1/runs/{}/events", writer.run);
        }
        stage.store.close().await.expect("closed");
        path
    });
    let server = Server::start(directory.path());
    let used = runtime.block_on(server.busy(Duration::from_secs(scaled(5, 1) as u64)));
    table.row(
        &format!("a server with {runs} open runs and nobody watching, of one core"),
        &format!("{used:.2} %"),
        &format!("{IDLE_PERCENT} %"),
        used / IDLE_PERCENT,
        Target::AtMost(1.0),
    );
    let each = runtime.block_on(async {
        let mut streams = Vec::new();
        // The first few warm up what is shared.
        for _ in 0..20 {
            streams.push(opened(&server.address, &path).await);
        }
        let before = server.memory();
        for _ in 0..followers {
            streams.push(opened(&server.address, &path).await);
        }
        (server.memory() - before) / followers as f64 / 1024.0
    });
    table.row(
        &format!("memory of one of {followers} idle followers"),
        &format!("{each:.1} KiB"),
        &format!("{SUBSCRIBER_KIB} KiB"),
        each / SUBSCRIBER_KIB,
        Target::AtMost(1.0),
    );
}

/// A stream whose first event was read.
async fn opened(address: &str, path: &str) -> tokio::net::TcpStream {
    let mut stream = ask(address, path, "text/event-stream").await;
    let (mut buffer, mut text) = ([0; 4096], Vec::new());
    while !text.windows(6).any(|bytes| bytes == b"data: ") {
        let count = stream.read(&mut buffer).await.expect("an answer");
        assert!(count > 0, "the stream ended: {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&buffer[..count]);
    }
    stream
}

/// The process that is measured.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(directory: &Path) -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut process = Command::new(this).env(STORE, directory).stdout(Stdio::piped()).spawn().expect("a process");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut address).expect("its address");
        Self { process, address: address.trim().to_owned() }
    }

    /// Resident bytes.
    fn memory(&self) -> f64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.process.id())).expect("linux");
        statm.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("pages") * 4096.0
    }

    /// How much of one core it uses, in percent.
    async fn busy(&self, span: Duration) -> f64 {
        // Let it finish what beginning takes.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = self.ticks();
        tokio::time::sleep(span).await;
        (self.ticks() - before) / span.as_secs_f64()
    }

    /// Hundredths of a second of a core so far.
    fn ticks(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).expect("linux");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        let number = |at: usize| fields[at].parse::<f64>().expect("a number");
        number(11) + number(12)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In the process that is measured: serves until it is ended. False elsewhere.
pub(crate) fn is_measured_process() -> bool {
    let Some(directory) = std::env::var_os(STORE) else { return false };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stage = Stage::open(Path::new(&directory)).await;
        println!("{}", stage.address);
        std::future::pending::<()>().await;
    });
    true
}
