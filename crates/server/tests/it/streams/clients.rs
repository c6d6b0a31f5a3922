//! Clients that others wrote.

use std::path::PathBuf;

use serde_json::json;
use tokio::process::Command;

use super::browser::Browser;
use super::desk::Desk;
use super::places::Place;
use super::proxy::Proxy;
use super::sse::PATIENCE;
use crate::support::{HOST, Server, TOKEN, json_of};

/// The program, if this machine has it.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        eprintln!("skipped: none of {names:?} is installed");
    }
    found
}

/// `curl -N` in a loop, as a script has it: it comes back with the last id that it saw whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_follows_a_run_over_a_bad_line() {
    if program(&["curl"]).is_none() {
        return;
    }
    let place = Place::sqlite();
    let store = place.open().await;
    let mut desk = Desk::new(&store).await;
    let server = Server::on(store.clone()).await;
    let proxy = Proxy::start(&server.url).await;
    let path = desk.path();
    let writer = tokio::spawn(async move {
        for _ in 0..40 {
            desk.chatter_at_once(3).await;
        }
        desk.finish().await;
        desk.len()
    });
    let (mut seen, mut last) = (Vec::new(), None::<String>);
    for connection in 0.. {
        assert!(connection < 1_000, "it gets nowhere");
        let mut curl = Command::new("curl");
        curl.args(["-sN", "--max-time", "60", "-H", "Accept: text/event-stream", "-H", &format!("Host: {HOST}")]);
        curl.args(["-H", &format!("Authorization: Bearer {TOKEN}"), "-w", "\n%{http_code}"]);
        if let Some(id) = &last {
            curl.args(["-H", &format!("Last-Event-ID: {id}")]);
        }
        let output = curl.arg(format!("{}{path}", proxy.url)).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap();
        if status == "204" {
            break;
        }
        // What does not end in an empty line was cut.
        let mut blocks: Vec<&str> = body.split("\n\n").collect();
        blocks.pop();
        for block in blocks {
            let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            last = line("id: ").map(str::to_owned).or(last);
            seen.extend(line("data: ").map(str::to_owned));
        }
    }
    let events = writer.await.unwrap();
    let lines = server.get(&format!("{path}?format=ndjson")).await.text().await.unwrap();
    assert_eq!(seen, lines.lines().collect::<Vec<_>>());
    assert_eq!(seen.len() as u64, events);
}

/// Runs where `R1_TEST_PYTHON` names a Python that has what `tools/requirements.txt` lists; `./test python` does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_client_follows_a_run_over_a_bad_line() {
    let Some(python) = std::env::var_os("R1_TEST_PYTHON") else {
        eprintln!("skipped: R1_TEST_PYTHON is not set");
        return;
    };
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    let (run, path) = (desk.run.to_string(), desk.path());
    // Two breaks are enough: it waits for two seconds after each, as it is told to.
    let proxy = Proxy::with_cuts(&server.url, [3_000, 9_000]).await;
    let writer = tokio::spawn(async move {
        for _ in 0..40 {
            desk.chatter_at_once(2).await;
        }
        desk.finish().await;
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/follow_run.py");
    let mut client = Command::new(python);
    client.arg(script).args([&proxy.url, &run, "--host", HOST]).env("R1_TOKEN", TOKEN).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, client.output()).await.expect("it does not end").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    writer.await.unwrap();
    let lines = server.get(&format!("{path}?format=ndjson")).await.text().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), lines);
}

/// The page that a browser opens: it follows the run and says in its title what it heard.
const PAGE: &str = r#"
    const heard = [];
    let opened = 0;
    const source = new EventSource(location.hash.slice(1));
    source.onopen = () => { opened += 1; };
    source.onmessage = (event) => {
        const envelope = JSON.parse(event.data);
        if (String(envelope.sequence) !== event.lastEventId) { document.title = "wrong id"; }
        heard.push(envelope.sequence);
    };
    source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) {
            document.title = "closed " + opened + " " + heard.join(",");
        }
    };
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_10_a_browsers_event_source_follows_a_run_to_its_end_and_stops() {
    let Some(chromium) = program(&["chromium", "chromium-browser", "google-chrome"]) else { return };
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    desk.chatter(5).await;
    let ticket = json_of(server.post("/v1/tickets", &json!({})).await, 200).await;
    let mut browser = Browser::start(&chromium).await;
    browser.go(&format!("{}{}", server.url, ticket["data"]["login"].as_str().unwrap())).await;
    // A page of the server's own origin; the cookie is all that the browser has.
    browser.go(&format!("{}/healthz#{}", server.url, desk.path())).await;
    browser.run(PAGE).await;
    desk.chatter(20).await;
    desk.finish().await;
    let heard = browser.until("document.title", |title| title.as_str() != Some("")).await;
    let heard = heard.as_str().unwrap();
    let Some((opened, sequences)) = heard.strip_prefix("closed ").and_then(|rest| rest.split_once(' ')) else {
        panic!("the page says: {heard}")
    };
    let all: Vec<String> = (0..desk.len()).map(|sequence| sequence.to_string()).collect();
    assert_eq!(sequences, all.join(","), "each event once, with its id, of known and unknown types");
    assert_eq!(opened, "1", "it came back once, and was told that there is no more");
}
