//! One server process, and the doors that clients know.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::line::Line;

const TOKEN: &str = "r1t_Y2x1c3Rlci10ZXN0LXRva2VuLW9mLXRoZS1ub2Rlcy4";

pub(crate) struct Node {
    home: PathBuf,
    store: String,
    pub(crate) line: Line,
    child: Child,
    door: Door,
}

/// Where a node is now. It moves when the node is started again.
#[derive(Clone)]
pub(crate) struct Door {
    url: Arc<Mutex<String>>,
    client: reqwest::Client,
}

pub(crate) fn doors(nodes: &[Node]) -> Vec<Door> {
    nodes.iter().map(|node| node.door.clone()).collect()
}

impl Door {
    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(self.to(path)).bearer_auth(TOKEN)
    }

    pub(crate) fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.post(self.to(path)).bearer_auth(TOKEN)
    }

    fn to(&self, path: &str) -> String {
        format!("{}{path}", self.url.lock().unwrap())
    }
}

impl Node {
    /// A node with a home of its own, and a line of its own to the database of `store`.
    pub(crate) async fn start(place: &Path, number: usize, store: &str) -> Self {
        let home = place.join(format!("home-{number}"));
        fs::create_dir_all(&home).unwrap();
        let scenario = place.join("scenario.yaml");
        let config = format!("[providers.script]\nwire = \"scripted\"\nscenario = {:?}\n", scenario.to_str().unwrap());
        fs::write(home.join("config.toml"), config).unwrap();
        let database = store.split_once('@').and_then(|(_, rest)| rest.split_once('/')).unwrap().0;
        let line = Line::to(database.to_owned()).await;
        let store = store.replacen(database, &line.address.to_string(), 1);
        let (child, url) = serve(&home, &store).await;
        let door = Door { url: Arc::new(Mutex::new(url)), client: reqwest::Client::new() };
        Self { home, store, line, child, door }
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.start_kill().unwrap();
    }

    pub(crate) async fn start_again(&mut self) {
        self.child.wait().await.unwrap();
        let (child, url) = serve(&self.home, &self.store).await;
        self.child = child;
        *self.door.url.lock().unwrap() = url;
    }

    /// Calls `r1` in the home of this node.
    pub(crate) fn r1(&self, args: &[&str]) -> String {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_r1"))
            .args(args)
            .env("R1_HOME", &self.home)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Starts a server and waits until it says where it is.
async fn serve(home: &Path, store: &str) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_r1"));
    command.args(["serve", "--addr", "127.0.0.1:0", "--no-unix", "--json", "--store", store]);
    command.env("R1_HOME", home).env("R1_TOKEN", TOKEN).current_dir(home);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.next_line().await.unwrap().unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    (child, said["url"].as_str().unwrap().to_owned())
}
