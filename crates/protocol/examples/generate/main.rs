//! Writes the files that are made from the protocol's tables.
//!
//! ```text
//! cargo run -p r1-protocol --example generate              write them
//! cargo run -p r1-protocol --example generate -- --check   fail if they are not what would be written
//! ```

mod tree;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => tree::write(),
        ["--check"] => return check(),
        _ => {
            eprintln!("usage: generate [--check]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> ExitCode {
    let stale = tree::stale();
    for path in &stale {
        eprintln!("{path} is not what would be written today");
    }
    if stale.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("write them with `cargo run -p r1-protocol --example generate`");
    ExitCode::FAILURE
}
