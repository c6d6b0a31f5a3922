//! A workspace with secrets around it, and programs in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use r1_runtime::sandbox::{Captured, CommandRequest, Sandbox, SandboxConfig, SandboxLayer, SandboxMode, environment};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What a program must not see.
pub(super) const SECRET: &str = "the-secret-of-the-house";

/// A directory with a workspace in it, and beside that a file with [`SECRET`].
pub(super) struct World {
    directory: TempDir,
    pub(super) config: SandboxConfig,
}

impl World {
    pub(super) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("workspace")).unwrap();
        fs::write(root.join("secret"), SECRET).unwrap();
        let config = SandboxConfig {
            workspace: root.join("workspace"),
            supervisor: Some(PathBuf::from(env!("CARGO_BIN_EXE_r1"))),
            env: environment::allowed(std::env::vars(), &[]),
            ..SandboxConfig::default()
        };
        Self { directory, config }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.config.workspace
    }

    /// `None`, and a word about it, where the machine does not have this layer.
    pub(super) async fn sandbox(&self, layer: SandboxLayer) -> Option<Sandbox> {
        let config = SandboxConfig { mode: SandboxMode::Only(layer), ..self.config.clone() };
        let sandbox = Sandbox::detect(config).await;
        if let Err(err) = &sandbox {
            eprintln!("SKIPPED: {err}");
        }
        sandbox.ok()
    }
}

pub(super) fn bash(script: &str) -> CommandRequest {
    CommandRequest {
        argv: ["bash", "-c", script].map(str::to_owned).to_vec(),
        // A test that hangs tells less than one that fails.
        timeout: Some(Duration::from_secs(60)),
        env: BTreeMap::new(),
        ..CommandRequest::default()
    }
}

pub(super) async fn run(sandbox: &Sandbox, script: &str) -> Captured {
    sandbox.capture(bash(script), &CancellationToken::new(), 1 << 20).await.unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes of this machine whose command line holds `marker`. Those of a sandbox are seen from outside too.
pub(super) fn alive(marker: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|line| text(&line))
        .filter(|line| line.contains(marker))
        .collect()
}

/// Waits for a state of the world that comes at its own time, and says what it waited for if it does not.
pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A word that is on no other command line.
pub(super) fn marker(name: &str) -> String {
    format!("{name}-{}", ulid::Ulid::generate())
}
