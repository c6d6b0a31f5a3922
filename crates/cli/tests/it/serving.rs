//! `r1 serve` and `r1 ctl`: one server per home, found, used and ended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{RUN, Sandbox, finished};

/// A server of a sandbox's home.
pub(crate) struct Serving {
    child: Child,
    /// Kept, so that the server can still write.
    _stdout: BufReader<ChildStdout>,
    pub(crate) said: Value,
}

impl Serving {
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command();
        command.args(["serve", "--addr", "127.0.0.1:0", "--json"]).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line}"));
        Self { child, _stdout: stdout, said }
    }

    pub(crate) fn url(&self) -> &str {
        self.said["url"].as_str().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn wait(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Serving {
    /// Gone without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and body of a GET with this token.
pub(crate) fn get(url: &str, path: &str, token: &str) -> (u16, String) {
    ask(url, "GET", path, token, "")
}

/// The status and body of a POST of JSON with this token.
pub(crate) fn post(url: &str, path: &str, token: &str, body: &Value) -> (u16, String) {
    ask(url, "POST", path, token, &body.to_string())
}

fn ask(url: &str, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
    let address = url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    // HTTP/1.0: the body is not sent in pieces.
    write!(
        socket,
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_server_says_where_it_is_and_shows_its_token_once() {
    let sandbox = Sandbox::new();
    let first = Serving::start(&sandbox, &[]);
    let token = first.said["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("r1t_"));
    assert_eq!(std::fs::read_to_string(sandbox.home().join("token")).unwrap().trim(), token);
    assert_eq!(get(first.url(), "/hecate/v1/runs", &token).0, 200);
    assert_eq!(get(first.url(), "/hecate/v1/runs", "r1t_wrong").0, 401);
    for private in ["token", "daemon.json", "r1.sock"] {
        assert_eq!(mode(&sandbox.home().join(private)), 0o600, "{private}");
    }
    assert_eq!(mode(&sandbox.home()), 0o700);
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), 0);
    for gone in ["daemon.json", "r1.sock"] {
        assert!(!sandbox.home().join(gone).exists(), "{gone}");
    }
    let second = Serving::start(&sandbox, &[]);
    assert_eq!(second.said["token"], Value::Null, "not shown again");
    assert_eq!(get(second.url(), "/hecate/v1/runs", &token).0, 200, "the same as ever");
}

#[test]
fn a_receipt_over_http_is_the_one_that_the_command_makes() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["key", "new", "--not-before", "2026-01-01T00:00:00Z"]);
    sandbox.import(&finished(RUN));
    let serving = Serving::start(&sandbox, &[]);
    let token = serving.said["token"].as_str().unwrap();
    let (status, bytes) = get(serving.url(), &format!("/hecate/v1/runs/{RUN}/receipt"), token);
    assert_eq!(status, 200, "{bytes}");
    sandbox.ok(&["receipt", "create", RUN, "-o", "made.json"]);
    assert_eq!(bytes, std::fs::read_to_string(sandbox.path("made.json")).unwrap());
}

#[test]
fn a_home_has_one_server() {
    let sandbox = Sandbox::new();
    let _serving = Serving::start(&sandbox, &[]);
    sandbox.r1(&["serve", "--addr", "127.0.0.1:0"]).fails(2, "is running already");
}

#[test]
fn ep_29_a_server_listens_on_loopback_alone_unless_told_otherwise() {
    let sandbox = Sandbox::new();
    sandbox.r1(&["serve", "--addr", "0.0.0.0:0"]).fails(2, "needs TLS or a proxy");
    sandbox.r1(&["serve", "--addr", "[::]:0"]).fails(2, "needs TLS or a proxy");
    let serving = Serving::start(&sandbox, &[]);
    let port: u16 = serving.url().rsplit(':').next().unwrap().parse().unwrap();
    let open = |file: &str| std::fs::read_to_string(format!("/proc/{}/net/{file}", serving.child.id())).unwrap();
    // Address and port in hexadecimal, state 0A: listening.
    let listening = format!("{}{}", open("tcp"), open("tcp6"));
    let ours: Vec<_> =
        listening.lines().filter(|line| line.contains(&format!(":{port:04X} ")) && line.contains(" 0A ")).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].contains(&format!(" 0100007F:{port:04X} ")), "{ours:?}");
}

#[test]
fn a_server_is_found_looked_at_and_ended() {
    let sandbox = Sandbox::new();
    sandbox.r1(&["ctl", "info"]).fails(3, "no server");
    sandbox.r1(&["ctl", "discover"]).fails(3, "no server");
    let serving = Serving::start(&sandbox, &["--workers", "3"]);
    assert_eq!(sandbox.json(&["ctl", "discover", "--json"])["url"], serving.said["url"]);
    let info = sandbox.json(&["ctl", "info", "--json"]);
    assert_eq!((&info["daemon"]["pid"], &info["health"]["workers"]["slots"]), (&serving.said["pid"], &3.into()));
    assert!(sandbox.ok(&["ctl", "info"]).contains("0 of 3 busy"));
    let login = sandbox.ok(&["ctl", "open", "--print"]);
    let path = login.trim().strip_prefix(serving.url()).unwrap();
    assert!(path.starts_with("/login?ticket=r1k_"), "{login}");
    sandbox.r1(&["ctl", "shutdown"]);
    assert_eq!(serving.wait(), 0);
    sandbox.r1(&["ctl", "info"]).fails(3, "no server");
}

#[test]
fn a_file_that_others_wrote_or_a_dead_server_left_is_not_believed() {
    let sandbox = Sandbox::new();
    let mut serving = Serving::start(&sandbox, &[]);
    let file = sandbox.home().join("daemon.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    sandbox.r1(&["ctl", "info"]).fails(2, "cannot read");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(serving.said["instance_id"].as_str().unwrap(), "r1-ffffffff")).unwrap();
    sandbox.r1(&["ctl", "info"]).fails(3, "no server");
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    sandbox.r1(&["ctl", "info"]).fails(3, "no server");
    // What it left behind does not keep the next one from starting.
    Serving::start(&sandbox, &[]);
}

#[test]
fn tokens_are_made_listed_revoked_and_replaced() {
    let sandbox = Sandbox::new();
    let serving = Serving::start(&sandbox, &["--no-unix"]);
    let reader = sandbox.ok(&["ctl", "token", "create", "--name", "reader", "--ttl", "30d"]);
    assert_eq!(get(serving.url(), "/hecate/v1/runs", reader.trim()).0, 200);
    assert_eq!(get(serving.url(), "/v1/daemon", reader.trim()).0, 403);
    sandbox.r1(&["ctl", "token", "create", "--name", "reader"]).fails(2, "named `reader` already");
    let listed = sandbox.json(&["ctl", "token", "list", "--json"]);
    assert_eq!((&listed["name"], &listed["grant"]), (&"reader".into(), &"read".into()));
    assert!(!listed.to_string().contains(reader.trim()) && !sandbox.home_contains(reader.trim()));
    sandbox.ok(&["ctl", "token", "revoke", "reader"]);
    assert_eq!(get(serving.url(), "/hecate/v1/runs", reader.trim()).0, 401);
    sandbox.r1(&["ctl", "token", "revoke", "reader"]).fails(2, "there is no token");

    let old = serving.said["token"].as_str().unwrap();
    let new = sandbox.ok(&["ctl", "token", "rotate"]);
    assert_eq!(get(serving.url(), "/hecate/v1/runs", old).0, 401, "refused at once");
    assert_eq!(get(serving.url(), "/hecate/v1/runs", new.trim()).0, 200);
    sandbox.ok(&["ctl", "info"]);
}

#[test]
fn a_token_can_be_given_by_the_environment() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.env("R1_TOKEN", "short").args(["serve", "--addr", "127.0.0.1:0"]);
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("at least 32 visible"), "{output:?}");
}

#[test]
fn without_tcp_the_socket_is_enough() {
    let sandbox = Sandbox::new();
    sandbox.r1(&["serve", "--no-tcp", "--no-unix"]).fails(2, "nobody could reach it");
    let serving = Serving::start(&sandbox, &["--no-tcp"]);
    assert_eq!(serving.said["url"], Value::Null);
    assert!(sandbox.ok(&["ctl", "info"]).contains("r1.sock"));
}
