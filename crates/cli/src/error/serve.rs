//! Failures of the server.

use r1_server::access::{OperatorTokenError, TokenError};
use r1_server::listen::{ListenError, TlsError};

use super::{CliError, worded};

impl From<OperatorTokenError> for CliError {
    fn from(err: OperatorTokenError) -> Self {
        match err {
            OperatorTokenError::NoRandomness(err) => err.into(),
            err @ (OperatorTokenError::Io { .. }
            | OperatorTokenError::Unfit { .. }
            | OperatorTokenError::Open { .. }) => worded(err),
        }
    }
}

impl From<TokenError> for CliError {
    fn from(err: TokenError) -> Self {
        match err {
            TokenError::Store(err) => err.into(),
            TokenError::NoRandomness(err) => err.into(),
            err @ TokenError::NameTaken { .. } => worded(err).hint("see them with `r1 ctl token list`"),
            err @ TokenError::BadName => worded(err),
        }
    }
}

impl From<ListenError> for CliError {
    fn from(err: ListenError) -> Self {
        let hint = match &err {
            ListenError::Exposed { .. } => {
                "give `--tls-cert` and `--tls-key`, or `--behind-proxy` if a proxy does that; or use 127.0.0.1"
            }
            ListenError::Tcp { .. } => "see who uses it, or take any free port with `--addr 127.0.0.1:0`",
            ListenError::Unix { .. } => "go without it: `--no-unix`",
            ListenError::Tls(TlsError::Pem { .. } | TlsError::Empty { .. } | TlsError::Refused(_)) => {
                "both files must be PEM: the certificate with those that vouch for it, and its private key"
            }
        };
        worded(err).hint(hint)
    }
}
