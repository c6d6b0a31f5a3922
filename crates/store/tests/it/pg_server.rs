//! A real PostgreSQL for the tests.
//!
//! `R1_TEST_POSTGRES=URL` names an existing server. Otherwise a throw-away cluster from Debian's
//! binaries is started by the first test that needs it and shared by all test processes: each holds a
//! shared lock on a file, and a watchdog stops and removes the cluster once nobody does, however the
//! tests ended.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const NO_BINARIES: &str = "no PostgreSQL found: run ./test, which installs Debian's `postgresql`, or name a server \
     with R1_TEST_POSTGRES=postgres://…";

/// The URL of the shared server, without a schema.
pub(crate) fn shared_url() -> String {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| match std::env::var("R1_TEST_POSTGRES") {
        Ok(url) => url,
        Err(_) => {
            let cluster = Cluster::share("shared");
            let url = cluster.url();
            // The lock goes with the process.
            std::mem::forget(cluster);
            url
        }
    })
    .clone()
}

/// A running cluster; kept alive by the lock inside.
pub(crate) struct Cluster {
    dir: PathBuf,
    port: u16,
    _lock: File,
}

impl Cluster {
    /// One of its own, for a test that restarts it.
    pub(crate) fn private() -> Self {
        Self::share(&format!("private-{}", std::process::id()))
    }

    fn share(name: &str) -> Self {
        let base = std::env::temp_dir().join(format!("r1-test-pg-{}-{}", user_id(), short_hash()));
        fs::create_dir_all(&base).unwrap();
        let dir = base.join(name);
        let lock_path = base.join(format!("{name}.lock"));
        loop {
            let lock = File::options().create(true).append(true).open(&lock_path).unwrap();
            lock.lock_shared().unwrap();
            if let Some(port) = running(&dir) {
                return Self { dir, port, _lock: lock };
            }
            // Whoever gets the exclusive lock starts it; the others find it running.
            lock.unlock().unwrap();
            lock.lock().unwrap();
            if running(&dir).is_none() {
                start(&dir);
                watch(&dir, &lock_path);
            }
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The same as another role, in another database.
    pub(crate) fn url_of(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }

    /// Where its files are.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Kills the server in mid-sentence, as a power cut would, and starts it again.
    pub(crate) fn restart_immediately(&self) {
        let (data, log) = (self.data(), self.dir.join("log"));
        let restart = ["restart", "-w", "-m", "immediate", "-t", "60", "-D", path(&data), "-l", path(&log)];
        run(&mut tool("pg_ctl", &restart));
    }

    /// Ends the server; its data stays.
    pub(crate) fn stop(&self) {
        run(&mut tool("pg_ctl", &["stop", "-w", "-m", "immediate", "-t", "60", "-D", path(&self.data())]));
    }

    /// Starts it again where it was.
    pub(crate) fn start(&self) {
        launch(&self.dir, self.port);
    }
}

fn start(dir: &Path) {
    drop(fs::remove_dir_all(dir));
    if user_id() == "0" {
        run(Command::new("install").args(["-d", "-o", "postgres", "-m", "700", path(dir)]));
    } else {
        fs::create_dir(dir).unwrap();
    }
    let data = dir.join("data");
    run(&mut tool("initdb", &["-D", path(&data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    launch(dir, port);
    fs::write(port_file(dir), port.to_string()).unwrap();
}

fn launch(dir: &Path, port: u16) {
    let (data, log) = (dir.join("data"), dir.join("log"));
    let options = format!(
        "-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={} -c max_connections=300 -c fsync=on",
        path(dir)
    );
    run(&mut tool("pg_ctl", &["start", "-w", "-t", "60", "-D", path(&data), "-l", path(&log), "-o", &options]));
}

/// The port of a cluster that answers.
fn running(dir: &Path) -> Option<u16> {
    let port = fs::read_to_string(port_file(dir)).ok()?.parse().ok()?;
    std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(|_| port)
}

/// Beside the cluster's directory, which only its owner may look into.
fn port_file(dir: &Path) -> PathBuf {
    dir.with_extension("port")
}

/// Leaves a process behind that ends the cluster when no test holds the lock any more.
fn watch(dir: &Path, lock: &Path) {
    let stop = tool("pg_ctl", &["stop", "-m", "immediate", "-D", path(&dir.join("data"))]);
    let stop: Vec<_> =
        std::iter::once(stop.get_program()).chain(stop.get_args()).map(|arg| arg.to_str().unwrap()).collect();
    let script = format!(
        "(exec 9<'{lock}'; while sleep 2; do if flock -n -x 9; then {stop}; rm -rf '{dir}' '{port}' {lock_too}; exit; fi; done) &",
        lock = path(lock),
        stop = stop.join(" "),
        dir = path(dir),
        port = path(&port_file(dir)),
        // Others may be waiting at the shared lock; a private one has no use any more.
        lock_too = if dir.ends_with("shared") { "" } else { path(lock) },
    );
    // A group of its own, so that what interrupts the tests does not reach it.
    run(Command::new("sh").args(["-c", &script]).process_group(0));
}

/// A command of PostgreSQL, as a user who may run it: the server refuses root.
fn tool(name: &str, args: &[&str]) -> Command {
    let program = binary(name);
    let mut command = if user_id() == "0" {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--", path(&program)]);
        command
    } else {
        Command::new(program)
    };
    command.args(args).current_dir("/");
    command
}

fn binary(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed: Vec<PathBuf> = versions.map(|version| version.path().join("bin").join(name)).collect();
    installed.sort();
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&in_path).map(|dir| dir.join(name)).collect::<Vec<_>>();
    installed.into_iter().rev().chain(in_path).find(|path| path.exists()).expect(NO_BINARIES)
}

fn run(command: &mut Command) {
    let shown = format!("{command:?}");
    let log = tempfile::tempfile().unwrap();
    // A server started here inherits its output: a pipe would never end.
    let status = command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log.try_clone().unwrap())
        .status()
        .unwrap_or_else(|err| panic!("{shown}: {err}"));
    if !status.success() {
        let mut said = String::new();
        let mut log = log;
        std::io::Seek::rewind(&mut log).unwrap();
        std::io::Read::read_to_string(&mut log, &mut said).unwrap();
        panic!("{shown}: {status}\n{said}");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn user_id() -> String {
    let id = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8(id.stdout).unwrap().trim().to_owned()
}

/// Two checkouts on one machine have two servers.
fn short_hash() -> String {
    blake3::hash(env!("CARGO_TARGET_TMPDIR").as_bytes()).to_hex()[..8].to_owned()
}
