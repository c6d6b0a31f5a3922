//! Help, completions, and how errors and verdicts read.

use r1_event::exchange::Format;

use crate::support::{RUN, Sandbox, finished, open, text};

const COMMANDS: [&[&str]; 66] = [
    &[],
    &["demo"],
    &["init"],
    &["run"],
    &["approve"],
    &["send"],
    &["cancel"],
    &["resume"],
    &["retry"],
    &["fork"],
    &["replay"],
    &["diff"],
    &["patch"],
    &["patch", "list"],
    &["patch", "show"],
    &["patch", "apply"],
    &["patch", "reject"],
    &["patch", "revert"],
    &["gate"],
    &["gate", "init"],
    &["gate", "show"],
    &["gate", "run"],
    &["gate", "override"],
    &["runs"],
    &["tail"],
    &["log"],
    &["log", "validate"],
    &["log", "show"],
    &["log", "export"],
    &["log", "import"],
    &["log", "proof"],
    &["log", "checkpoint"],
    &["receipt"],
    &["receipt", "create"],
    &["receipt", "verify"],
    &["receipt", "show"],
    &["receipt", "tiles"],
    &["key"],
    &["key", "new"],
    &["key", "list"],
    &["key", "show"],
    &["key", "export"],
    &["key", "import"],
    &["key", "revoke"],
    &["memory"],
    &["memory", "list"],
    &["memory", "get"],
    &["memory", "set"],
    &["memory", "rm"],
    &["memory", "history"],
    &["skill"],
    &["skill", "new"],
    &["prune"],
    &["redact"],
    &["serve"],
    &["ctl"],
    &["ctl", "discover"],
    &["ctl", "info"],
    &["ctl", "token"],
    &["ctl", "token", "create"],
    &["ctl", "token", "list"],
    &["ctl", "token", "revoke"],
    &["ctl", "token", "rotate"],
    &["ctl", "open"],
    &["ctl", "shutdown"],
    &["doctor"],
];

#[test]
fn every_command_explains_itself() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let name = format!("help_{}", command.join("_"));
        insta::assert_snapshot!(name, sandbox.ok(&[command, &["--help"][..]].concat()));
    }
}

#[test]
fn every_command_but_the_groups_gives_an_example() {
    let sandbox = Sandbox::new();
    for command in COMMANDS.iter().filter(|command| {
        !matches!(
            command,
            [] | ["log"]
                | ["patch"]
                | ["gate"]
                | ["receipt"]
                | ["key"]
                | ["memory"]
                | ["skill"]
                | ["ctl"]
                | ["ctl", "token"]
        )
    }) {
        let help = sandbox.ok(&[command, &["--help"][..]].concat());
        let (_, examples) = help.split_once("Examples:").unwrap_or_else(|| panic!("{command:?} gives no example"));
        // A longer one is broken by the usual terminal, and cannot be pasted.
        for example in examples.lines().skip(1).take_while(|line| !line.is_empty()) {
            assert!(example.chars().count() <= 80, "{command:?}: {example}");
        }
    }
}

#[test]
fn completions_exist_for_the_common_shells() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.ok(&["completions", shell]).contains("checkpoint"), "{shell}");
    }
}

#[test]
fn verdicts_and_errors_read_well() {
    let sandbox = Sandbox::new();
    let mut records = finished(RUN);
    records.swap(3, 4);
    let corrupt = sandbox.file("corrupt.cborseq", Format::Cborseq, &records);
    let good = sandbox.file("good.cborseq", Format::Cborseq, &finished(RUN));
    let going = sandbox.file("open.cborseq", Format::Cborseq, &open(RUN));
    insta::assert_snapshot!("verdict_good", sandbox.ok(&["log", "validate", text(&good)]));
    insta::assert_snapshot!("verdict_open", sandbox.r1(&["log", "validate", text(&going)]).stdout);
    insta::assert_snapshot!("verdict_corrupt", sandbox.r1(&["log", "validate", text(&corrupt)]).stdout);
    sandbox.ok(&["log", "import", text(&good)]);
    insta::assert_snapshot!("error_no_run", sandbox.r1(&["log", "show", "nothing"]).stderr);
    insta::assert_snapshot!("error_not_a_log", {
        std::fs::write(sandbox.path("x.json"), "{\"a\":1}").unwrap();
        sandbox.r1(&["log", "show", "x.json"]).stderr
    });
}

#[test]
fn colour_is_for_terminals_only() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    for args in [&["runs"][..], &["log", "show", "last"], &["log", "validate", "last"], &["doctor"]] {
        assert!(!sandbox.r1(args).stdout.contains('\x1b'), "{args:?}");
    }
}
