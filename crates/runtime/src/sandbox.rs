//! How programs are started, and what they cannot reach.
//!
//! A [`Sandbox`] is made once per run. It takes the strongest layer that the machine has and says which
//! one that is ([`Sandbox::layer`]); everything that runs on behalf of an agent goes through
//! [`Sandbox::run`].
//!
//! | | `bwrap` | `landlock` | `none` |
//! |---|---|---|---|
//! | files outside | not there | refused | reachable |
//! | other processes | not there | visible, not touchable | reachable |
//! | network, when off | not there | no sockets | reachable |
//! | environment | allow list | allow list | allow list |
//! | limits, end of the whole tree | by the supervisor | by the supervisor | by the supervisor |

mod bwrap;
pub mod environment;
mod system;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use crate::process::{Ended, Finished, Limits, Output, RunError, Stream};
use crate::process::{confine, confine::Confinement, launch::Launch};

/// What keeps programs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxLayer {
    /// Namespaces and mounts, by bubblewrap.
    Bwrap,
    /// Rules of the kernel: Landlock for files, seccomp for sockets.
    Landlock,
    /// Nothing.
    None,
}

impl SandboxLayer {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

/// Which layer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// The strongest there is, or none.
    #[default]
    Auto,
    /// The strongest there is; without any, programs are not run.
    Require,
    /// This one and no other.
    Only(SandboxLayer),
}

/// What programs may do to the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Anything.
    #[default]
    ReadWrite,
    /// Look at it. Only a layer can see to that.
    ReadOnly,
}

/// How a run's programs are to be kept.
#[derive(Clone, Debug, Default)]
pub struct SandboxConfig {
    /// The workspace: the one place of the user that programs see.
    pub workspace: PathBuf,
    /// What they may do there.
    pub access: WorkspaceAccess,
    /// Which layer.
    pub mode: SandboxMode,
    /// This binary, whose [`process::supervisor::entry`](crate::process::supervisor::entry) its `main`
    /// calls. Without it there are no limits, no Landlock, and a program's children may escape.
    pub supervisor: Option<PathBuf>,
    /// Where bubblewrap is; looked for on the `PATH` of `env` otherwise.
    pub bwrap: Option<PathBuf>,
    /// Whether programs may use the network.
    pub network: bool,
    /// What else they may read: toolchains in a home directory, for example.
    pub readable: Vec<PathBuf>,
    /// What else they may change: the repository of a worktree, for example.
    pub writable: Vec<PathBuf>,
    /// The variables they get, see [`environment::allowed`]; `HOME` and `TMPDIR` are set here.
    pub env: BTreeMap<String, String>,
    /// What each may use.
    pub limits: Limits,
}

/// A program to run.
#[derive(Clone, Debug, Default)]
pub struct CommandRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where, relative to the workspace; empty is the workspace itself.
    pub cwd: String,
    /// Variables on top of the configured ones.
    pub env: BTreeMap<String, String>,
    /// Its standard input; closed without.
    pub stdin: Option<Bytes>,
    /// When it is stopped.
    pub timeout: Option<Duration>,
    /// Whether it may use the network, even if programs otherwise may not.
    pub network: bool,
}

/// A program's whole output, as far as it was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// How it ended.
    pub finished: Finished,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

/// No layer could be had, although one is required. Code `sandbox_unavailable`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxUnavailable {
    /// None works here.
    #[error(
        "no sandbox works on this machine: install bubblewrap, or set `sandbox.mode = \"auto\"` to run without one"
    )]
    NoLayer,
    /// Not the one that was asked for.
    #[error("the sandbox layer `{}` does not work on this machine", .0.as_str())]
    Missing(SandboxLayer),
    /// The workspace is not there.
    #[error("the workspace `{}` cannot be opened: {reason}", .path.display())]
    Workspace {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is no place for programs' temporary files.
    #[error("cannot make a directory for temporary files: {0}")]
    Scratch(String),
}

/// Starts programs for one run.
#[derive(Debug)]
pub struct Sandbox {
    config: SandboxConfig,
    layer: SandboxLayer,
    bwrap: PathBuf,
    /// Home and temporary files of the run's programs; gone with the sandbox.
    scratch: TempDir,
}

impl Sandbox {
    /// The strongest layer that works here and that the configuration admits.
    pub async fn detect(mut config: SandboxConfig) -> Result<Self, SandboxUnavailable> {
        // Mounts and rules are made of real paths.
        config.workspace = match config.workspace.canonicalize() {
            Ok(path) => path,
            Err(err) => {
                return Err(SandboxUnavailable::Workspace { path: config.workspace, reason: err.to_string() });
            }
        };
        let scratch = |err: std::io::Error| SandboxUnavailable::Scratch(err.to_string());
        let directory = tempfile::Builder::new().prefix("r1-").tempdir().map_err(scratch)?;
        std::fs::create_dir(directory.path().join(HOME)).map_err(scratch)?;
        let bwrap = config.bwrap.clone().unwrap_or_else(|| find_program("bwrap", config.env.get("PATH")));
        let mut sandbox = Self { config, layer: SandboxLayer::None, bwrap, scratch: directory };
        sandbox.layer = match sandbox.config.mode {
            SandboxMode::Auto => sandbox.strongest().await.unwrap_or(SandboxLayer::None),
            SandboxMode::Require => sandbox.strongest().await.ok_or(SandboxUnavailable::NoLayer)?,
            SandboxMode::Only(layer) if sandbox.has(layer).await => layer,
            SandboxMode::Only(layer) => return Err(SandboxUnavailable::Missing(layer)),
        };
        Ok(sandbox)
    }

    /// What keeps programs in.
    #[must_use]
    pub fn layer(&self) -> SandboxLayer {
        self.layer
    }

    /// Whether this program can reach the network.
    #[must_use]
    pub fn has_network(&self, request: &CommandRequest) -> bool {
        match self.layer {
            SandboxLayer::Bwrap | SandboxLayer::Landlock => self.config.network || request.network,
            SandboxLayer::None => true,
        }
    }

    /// All variables that this program gets.
    #[must_use]
    pub fn environment(&self, request: &CommandRequest) -> BTreeMap<String, String> {
        let mut env = self.config.env.clone();
        let scratch = match self.layer {
            SandboxLayer::Bwrap => Path::new(bwrap::SCRATCH),
            SandboxLayer::Landlock | SandboxLayer::None => self.scratch.path(),
        };
        env.insert("HOME".to_owned(), scratch.join(HOME).display().to_string());
        env.insert("TMPDIR".to_owned(), scratch.display().to_string());
        env.extend(request.env.clone());
        env
    }

    /// Runs a program to its end, or until `cancel` or its timeout ends it. What it writes goes to
    /// `output` as it comes; the channel closes when nothing of the program is left. Whoever reads it
    /// slowly slows the program down, so read while this runs.
    ///
    /// Dropping the future ends the program too.
    pub async fn run(
        &self,
        request: CommandRequest,
        cancel: &CancellationToken,
        output: mpsc::Sender<Output>,
    ) -> Result<Finished, RunError> {
        let timeout = request.timeout;
        self.launch(request)?.run(timeout, cancel, output).await
    }

    /// Runs a program and keeps up to `limit` bytes of each of its streams.
    pub async fn capture(
        &self,
        request: CommandRequest,
        cancel: &CancellationToken,
        limit: usize,
    ) -> Result<Captured, RunError> {
        let (sender, mut output) = mpsc::channel(16);
        let collect = async {
            let (mut stdout, mut stderr, mut truncated) = (Vec::new(), Vec::new(), false);
            while let Some(Output { stream, bytes }) = output.recv().await {
                let kept = match stream {
                    Stream::Stdout => &mut stdout,
                    Stream::Stderr => &mut stderr,
                };
                let fits = bytes.len().min(limit.saturating_sub(kept.len()));
                truncated |= fits < bytes.len();
                kept.extend(bytes.iter().take(fits));
            }
            (stdout, stderr, truncated)
        };
        let (finished, (stdout, stderr, truncated)) = tokio::join!(self.run(request, cancel, sender), collect);
        Ok(Captured { finished: finished?, stdout, stderr, truncated })
    }

    fn launch(&self, request: CommandRequest) -> Result<Launch, RunError> {
        let cwd = self.directory(&request.cwd)?;
        let network = self.has_network(&request);
        let env = self.environment(&request);
        let supervisor = self.config.supervisor.clone();
        let (wrapper, supervisor, confinement) = match self.layer {
            SandboxLayer::Bwrap => {
                let inside = supervisor.map(|_| PathBuf::from(bwrap::SUPERVISOR));
                (self.world(&cwd, network).wrapper(), inside, None)
            }
            SandboxLayer::Landlock => (Vec::new(), supervisor, Some(self.confinement(network))),
            SandboxLayer::None => (Vec::new(), supervisor, None),
        };
        let CommandRequest { argv, cwd: _, env: _, stdin, timeout: _, network: _ } = request;
        Ok(Launch { argv, cwd, env, stdin, limits: self.config.limits.clone(), wrapper, supervisor, confinement })
    }

    /// The directory in the workspace that `cwd` names; symlinks are followed, but not outside.
    fn directory(&self, cwd: &str) -> Result<PathBuf, RunError> {
        let bad = || RunError::BadDirectory { cwd: cwd.to_owned() };
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(cwd).components().all(is_below) {
            return Err(bad());
        }
        let root = &self.config.workspace;
        let directory = root.join(cwd).canonicalize().map_err(|_| bad())?;
        if directory.is_dir() && directory.starts_with(root) { Ok(directory) } else { Err(bad()) }
    }

    fn world<'a>(&'a self, cwd: &'a Path, network: bool) -> bwrap::World<'a> {
        bwrap::World {
            bwrap: &self.bwrap,
            workspace: &self.config.workspace,
            access: self.config.access,
            readable: &self.config.readable,
            writable: &self.config.writable,
            scratch: self.scratch.path(),
            supervisor: self.config.supervisor.as_deref(),
            network,
            cwd,
        }
    }

    fn confinement(&self, network: bool) -> Confinement {
        let mut readable = system::settings();
        readable.extend(system::programs().map(Path::to_path_buf));
        readable.extend(["/proc", "/dev/urandom", "/dev/random"].map(PathBuf::from));
        readable.extend_from_slice(&self.config.readable);
        let mut writable = vec![self.scratch.path().to_path_buf()];
        writable.extend(["/dev/null", "/dev/zero", "/dev/full"].map(PathBuf::from));
        writable.extend_from_slice(&self.config.writable);
        match self.config.access {
            WorkspaceAccess::ReadWrite => writable.push(self.config.workspace.clone()),
            WorkspaceAccess::ReadOnly => readable.push(self.config.workspace.clone()),
        }
        Confinement { readable, writable, network }
    }

    async fn strongest(&self) -> Option<SandboxLayer> {
        for layer in [SandboxLayer::Bwrap, SandboxLayer::Landlock] {
            if self.has(layer).await {
                return Some(layer);
            }
        }
        None
    }

    async fn has(&self, layer: SandboxLayer) -> bool {
        match layer {
            SandboxLayer::Bwrap => self.world(&self.config.workspace, false).works().await,
            SandboxLayer::Landlock => self.config.supervisor.is_some() && confine::is_available(),
            SandboxLayer::None => true,
        }
    }
}

/// Below the scratch directory.
const HOME: &str = "home";

/// The first `name` on `path`, or the name itself.
fn find_program(name: &str, path: Option<&String>) -> PathBuf {
    path.into_iter()
        .flat_map(|path| std::env::split_paths(path))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}
