//! The server of this home: one at a time, found by a file.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use r1_protocol::api::Health;
use r1_runtime::Home;
use reqwest::{Client, Method, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::CliError;

/// Where a server is, as it says itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Discovery {
    pub(crate) pid: u32,
    pub(crate) instance_id: String,
    pub(crate) version: String,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    /// Whether TLS is spoken there.
    pub(crate) tls: bool,
    pub(crate) sock_path: Option<String>,
    pub(crate) token: String,
    pub(crate) started_at: String,
}

impl Discovery {
    pub(crate) fn path(home: &Home) -> PathBuf {
        home.path().join("daemon.json")
    }

    /// Says where we are, to this user alone.
    pub(crate) fn publish(&self, home: &Home) -> Result<(), CliError> {
        let path = Self::path(home);
        let write = || -> io::Result<()> {
            // Temporary files are their owner's alone (0600), and stay so under their new name.
            let mut file = tempfile::NamedTempFile::new_in(home.path())?;
            serde_json::to_writer(&mut file, self)?;
            writeln!(file)?;
            file.persist(&path).map(drop).map_err(|err| err.error)
        };
        write().map_err(|err| CliError::new(format!("cannot write {}", path.display())).because(err))
    }

    /// What the file says; `None` if there is none.
    pub(crate) fn read(home: &Home) -> Result<Option<Self>, CliError> {
        let path = Self::path(home);
        let failed = |err| CliError::new(format!("cannot read {}", path.display())).because(err);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(failed(err)),
        };
        only_ours(&path).map_err(failed)?;
        serde_json::from_str(&text).map(Some).map_err(|err| failed(err.into()))
    }

    /// The address in a browser's form, if there is a port.
    pub(crate) fn url(&self) -> Option<String> {
        let (host, port) = (self.host.as_ref()?, self.port?);
        Some(format!("{}://{host}:{port}", if self.tls { "https" } else { "http" }))
    }
}

/// A file that others can read may have been written by others.
fn only_ours(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(&fs::metadata(path)?) & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can read it; remove it"));
    }
    Ok(())
}

/// Keeps a second server away from a home, for as long as it lives.
#[derive(Debug)]
pub(crate) struct HomeLock {
    _file: File,
}

impl HomeLock {
    pub(crate) fn take(home: &Home) -> Result<Self, CliError> {
        let path = home.path().join("serve.lock");
        let failed = |err: io::Error| CliError::new(format!("cannot lock {}", path.display())).because(err);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(CliError::new(format!("a server of {} is running already", home.path().display()))
                    .hint("see it with `r1 ctl info`, or serve another home with `--home DIR`"))
            }
            Err(TryLockError::Error(err)) => Err(failed(err)),
        }
    }
}

/// A server that answers.
pub(crate) struct Daemon {
    pub(crate) at: Discovery,
    client: Client,
    base: String,
}

impl Daemon {
    /// Finds the server of a home, and makes sure that it is the one whose file was found.
    pub(crate) async fn find(home: &Home) -> Result<Self, CliError> {
        let none = || {
            CliError::new(format!("no server of {} answers", home.path().display()))
                .hint("start one with `r1 serve`")
                .no_daemon()
        };
        let at = Discovery::read(home)?.ok_or_else(none)?;
        let (client, base) = connection(&at).map_err(|err| none().because(err))?;
        let daemon = Self { at, client, base };
        let health = daemon.client.get(format!("{}/v1/health", daemon.base)).send().await;
        let health = health.and_then(Response::error_for_status).map_err(|err| none().because(err))?;
        let health: Health = health.json().await.map_err(|err| none().because(err))?;
        if health.instance_id != daemon.at.instance_id {
            return Err(none().hint("what answers there is another server; start ours with `r1 serve`"));
        }
        Ok(daemon)
    }

    /// Asks for something; what is refused is told in the server's own words.
    pub(crate) async fn ask(&self, method: Method, path: &str) -> Result<Value, CliError> {
        let request = self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.at.token);
        let unheard = |err: reqwest::Error| CliError::new("the server did not answer").because(err);
        let response = request.send().await.map_err(unheard)?;
        let refused = !response.status().is_success();
        let body: Value = response.json().await.map_err(unheard)?;
        if refused {
            let error = &body["error"];
            let message = error["message"].as_str().unwrap_or("the server refused");
            let error_text = CliError::new(message.to_owned());
            return Err(match error["hint"].as_str() {
                Some(hint) => error_text.hint(hint),
                None => error_text,
            });
        }
        Ok(body["data"].clone())
    }
}

/// By the port if there is one, else by the socket.
fn connection(at: &Discovery) -> Result<(Client, String), reqwest::Error> {
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(15));
    match (at.url(), &at.sock_path) {
        (Some(url), _) if !at.tls => Ok((client.build()?, url)),
        #[cfg(unix)]
        (_, Some(path)) => Ok((client.unix_socket(path.as_str()).build()?, "http://localhost".into())),
        (url, _) => Ok((client.build()?, url.unwrap_or_default())),
    }
}
