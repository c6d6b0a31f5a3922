//! A repository with one commit, and gates that look at it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use r1_runtime::gate::{
    Base, Boundary, Criterion, Earlier, GateContext, GateRule, ModelName, Outcome, Preset, Reviewer, Rules, Transition,
    Verified, evaluate, gate_id, save_start,
};
use r1_runtime::provider::{Scenario, Scripted};
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode};
use r1_runtime::snapshot::Snapshots;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(super) struct Project {
    pub(super) dir: TempDir,
    home: TempDir,
    pub(super) context: GateContext,
}

impl Project {
    /// Has `README.md`, committed.
    pub(super) async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        git(dir.path(), &["init", "--quiet"]);
        std::fs::write(dir.path().join("README.md"), "# A project\n").unwrap();
        commit(dir.path());
        let config = SandboxConfig {
            workspace: dir.path().to_path_buf(),
            mode: SandboxMode::Only(SandboxLayer::None),
            env: [("PATH".to_owned(), std::env::var("PATH").unwrap())].into(),
            ..SandboxConfig::default()
        };
        let context = GateContext {
            preset: Arc::new(Preset::builtin("default").unwrap()),
            workspace: dir.path().to_path_buf(),
            base: Base::Revision("HEAD".into()),
            sandbox: Arc::new(Sandbox::detect(config).await.unwrap()),
            redactor: Redactor::default(),
            rules: Rules::default(),
            goal: "make it better".into(),
            declared: Vec::new(),
            criteria: Vec::new(),
            author: ModelName { provider: "anthropic".into(), model: "claude-sonnet-4-5".into() },
            reviewer: None,
            earlier: Vec::new(),
            commit_message: None,
            verified: None,
            cancel: CancellationToken::new(),
        };
        Self { dir, home: TempDir::new().unwrap(), context }
    }

    /// A task begins: gates compare with the files as they are now.
    pub(super) async fn begin_task(&mut self) {
        let snapshots = Snapshots::at(self.home.path().join("snapshots"));
        let revision = save_start(&snapshots, &self.context.workspace, &self.context.preset).await.unwrap();
        self.context.base = Base::Snapshot { snapshots, revision };
    }

    /// The tests gate looks at the files, and the task goes on to its commit.
    pub(super) async fn verify(&mut self) {
        let tests = self.context.preset.rule(gate_id::TESTS).unwrap();
        let looked = self.ask(&tests, "VERIFY.exit", "VERIFY>COMMIT").await;
        self.context.verified = Some(Verified { gate_id: gate_id::TESTS.into(), inputs_hash: looked.inputs_hash });
    }

    /// What the scope gate says at the end.
    pub(super) async fn at_the_end(&self) -> Outcome {
        self.ask(&self.rule(gate_id::SCOPE, None), "COMMIT.exit", "COMMIT>END").await
    }

    pub(super) fn git(&self, args: &[&str]) -> &Self {
        git(self.dir.path(), args);
        self
    }

    pub(super) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(super) fn commit(&self) {
        commit(self.dir.path());
    }

    /// The gate of the preset, with a command of its own.
    pub(super) fn rule(&self, id: &str, command: Option<&str>) -> GateRule {
        let own = GateRule { id: id.into(), blocker: true, ..self.context.preset.rule(gate_id::TESTS).unwrap() };
        let rule = self.context.preset.rule(id).unwrap_or(own);
        GateRule { command: command.map(Into::into), timeout_ms: 20_000, ..rule }
    }

    pub(super) async fn ask(&self, rule: &GateRule, at: &str, on: &str) -> Outcome {
        let boundary: Boundary = at.parse().unwrap();
        let transition: Transition = on.parse().unwrap();
        evaluate(rule, boundary, transition, &self.context).await
    }

    /// Asks a gate where it usually stands first, and gives verdict and reason.
    pub(super) async fn said(&self, id: &str, command: Option<&str>) -> String {
        said(&self.outcome(id, command).await)
    }

    pub(super) async fn outcome(&self, id: &str, command: Option<&str>) -> Outcome {
        let rule = self.rule(id, command);
        let boundary = rule.at[0];
        let on = Transition::ALL.into_iter().find(|step| step.boundaries().contains(&boundary)).unwrap();
        evaluate(&rule, boundary, on, &self.context).await
    }

    pub(super) fn criterion(&mut self, command: &str) -> &mut Self {
        let id = format!("ac-{}", self.context.criteria.len() + 1);
        self.context.criteria.push(Criterion { id, command: command.into() });
        self
    }

    pub(super) fn reviewer(&mut self, model: &str, scenario: &str) {
        let scenario = Arc::new(Scenario::parse(scenario).unwrap());
        let provider = Arc::new(Scripted::new("scripted", scenario));
        self.context.reviewer = Some(Reviewer { provider, model: model.into(), max_output_tokens: 1000, price: None });
    }

    pub(super) fn earlier(&mut self, gate_id: &str, score: Option<u64>) {
        self.context.earlier.push(Earlier { gate_id: gate_id.into(), score, ..Earlier::default() });
    }
}

pub(super) fn said(outcome: &Outcome) -> String {
    format!("{} {}", outcome.verdict, outcome.reason)
}

pub(super) fn git(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(directory: &Path) {
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "--message", "a step"]);
}
