//! The commands against a real daemon, in a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::approval::wanted;
use crate::support::Sandbox;

/// `r1 serve`, ended with the test.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command: Command = sandbox.command();
        command.env("PATH", std::env::var_os("PATH").unwrap()).stdout(Stdio::piped());
        let mut child = command.args(["serve", "--addr", "127.0.0.1:0", "--no-unix", "--json"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line:?}"));
        Self { child, url: started["url"].as_str().unwrap().to_owned() }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a daemon asks, once it asks something.
fn question(sandbox: &Sandbox, url: &str) -> Value {
    loop {
        let listed = sandbox.json(&["approve", "--url", url, "--json"]);
        if let Some(approval) = listed["approvals"].get(0) {
            return approval.clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemons_run_is_listed_approved_and_followed_to_its_end() {
    let sandbox = Sandbox::new();
    let (run, engine) = wanted(&sandbox).await;
    engine.store().close().await.unwrap();
    tokio::task::block_in_place(|| {
        let daemon = Serving::start(&sandbox);
        let url = daemon.url.as_str();
        let approval = question(&sandbox, url);
        assert_eq!(approval["run_id"], run.as_str());
        let shown = sandbox.ok(&["approve", "--url", url]);
        assert!(shown.contains("┃ -hello") && shown.contains("┃ +goodbye"), "the diff is shown: {shown}");
        let listed = sandbox.json(&["runs", "--url", url, "--json"]);
        assert_eq!(
            (&listed["runs"][0]["id"], &listed["runs"][0]["status"]),
            (&run.as_str().into(), &"awaiting_approval".into())
        );

        let id = approval["approval_id"].as_str().unwrap();
        let answered = sandbox.json(&["approve", &id[..20], "--url", url, "--json"]);
        assert_eq!(answered["decision"], "approved");
        let followed = sandbox.ok(&["tail", "last", "--url", url, "--json"]);
        let followed: Vec<Value> = followed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(followed.last().unwrap()["type"], "run.finished");
        let here = sandbox.ok(&["log", "show", run.as_str(), "--json"]);
        let here: Vec<Value> = here.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids = |events: &[Value]| events.iter().map(|event| event["event_id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&followed), ids(&here), "each event once, in order");
        assert_eq!(fs::read_to_string(sandbox.path("project/note.txt")).unwrap(), "goodbye\n");

        sandbox.r1(&["approve", &id[..20], "--url", url]).fails(2, "no pending request matches");
        let ended = sandbox.r1(&["cancel", "last", "--url", url]);
        assert!(ended.code == 0 && ended.stderr.contains("had ended already"), "{}", ended.stderr);
        sandbox.r1(&["send", "last", "more", "--url", url]).fails(2, "");
        let other = sandbox.path("other-token");
        fs::write(&other, format!("r1t_{}", "x".repeat(43))).unwrap();
        let tail = ["tail", "last", "--url", url, "--token-file", other.to_str().unwrap()];
        sandbox.r1(&tail).fails(2, "does not know this token");
    });
}
