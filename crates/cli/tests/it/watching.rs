//! A run in sight of somebody, who may look away or interrupt it.

use std::fs::{self, File};
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use crate::support::Sandbox;
use crate::terminal::{CTRL_C, Terminal};

const ARGS: [&str; 4] = ["run", "count", "--scenario", "scenario.yaml"];

/// An agent that counts, a word every so many milliseconds.
fn counting(delay_ms: u64) -> Sandbox {
    let sandbox = Sandbox::new();
    let text = (1..=40).map(|number| format!("number-{number}")).collect::<Vec<_>>().join(" ");
    let scenario = format!("turns: [{{ text: {text}, chunk_chars: 10, delay_ms: {delay_ms} }}]");
    fs::write(sandbox.path("scenario.yaml"), scenario).unwrap();
    sandbox
}

/// Starts it, reads until it speaks, and looks away.
fn seen_for_a_while(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut screen, mut shown) = (child.stdout.take().unwrap(), Vec::new());
    while !String::from_utf8_lossy(&shown).contains("number-1") {
        let mut new = [0; 256];
        let count = screen.read(&mut new).unwrap();
        assert!(count > 0, "it ended before it said anything");
        shown.extend(&new[..count]);
    }
    child
}

#[test]
fn a_reader_of_the_text_that_goes_away_cancels_the_run_unless_it_is_detached() {
    let sandbox = counting(200);
    let output = seen_for_a_while(sandbox.command().args(ARGS)).wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(141), "{said}");
    assert!(said.contains("the output goes nowhere any more: the run is cancelled"), "{said}");
    let lines = sandbox.ok(&["tail", "last", "--output-format", "stream-json"]);
    assert!(lines.contains(r#""reason":"stdout_closed""#), "{lines}");

    let sandbox = counting(10);
    let output = seen_for_a_while(sandbox.command().args(ARGS).args(["--output-format", "text", "--detach"]))
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = sandbox.ok(&["tail", "last", "--output-format", "stream-json"]);
    assert!(lines.contains(r#""subtype":"success""#), "{lines}");
}

#[test]
#[cfg(target_os = "linux")]
fn text_and_results_that_find_no_room_are_told_and_are_no_closed_pipe() {
    let sandbox = counting(1);
    for format in ["text", "json"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = sandbox.command().args(ARGS).args(["--output-format", format]).stdout(full).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot write the output") && said.contains("No space left"), "{said}");
    }
}

#[test]
fn a_result_that_nobody_reads_is_no_success() {
    let sandbox = counting(1);
    let mut command = sandbox.command();
    command.args(ARGS).arg("--json");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert!(sandbox.ok(&["log", "show", "last"]).contains("run.finished"), "the run itself is complete");
}

#[test]
fn what_is_said_of_ctrl_c_stands_on_a_line_of_its_own() {
    let sandbox = counting(200);
    let mut terminal = Terminal::start(&sandbox, &ARGS);
    terminal.until("number-1");
    terminal.press(CTRL_C);
    let before = terminal.until("stopping the run in order");
    assert!(before.ends_with("\n! ") || before.ends_with("\n\u{1b}[33m!\u{1b}[0m "), "{before:?}");
    assert_eq!(terminal.finish().1, 130);
}
