//! Starting a program and seeing it to its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::confine::Confinement;
use super::control::{Order, Report, STOP, Status};
use super::pump::pump;
use super::{Ended, Finished, LEFTOVER_GRACE, Limits, Output, RunError, STOP_GRACE, Stream, signal, supervisor};

/// How much longer than its own deadlines a supervisor may take before it is killed itself.
const SUPERVISOR_SLACK: Duration = Duration::from_secs(1);
/// How long a pipe may stay open when nothing that we know of is left.
const PIPE_PATIENCE: Duration = Duration::from_millis(300);

/// A program and everything around it.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it runs, absolute.
    pub cwd: PathBuf,
    /// All of its environment.
    pub env: BTreeMap<String, String>,
    /// Its standard input; closed without.
    pub stdin: Option<Bytes>,
    /// What it may use. Needs a supervisor.
    pub limits: Limits,
    /// A program, with arguments, that starts the rest of its arguments in some other world.
    pub wrapper: Vec<OsString>,
    /// Where the supervisor is found, in that world.
    pub supervisor: Option<PathBuf>,
    /// What the supervisor keeps the program from.
    pub confinement: Option<Confinement>,
}

impl Launch {
    /// Runs it to its end. What it writes goes to `output`, which ends when nothing of it is left.
    ///
    /// Dropping the future ends the program too.
    pub(crate) async fn run(
        self,
        limit: Option<Duration>,
        cancel: &CancellationToken,
        output: mpsc::Sender<Output>,
    ) -> Result<Finished, RunError> {
        let began = Instant::now();
        let program = self.argv.first().cloned().ok_or(RunError::NoProgram)?;
        let spawn_error = |reason| RunError::Spawn { program, reason };
        let mut running = match self.start() {
            Ok(running) => running,
            Err(err) => return Err(spawn_error(err.to_string())),
        };
        let (stdout, stderr) = (running.child_mut().stdout.take(), running.child_mut().stderr.take());
        let mut pumps =
            pin!(async { tokio::join!(pump(stdout, Stream::Stdout, &output), pump(stderr, Stream::Stderr, &output)) });
        let mut end = pin!(running.end(began, limit, cancel));
        let mut pumping = true;
        let ended = loop {
            tokio::select! {
                _ = &mut pumps, if pumping => pumping = false,
                ended = &mut end => break ended,
            }
        };
        if pumping {
            let _held_open_by_a_stranger = timeout(PIPE_PATIENCE, &mut pumps).await;
        }
        let (status, ended) = ended.map_err(spawn_error)?;
        Ok(Finished {
            exit_code: status.code,
            signal: status.signal.map(signal::name),
            ended,
            duration: began.elapsed(),
        })
    }

    fn start(self) -> std::io::Result<Running> {
        let mut line: Vec<OsString> = self.wrapper;
        let is_wrapped = !line.is_empty();
        match self.supervisor {
            Some(supervisor) => {
                let (ours, theirs) = StdUnixStream::pair()?;
                ours.set_nonblocking(true)?;
                line.extend([supervisor.into_os_string(), supervisor::WORD.into()]);
                let mut command = command(line, self.env)?;
                let child = command.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
                let order = Order {
                    argv: self.argv,
                    cwd: self.cwd,
                    limits: self.limits,
                    confinement: self.confinement,
                    stdin: self.stdin.as_ref().map(|bytes| bytes.len() as u64),
                };
                let mut order = serde_json::to_vec(&order)?;
                order.push(b'\n');
                order.extend(self.stdin.unwrap_or_default());
                Ok(Running::Supervised(Supervised::new(child, UnixStream::from_std(ours)?, order, is_wrapped)))
            }
            None => {
                line.extend(self.argv.into_iter().map(OsString::from));
                let mut command = command(line, self.env)?;
                command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
                let mut child = command.current_dir(self.cwd).process_group(0).spawn()?;
                let input = child.stdin.take().zip(self.stdin);
                Ok(Running::Grouped(Grouped { group: process_id(&child), child, input }))
            }
        }
    }
}

fn command(line: Vec<OsString>, env: BTreeMap<String, String>) -> std::io::Result<Command> {
    let mut line = line.into_iter();
    let program = line.next().ok_or_else(|| std::io::Error::other("no program was named"))?;
    let mut command = Command::new(program);
    command.args(line).env_clear().envs(env).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

fn process_id(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

enum Running {
    Supervised(Supervised),
    Grouped(Grouped),
}

impl Running {
    fn child_mut(&mut self) -> &mut Child {
        match self {
            Self::Supervised(running) => &mut running.child,
            Self::Grouped(running) => &mut running.child,
        }
    }

    /// Waits until it ended, and sees to it that it does.
    async fn end(
        &mut self,
        began: Instant,
        limit: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Result<(Status, Ended), String> {
        let too_late = async {
            match limit {
                Some(limit) => sleep_until(began + limit).await,
                None => std::future::pending().await,
            }
        };
        let stop = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Ended::Cancelled,
                () = too_late => {
                    Ended::TimedOut { after_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) }
                }
            }
        };
        match self {
            Self::Supervised(running) => running.end(stop).await,
            Self::Grouped(running) => running.end(stop).await,
        }
    }
}

/// A program below a supervisor. Dropping the socket tells the supervisor to end it.
struct Supervised {
    child: Child,
    orders: OwnedWriteHalf,
    reports: Lines<BufReader<OwnedReadHalf>>,
    order: Vec<u8>,
    is_wrapped: bool,
    heard: Heard,
}

/// What a supervisor has said so far.
#[derive(Default)]
struct Heard {
    starting: bool,
    failed: Option<String>,
    exited: Option<Status>,
}

impl Supervised {
    fn new(child: Child, socket: UnixStream, order: Vec<u8>, is_wrapped: bool) -> Self {
        let (reports, orders) = socket.into_split();
        Self { child, orders, reports: BufReader::new(reports).lines(), order, is_wrapped, heard: Heard::default() }
    }

    async fn end(&mut self, stop: impl Future<Output = Ended>) -> Result<(Status, Ended), String> {
        let mut ended = tokio::select! {
            biased;
            () = self.until_the_program_ended() => Ended::Itself,
            ended = stop => {
                // With half an order sent, the word would be read as a part of it: closing says the same.
                if self.order.is_empty() {
                    let _it_may_be_gone = self.orders.write_all(STOP).await;
                } else {
                    let _it_may_be_gone = self.orders.shutdown().await;
                }
                let _the_kill_follows = timeout(STOP_GRACE + SUPERVISOR_SLACK, self.until_the_program_ended()).await;
                ended
            }
        };
        let own_status = match timeout(LEFTOVER_GRACE + SUPERVISOR_SLACK, self.child.wait()).await {
            Ok(status) => status.map_err(|err| err.to_string())?.into(),
            Err(_overdue) => {
                // The wrapper takes its whole world with it. Without one the supervisor is left to go on killing.
                if let Some(pid) = process_id(&self.child).filter(|_| self.is_wrapped) {
                    let _ended_meanwhile = kill_process(pid, Signal::KILL);
                }
                Status { code: -1, signal: Some(Signal::KILL.as_raw()), too_many_processes: false }
            }
        };
        match std::mem::take(&mut self.heard) {
            Heard { failed: Some(reason), .. } => Err(reason),
            Heard { exited: Some(status), .. } => {
                if status.too_many_processes {
                    ended = Ended::TooManyProcesses;
                }
                Ok((status, ended))
            }
            Heard { starting: true, .. } => Ok((own_status, ended)),
            // Cancelled before it began: there is nothing to complain about.
            Heard { starting: false, .. } if ended != Ended::Itself => Ok((own_status, ended)),
            Heard { starting: false, .. } => Err(format!("its sandbox did not start (exit code {})", own_status.code)),
        }
    }

    /// Sends the order, then listens until the program ended or the supervisor is gone. Can be called again after a
    /// cancel.
    async fn until_the_program_ended(&mut self) {
        while !self.order.is_empty() {
            match self.orders.write(&self.order).await {
                Ok(written) => drop(self.order.drain(..written)),
                Err(_it_is_gone) => break,
            }
        }
        while let Ok(Some(line)) = self.reports.next_line().await {
            match serde_json::from_str(&line) {
                Ok(Report::Starting) => self.heard.starting = true,
                Ok(Report::Failed { reason }) => self.heard.failed = Some(reason),
                Ok(Report::Exited(status)) => {
                    self.heard.exited = Some(status);
                    return;
                }
                Err(_noise) => {}
            }
        }
    }
}

/// A program in a process group of its own.
struct Grouped {
    child: Child,
    group: Option<Pid>,
    input: Option<(ChildStdin, Bytes)>,
}

impl Grouped {
    async fn end(&mut self, stop: impl Future<Output = Ended>) -> Result<(Status, Ended), String> {
        let input = self.input.take();
        let mut feed = pin!(async {
            if let Some((mut pipe, bytes)) = input {
                let _the_program_may_not_want_it = pipe.write_all(&bytes).await;
            }
        });
        let mut stop = pin!(stop);
        let mut feeding = true;
        let ended = loop {
            tokio::select! {
                biased;
                _ = self.child.wait() => break Ended::Itself,
                ended = &mut stop => break ended,
                () = &mut feed, if feeding => feeding = false,
            }
        };
        if ended != Ended::Itself {
            self.signal(Signal::TERM);
            let _the_kill_follows = timeout(STOP_GRACE, self.child.wait()).await;
        }
        self.signal(Signal::KILL);
        self.group = None;
        let status = self.child.wait().await.map_err(|err| err.to_string())?;
        Ok((status.into(), ended))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ended_meanwhile = kill_process_group(group, signal);
        }
    }
}

impl Drop for Grouped {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl From<ExitStatus> for Status {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code().unwrap_or(-1), signal: status.signal(), too_many_processes: false }
    }
}
