//! A real browser, told over a pipe what to do.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use super::sse::PATIENCE;

/// A browser without a window, with a profile of its own.
pub(crate) struct Browser {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    count: u64,
    session: Option<String>,
    _process: Child,
    _profile: TempDir,
}

impl Browser {
    /// Starts it with one empty page.
    pub(crate) async fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // It listens at file descriptor 3 and answers at 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null";
        let mut process = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--disable-background-networking", "--no-proxy-server"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut browser = Self { to, from, count: 0, session: None, _process: process, _profile: profile };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await;
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach).await;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        browser
    }

    /// Goes to a page and waits until it is there.
    pub(crate) async fn go(&mut self, url: &str) {
        let went = self.call("Page.navigate", json!({ "url": url })).await;
        assert_eq!(went.get("errorText"), None, "{url}: {went}");
        self.until("document.readyState", |state| state == "complete").await;
    }

    /// Runs a script in the page.
    pub(crate) async fn run(&mut self, script: &str) -> Value {
        let result = self.call("Runtime.evaluate", json!({ "expression": script, "returnByValue": true })).await;
        assert_eq!(result.get("exceptionDetails"), None, "{result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression gives what is wanted.
    pub(crate) async fn until(&mut self, expression: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let found = timeout(PATIENCE, async {
            loop {
                last = self.run(expression).await;
                if wanted(&last) {
                    return last.clone();
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
        found.await.unwrap_or_else(|_| panic!("`{expression}` did not become what it should"))
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.count += 1;
        let mut message = json!({ "id": self.count, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).await.unwrap();
        loop {
            let mut answer = Vec::new();
            let read = timeout(PATIENCE, self.from.read_until(0, &mut answer)).await.expect("the browser is silent");
            assert!(read.unwrap() > 0, "the browser is gone");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.count {
                assert_eq!(answer.get("error"), None, "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }
}
