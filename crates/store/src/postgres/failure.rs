//! What an error of the driver means for whoever asked.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::{Obstacle, OpenError, Source, StoreError};

/// A store error for what the driver says.
pub(super) fn failed(err: Error) -> StoreError {
    if is_lost(&err) { unavailable(err) } else { backend(err) }
}

/// Something may be wrong that trying again does not mend.
pub(super) fn backend(source: impl Into<Source>) -> StoreError {
    StoreError::Backend { backend: "postgres", source: source.into() }
}

/// It may work later.
pub(super) fn unavailable(source: impl Into<Source>) -> StoreError {
    StoreError::Unavailable { backend: "postgres", source: source.into() }
}

/// Whether the connection is gone or could not be made, as opposed to a statement that was refused.
pub(super) fn is_lost(err: &Error) -> bool {
    if let Some(code) = err.code() {
        return ends_connection(code);
    }
    let io = err.source().and_then(|source| source.downcast_ref::<io::Error>());
    match io {
        // What could not be encoded or decoded is no better on another connection.
        Some(io) => !matches!(io.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData),
        None => err.is_closed(),
    }
}

/// Whether the server says with this code that it takes no connection now, or has ended ours; another one may work.
fn ends_connection(code: &SqlState) -> bool {
    const ENDING: [&str; 7] = [
        "25P03", // a transaction stood idle for too long
        "25P04", // a transaction took too long
        "53300", // too many connections
        "57P01", // the server shuts down, or somebody ended the session
        "57P02", // another session crashed
        "57P03", // the server starts, or shuts down
        "57P05", // a session stood idle for too long
    ];
    // Class 08: connections.
    code.code().starts_with("08") || ENDING.contains(&code.code())
}

/// Whether others held a lock for longer than it is waited for.
pub(super) fn is_locked_out(err: &Error) -> bool {
    err.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Whether a statement was cancelled.
pub(super) fn is_cancelled(err: &Error) -> bool {
    err.code() == Some(&SqlState::QUERY_CANCELED)
}

/// An error and its causes, in one line.
pub(super) fn in_full(err: &dyn std::error::Error) -> String {
    let (mut said, mut below) = (err.to_string(), err.source());
    while let Some(cause) = below {
        said = format!("{said}: {cause}");
        below = cause.source();
    }
    said
}

/// A store that could not be opened.
pub(super) fn unreachable(location: &str, err: Error) -> OpenError {
    OpenError::Unreachable { location: location.to_owned(), obstacle: obstacle(&err), source: err.into() }
}

fn obstacle(err: &Error) -> Obstacle {
    if let Some(said) = err.as_db_error() {
        return refusal(said.code(), said.message());
    }
    let Some(source) = err.source() else { return Obstacle::NoAnswer };
    match source.downcast_ref::<io::Error>() {
        Some(err) => way(err),
        // The driver has no type for this one.
        None if source.to_string().contains("password missing") => Obstacle::PasswordMissing,
        None => Obstacle::Other,
    }
}

/// Why the server sends us away.
fn refusal(code: &SqlState, message: &str) -> Obstacle {
    match code.code() {
        "28P01" => Obstacle::PasswordWrong,
        // One code for all that `pg_hba.conf` refuses; newer servers say which.
        "28000" if ["no encryption", "SSL off"].iter().any(|said| message.contains(said)) => Obstacle::WantsTls,
        "08P01" if message.contains("SSL required") => Obstacle::WantsTls,
        "28000" => Obstacle::NotAdmitted,
        "3D000" => Obstacle::NoDatabase,
        "42501" => Obstacle::NotAllowed,
        "55P03" => Obstacle::NoAnswer,
        _ if ends_connection(code) => Obstacle::NoAnswer,
        _ => Obstacle::Other,
    }
}

/// Why no connection comes about.
fn way(err: &io::Error) -> Obstacle {
    match err.kind() {
        // Of a socket that is a file, too.
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Obstacle::NobodyListens,
        // Looking a name up is no call of the system, so its failure has no number.
        _ if err.raw_os_error().is_none() && err.to_string().contains("lookup") => Obstacle::UnknownHost,
        _ => Obstacle::NoAnswer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_a_connection_is_waited_for_and_one_that_refuses_a_statement_is_not() {
        for ending in ["08000", "08006", "08P01", "25P03", "25P04", "53300", "57P01", "57P02", "57P03", "57P05"] {
            assert!(ends_connection(&SqlState::from_code(ending)), "{ending}");
        }
        // A dropped database does not come back; what was refused or cancelled would be so again.
        for lasting in ["57P04", "57014", "28P01", "3D000", "23505", "40001", "42P01", "53100", "55P03", "XX000"] {
            assert!(!ends_connection(&SqlState::from_code(lasting)), "{lasting}");
        }
    }

    #[test]
    fn each_refusal_is_told_by_what_is_to_be_done() {
        let refusals = [
            ("28P01", "password authentication failed for user \"ann\"", Obstacle::PasswordWrong),
            ("28000", "no pg_hba.conf entry for host \"10.0.0.1\", user \"ann\", no encryption", Obstacle::WantsTls),
            ("28000", "no pg_hba.conf entry for host \"10.0.0.1\", user \"ann\", SSL off", Obstacle::WantsTls),
            ("28000", "role \"ann\" does not exist", Obstacle::NotAdmitted),
            ("3D000", "database \"logs\" does not exist", Obstacle::NoDatabase),
            ("42501", "permission denied for schema r1", Obstacle::NotAllowed),
            ("57P03", "the database system is starting up", Obstacle::NoAnswer),
            ("22012", "division by zero", Obstacle::Other),
        ];
        for (code, message, expected) in refusals {
            assert_eq!(refusal(&SqlState::from_code(code), message), expected, "{code} {message}");
        }
        let lookup = io::Error::other("failed to lookup address information: Name or service not known");
        assert_eq!(way(&lookup), Obstacle::UnknownHost);
        assert_eq!(way(&io::ErrorKind::ConnectionRefused.into()), Obstacle::NobodyListens);
        assert_eq!(way(&io::ErrorKind::TimedOut.into()), Obstacle::NoAnswer);
    }
}
