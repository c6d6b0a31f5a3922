//! `r1 run --output-format stream-json`, as the program that started it meets it.

mod aborts;
mod answers;
mod ends;
mod followed;
mod gates;
mod nodes;
mod pressure;
mod public_reader;
mod same;
mod traces;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::Sandbox;

pub(crate) const READS: &str = "
turns:
  - thinking: I should look.
    text: I look.
    chunk_chars: 3
    tool_calls: [{ tool: file_read, input: { path: note.txt } }]
    usage: { input_tokens: 100, output_tokens: 10 }
    cost_micros_usd: 1500
  - text: It says hello.
";

/// Runs a program that does not end before somebody kills it.
pub(crate) const WAITS: &str = "
turns:
  - text: I look.
    tool_calls: [{ tool: file_read, input: { path: note.txt } }]
  - text: I wait.
    tool_calls: [{ tool: shell, input: { command: touch begun; sleep 3600 } }]
  - text: It says hello.
";

/// Waits until that program runs.
pub(crate) fn until_it_waits(sandbox: &Sandbox) {
    while !sandbox.path("project/begun").exists() {
        std::thread::yield_now();
    }
}

/// A project with three files, and a scenario.
pub(crate) fn project(scenario: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("project")).unwrap();
    for name in ["note.txt", "a.txt", "b.txt", "c.txt"] {
        fs::write(sandbox.path("project").join(name), "hello\n").unwrap();
    }
    fs::write(sandbox.path("scenario.yaml"), scenario).unwrap();
    sandbox
}

pub(crate) fn command(sandbox: &Sandbox, more: &[&str]) -> Command {
    let mut command = sandbox.command();
    command.args(["run", "-C", "project", "--scenario", "scenario.yaml", "--output-format", "stream-json"]);
    command.args(more);
    // Gates run programs.
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

/// The lines of a run without anybody at its standard input, and its exit code.
pub(crate) fn lines(sandbox: &Sandbox, more: &[&str]) -> (Vec<Value>, i32) {
    let output = command(sandbox, &[&["look"], more].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output.status.code().unwrap())
}

/// A run that a program steers.
pub(crate) struct Steered {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Steered {
    pub(crate) fn start(sandbox: &Sandbox, more: &[&str]) -> Self {
        Self::of(command(sandbox, &[&["--input-format", "stream-json"], more].concat()))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), output, child }
    }

    pub(crate) fn say(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn message(&mut self, text: &str) {
        self.say(&json!({ "type": "user", "message": { "role": "user", "content": text } }));
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.output.read_line(&mut line).unwrap() > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The next line that fits; the others are passed over.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.next().unwrap_or_else(|| panic!("the stream ended"));
            if fits(&line) {
                return line;
            }
        }
    }

    pub(crate) fn of_type(&mut self, name: &str) -> Value {
        self.until(|line| line["type"] == name)
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    pub(crate) fn stop_reading(self) -> Child {
        self.child
    }

    /// The exit code; nothing more is read.
    pub(crate) fn wait(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }

    /// The rest of the lines, and the exit code.
    pub(crate) fn finish(mut self) -> (Vec<Value>, i32) {
        let mut lines = Vec::new();
        while let Some(line) = self.next() {
            lines.push(line);
        }
        (lines, self.child.wait().unwrap().code().unwrap())
    }
}
