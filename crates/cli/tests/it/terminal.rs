//! `r1` at a terminal, and somebody who types.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::support::Sandbox;

/// What a terminal makes of these keys is up to the terminal.
pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";

/// A terminal with one command in it.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    /// What is on the screen since somebody last waited for something there.
    shown: Vec<u8>,
}

impl Terminal {
    /// Calls `r1`, as a person would.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        // Makes a terminal for the command and joins it to the pipes, so what is typed goes through the terminal.
        let mut command = sandbox.command_of("script");
        command.args(["--quiet", "--flush", "--return", "--command"]);
        command.arg(format!("exec \"$R1\" {}", args.join(" "))).arg("/dev/null");
        command.env("R1", env!("CARGO_BIN_EXE_r1")).env("PATH", std::env::var_os("PATH").unwrap());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, keys, screen, shown: Vec::new() }
    }

    /// Waits until the screen shows this. Gives what was shown before it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.windows(text.len()).position(|window| window == text.as_bytes()) {
                let rest = self.shown.split_off(at + text.len());
                let mut before = std::mem::replace(&mut self.shown, rest);
                before.truncate(at);
                return readable(&before);
            }
            assert!(self.look(), "it ended without `{text}`:\n{}", readable(&self.shown));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line, with Enter.
    pub(crate) fn enter(&mut self, line: &str) {
        self.press(&format!("{line}\r"));
    }

    /// The rest of what is shown, and the exit code.
    pub(crate) fn finish(mut self) -> (String, i32) {
        while self.look() {}
        (readable(&self.shown), self.child.wait().unwrap().code().unwrap())
    }

    /// Reads what is new on the screen; false when nothing more can come.
    fn look(&mut self) -> bool {
        let mut new = [0; 4096];
        let count = self.screen.read(&mut new).unwrap();
        self.shown.extend(&new[..count]);
        count > 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A terminal ends lines in its own way.
fn readable(shown: &[u8]) -> String {
    String::from_utf8_lossy(shown).replace('\r', "")
}
