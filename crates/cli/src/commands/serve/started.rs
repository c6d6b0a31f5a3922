//! What a server says when it is there.

use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use crate::daemon::Discovery;
use crate::error::CliError;
use crate::output::{self, BOLD, DIM};

/// Where it is, and how to come in.
pub(super) struct Started<'a> {
    pub(super) at: &'a Discovery,
    pub(super) token_file: Option<&'a Path>,
    /// Whether the token is new: then it is shown, once.
    pub(super) minted: bool,
}

impl Started<'_> {
    pub(super) fn print(&self, json: bool) -> Result<(), CliError> {
        if json {
            return output::print_json(&json!({
                "url": self.at.url(),
                "sock_path": self.at.sock_path,
                "pid": self.at.pid,
                "instance_id": self.at.instance_id,
                "version": self.at.version,
                "token_file": self.token_file,
                "token": self.minted.then_some(&self.at.token),
            }));
        }
        let mut out = output::stdout();
        if let Some(url) = self.at.url() {
            writeln!(out, "r1 listens on {BOLD}{url}{BOLD:#}")?;
        }
        if let Some(path) = &self.at.sock_path {
            writeln!(out, "          and on {path}")?;
        }
        match self.token_file {
            None => writeln!(out, "the token is the one in R1_TOKEN")?,
            Some(path) => writeln!(out, "the token is in {}", path.display())?,
        }
        if self.minted {
            writeln!(out, "it is new, and shown this once: {}", self.at.token)?;
        }
        writeln!(out, "{DIM}`r1 ctl open` opens the browser; Ctrl-C ends the server{DIM:#}")?;
        Ok(out.flush()?)
    }
}
