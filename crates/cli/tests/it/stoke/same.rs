//! One run, the same lines wherever they are asked for.

use super::{READS, command, project};
use crate::support::Sandbox;

const FLAGS: [&[&str]; 3] = [
    &[],
    &["--include-partial-messages", "--replay-user-messages"],
    &["--include-partial-messages", "--include-thinking", "--replay-user-messages", "--events", "all"],
];

fn of_log(sandbox: &Sandbox, args: &[&str], flags: &[&str]) -> String {
    sandbox.ok(&[args, flags].concat())
}

#[test]
fn stoke_02_live_afterwards_and_exported_a_run_has_the_same_lines() {
    for flags in FLAGS {
        let sandbox = project(READS);
        let output = command(&sandbox, &[&["look"], flags].concat()).output().unwrap();
        let live = String::from_utf8(output.stdout).unwrap();
        let (live, last) = live.trim_end().rsplit_once('\n').unwrap();
        assert!(last.contains(r#""type":"complete""#), "{last}");
        let live = format!("{live}\n");
        let tail = ["tail", "last", "--output-format", "stream-json"];
        assert_eq!(of_log(&sandbox, &tail, flags), live);
        assert_eq!(of_log(&sandbox, &[&tail[..], &["--follow"]].concat(), flags), live);
        assert_eq!(of_log(&sandbox, &["log", "export", "last", "--format", "stoke"], flags), live);
        sandbox.ok(&["log", "export", "last", "-o", "run.cborseq"]);
        assert_eq!(of_log(&sandbox, &["log", "export", "run.cborseq", "--format", "stoke"], flags), live);
        let later = of_log(&sandbox, &[&tail[..], &["--after-seq", "3"]].concat(), flags);
        assert!(live.ends_with(&later) && later.len() < live.len(), "{later}");
    }
}

#[test]
fn more_lines_are_refused_where_no_lines_are_printed() {
    let sandbox = project(READS);
    let args = ["run", "look", "-C", "project", "--scenario", "scenario.yaml"];
    sandbox.r1(&[&args[..], &["--include-thinking"]].concat()).fails(2, "where lines are printed");
    sandbox.r1(&[&args[..], &["--json"]].concat());
    sandbox.r1(&["tail", "last", "--events", "all"]).fails(2, "where lines are printed");
    sandbox.r1(&["log", "export", "last", "--events", "all"]).fails(2, "where lines are printed");
}
