//! A home of its own for each test, and logs to put there.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use r1_event::cbor::Value;
use r1_event::exchange::{Encoder, Format, Item};
use r1_event::payload::{
    AssistantMessageCompleted, Payload, Raw, RunCompleted, RunStarted, ToolCallCompleted, ToolCallScheduled,
    TurnStarted, Typed, UserMessageAppended,
};
use r1_event::{Batch, Chain, Record, UnixNanos};
use serde_json::Value as Json;
use tempfile::TempDir;

pub(crate) const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
pub(crate) const OTHER_RUN: &str = "run_01K0E8N2AB4T7V2W5X8Y1Z3A6C";
pub(crate) const SECRET: &str = "sk-live-7f3e9a51c0ffee";
const START: i64 = 1_777_000_000_000_000_000;

/// A directory with an `R1_HOME`, gone when the test ends.
pub(crate) struct Sandbox {
    directory: TempDir,
}

/// How a call of `r1` ended.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn command(&self) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_r1"))
    }

    /// Another program, in the same place and with the same environment.
    pub(crate) fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path());
        command.env_clear().env("R1_HOME", self.home()).env("TZ", "UTC").env("USER", "tester");
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn r1(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.command().args(args).output().unwrap())
    }

    /// Calls `r1` where programs can be found.
    pub(crate) fn r1_in_world(&self, args: &[&str]) -> Outcome {
        let mut command = self.command();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        Outcome::of(command.args(args).output().unwrap())
    }

    /// Calls `r1`, which must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let Outcome { code, stdout, stderr } = self.r1(args);
        assert_eq!(code, 0, "r1 {args:?}\n{stdout}\n{stderr}");
        stdout
    }

    pub(crate) fn json(&self, args: &[&str]) -> Json {
        let stdout = self.ok(args);
        serde_json::from_str(&stdout).unwrap_or_else(|err| panic!("{err}: {stdout}"))
    }

    /// Calls `r1`, which must end with this code and still print JSON.
    pub(crate) fn json_of(&self, code: i32, args: &[&str]) -> Json {
        let outcome = self.r1(args);
        assert_eq!(outcome.code, code, "r1 {args:?}\n{}\n{}", outcome.stdout, outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    /// Writes a log to a file.
    pub(crate) fn file(&self, name: &str, format: Format, records: &[Record]) -> PathBuf {
        let (mut encoder, mut bytes) = (Encoder::new(format), Vec::new());
        records.iter().for_each(|record| encoder.item(&Item::Event(record.clone()), &mut bytes));
        encoder.finish(&mut bytes);
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Puts a log into the store.
    pub(crate) fn import(&self, records: &[Record]) {
        let path = self.file("import.cborseq", Format::Cborseq, records);
        self.ok(&["log", "import", text(&path)]);
        fs::remove_file(path).unwrap();
    }

    /// Everything in the home, and whether any of it has these bytes.
    pub(crate) fn home_contains(&self, needle: &str) -> bool {
        // A socket holds nothing.
        files(&self.home()).iter().filter(|path| path.is_file()).any(|path| {
            let bytes = fs::read(path).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
        })
    }
}

impl Outcome {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The call failed with this code, and said so.
    pub(crate) fn fails(&self, code: i32, message: &str) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        assert!(self.stderr.contains(message), "`{message}` is not in:\n{}", self.stderr);
        self
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Every file below a directory.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

pub(crate) fn append_bytes(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

pub(crate) fn typed(type_name: &str, data: Value) -> Payload {
    Payload::Typed(Typed { r#type: type_name.into(), data: Raw::from(&data), ..Typed::default() })
}

/// One turn with one tool call that prints a secret, and the end.
pub(crate) fn payloads() -> Vec<Payload> {
    let args = Value::object([("command", Value::text("cat .env"))]);
    vec![
        Payload::RunStarted(Box::new(RunStarted { goal: "find the leak".into(), ..RunStarted::default() })),
        Payload::UserMessageAppended(UserMessageAppended { content: "please look".into(), ..Default::default() }),
        Payload::TurnStarted(TurnStarted { turn_id: "T1".into(), ..TurnStarted::default() }),
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "T1".into(),
            text: "I look at the environment.".into(),
            stop_reason: "tool_use".into(),
            ..Default::default()
        })),
        Payload::ToolCallScheduled(ToolCallScheduled {
            call_id: "call_1".into(),
            turn_id: "T1".into(),
            tool: "shell".into(),
            args: Raw::from(&args),
            attempt: 1,
            ..Default::default()
        }),
        Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: "call_1".into(),
            result: Raw::from(&Value::text(format!("KEY={SECRET}"))),
            duration_ms: 12,
            attempt: 1,
            ..Default::default()
        }),
        typed("gate.decision", Value::object([("verdict", Value::text("allow"))])),
        Payload::RunCompleted(RunCompleted { final_text: "found it".into(), turn_count: 1, ..RunCompleted::default() }),
    ]
}

/// A log of these payloads, one second apart.
pub(crate) fn log_of(run: &str, payloads: Vec<Payload>) -> Vec<Record> {
    let mut batch = Batch::new(&Chain::new(run.parse().unwrap()));
    for (payload, seconds) in payloads.into_iter().zip(0..) {
        batch.push(UnixNanos(START + seconds * 1_000_000_000), payload).unwrap();
    }
    batch.records().to_vec()
}

/// The whole run.
pub(crate) fn finished(run: &str) -> Vec<Record> {
    log_of(run, payloads())
}

/// The run before its end.
pub(crate) fn open(run: &str) -> Vec<Record> {
    log_of(run, payloads().into_iter().take(6).collect())
}
