//! The process between R1 and a program: it ends the program's whole tree, whatever happens to R1.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, WaitOptions, WaitStatus, setrlimit, setsid, wait};

use super::control::{Order, Report, Status};
use super::tree::{Tree, tasks_of_the_machine};
use super::{LEFTOVER_GRACE, Limits, STOP_GRACE, confine};

/// Word in the place of a subcommand.
pub(super) const WORD: &str = "__supervise";

/// How often it is looked for many processes, and how often they are counted in any case.
const WATCH: Duration = Duration::from_millis(50);
const COUNT: Duration = Duration::from_secs(1);
/// How often SIGKILL is repeated while something is left.
const KILL_AGAIN: Duration = Duration::from_millis(5);

/// Runs the hidden part of the binary that `arguments` (with the program's own name first) ask for.
/// `None` if they ask for something else. To be called before anything else in `main`.
pub fn entry(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let word = arguments.next()?;
    if word == WORD {
        Some(supervise())
    } else if word == confine::WORD {
        Some(confine::main(arguments))
    } else {
        None
    }
}

fn supervise() -> ExitCode {
    // Our standard input is the socket to R1. A copy of it is closed for the program when that starts.
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    let Ok(mut reports) = socket.try_clone() else { return ExitCode::FAILURE };
    let mut orders = BufReader::new(socket);
    let started = read_order(&mut orders).and_then(|(order, stdin)| {
        leave_our_parent();
        set_limits(&order.limits)?;
        say(&mut reports, &Report::Starting);
        let child = start(&order, stdin)?;
        Ok((order, child))
    });
    match started {
        Ok((order, child)) => {
            let notices = listen(orders);
            take_precedence();
            let program = i32::try_from(child.id()).unwrap_or(-1);
            let census = Census::new(order.limits.processes);
            Supervision { reports, notices, program, too_many_processes: false, kill_at: None }.run(census);
            ExitCode::SUCCESS
        }
        Err(err) => {
            say(&mut reports, &Report::Failed { reason: err.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn read_order(orders: &mut BufReader<UnixStream>) -> std::io::Result<(Order, Option<Vec<u8>>)> {
    let mut line = String::new();
    orders.read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let stdin = match order.stdin {
        Some(length) => {
            let mut bytes = Vec::new();
            orders.take(length).read_to_end(&mut bytes)?;
            Some(bytes)
        }
        None => None,
    };
    Ok((order, stdin))
}

/// No terminal to type into, no group that a signal for R1 would reach, nobody's orphans but our own.
fn leave_our_parent() {
    // Each of these is a second line of defence; where the kernel refuses one, the rest still holds.
    let _already_leader = setsid();
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
        let _refused = set_child_subreaper(Some(getpid()));
        // The program has our user id, and could otherwise look into us.
        let _refused = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Limits are inherited, so they are set here once and hold for all that follows.
fn set_limits(limits: &Limits) -> std::io::Result<()> {
    let at_most = |value| Rlimit { current: Some(value), maximum: Some(value) };
    setrlimit(Resource::Core, at_most(0))?;
    setrlimit(Resource::Fsize, at_most(limits.file_bytes))?;
    // The kernel counts all tasks of the user, also those outside.
    if let Some(tasks) = tasks_of_the_machine() {
        let current = rustix::process::getrlimit(Resource::Nproc);
        let wanted = tasks.saturating_add(limits.tasks);
        let allowed = current.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(Resource::Nproc, at_most(allowed))?;
    }
    Ok(())
}

fn start(order: &Order, stdin: Option<Vec<u8>>) -> std::io::Result<Child> {
    let mut command = match (&order.confinement, &*order.argv) {
        (_, []) => return Err(std::io::Error::other("no program was named")),
        (None, [program, arguments @ ..]) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        (Some(confinement), argv) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(confinement.arguments(argv)?);
            command
        }
    };
    command.current_dir(&order.cwd).process_group(0);
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn()?;
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), stdin) {
        // A program may not read its input before it has written its output.
        thread::spawn(move || {
            let _the_program_may_not_want_it = pipe.write_all(&bytes);
        });
    }
    Ok(child)
}

/// Among a thousand processes that want to run, who is to end them must come first. Only root may say so; for
/// everyone else the kernel holds the number of tasks down.
fn take_precedence() {
    const HIGHEST: i32 = -20;
    let _not_root = rustix::process::setpriority_process(None, HIGHEST);
    // Linux shares between sessions before it shares between processes.
    let _not_root = std::fs::write("/proc/self/autogroup", HIGHEST.to_string());
}

/// Something the supervisor has to act on.
enum Notice {
    /// R1 wants an end, or is gone.
    Stop,
    /// A child of ours ended: the program, or an orphan that became ours.
    Ended(i32, WaitStatus),
    /// There is no child left, so nothing of the tree.
    NothingLeft,
}

fn listen(mut orders: BufReader<UnixStream>) -> Receiver<Notice> {
    let (notices, receiver) = mpsc::channel();
    let stops: Sender<Notice> = notices.clone();
    thread::spawn(move || {
        // One byte means stop; no byte means that R1 is gone.
        let _either_way = orders.read(&mut [0]);
        let _we_are_ending = stops.send(Notice::Stop);
    });
    thread::spawn(move || {
        loop {
            let notice = match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => Notice::Ended(pid.as_raw_nonzero().get(), status),
                Ok(None) | Err(rustix::io::Errno::INTR) => continue,
                Err(_no_child) => Notice::NothingLeft,
            };
            let is_last = matches!(notice, Notice::NothingLeft);
            if notices.send(notice).is_err() || is_last {
                break;
            }
        }
    });
    receiver
}

struct Supervision {
    reports: UnixStream,
    notices: Receiver<Notice>,
    program: i32,
    /// When the program was killed for its many processes, this is why.
    too_many_processes: bool,
    kill_at: Option<Instant>,
}

impl Supervision {
    /// Until nothing is left of the tree.
    fn run(mut self, mut census: Census) {
        loop {
            let first = match self.notices.recv_timeout(self.patience()) {
                Ok(notice) => Some(notice),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // A bomb ends by the thousand. Walking over all processes for each would take for ever.
            let more: Vec<Notice> = self.notices.try_iter().collect();
            for notice in first.into_iter().chain(more) {
                match notice {
                    Notice::Stop => {
                        Tree::below_this_process().signal(Signal::TERM);
                        self.kill_after(STOP_GRACE);
                    }
                    Notice::Ended(pid, status) if pid == self.program => self.program_ended(status),
                    Notice::Ended(..) => {}
                    Notice::NothingLeft => return,
                }
            }
            match self.kill_at {
                Some(at) if at <= Instant::now() => Tree::below_this_process().signal(Signal::KILL),
                Some(_) => {}
                None if census.is_over_limit() => {
                    self.too_many_processes = true;
                    self.kill_after(Duration::ZERO);
                }
                None => {}
            }
        }
    }

    fn program_ended(&mut self, status: WaitStatus) {
        let status = Status {
            code: status.exit_status().unwrap_or(-1),
            signal: status.terminating_signal(),
            too_many_processes: self.too_many_processes,
        };
        say(&mut self.reports, &Report::Exited(status));
        Tree::below_this_process().signal(Signal::TERM);
        self.kill_after(LEFTOVER_GRACE);
    }

    fn kill_after(&mut self, grace: Duration) {
        let at = Instant::now() + grace;
        self.kill_at = Some(self.kill_at.map_or(at, |planned| planned.min(at)));
    }

    fn patience(&self) -> Duration {
        match self.kill_at.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => KILL_AGAIN,
            Some(rest) => rest,
            None => WATCH,
        }
    }
}

/// Counts the processes of the tree, but not more often than needed.
struct Census {
    allowed: u64,
    /// The fewest tasks that the machine had since we look.
    fewest: u64,
    last_look: Instant,
    last_count: Instant,
}

impl Census {
    fn new(allowed: u64) -> Self {
        let now = Instant::now();
        Self { allowed, fewest: tasks_of_the_machine().unwrap_or(0), last_look: now, last_count: now }
    }

    fn is_over_limit(&mut self) -> bool {
        if self.last_look.elapsed() < WATCH {
            return false;
        }
        self.last_look = Instant::now();
        // Walking over all processes costs; that the machine has few more than before tells as much.
        let tasks = tasks_of_the_machine().unwrap_or(u64::MAX);
        self.fewest = self.fewest.min(tasks);
        if tasks <= self.fewest.saturating_add(self.allowed) && self.last_count.elapsed() < COUNT {
            return false;
        }
        self.last_count = Instant::now();
        u64::try_from(Tree::below_this_process().len()).unwrap_or(u64::MAX) > self.allowed
    }
}

fn say(reports: &mut UnixStream, report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let _r1_may_be_gone = reports.write_all(&line);
    }
}
