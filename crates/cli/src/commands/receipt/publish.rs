//! Receipts in the forms that tools of others check.

use std::path::PathBuf;

use r1_runtime::control::receipt::{Created, Export, ExportedFile, Publisher};
use r1_runtime::keys::LogKey;

use crate::context::Context;
use crate::error::CliError;
use crate::output;

/// The keys for statements and notes; those that are missing are made, and told.
pub(in crate::commands) fn publisher(context: &Context) -> Result<Publisher, CliError> {
    let (publisher, made) = Publisher::find_or_make(&context.home, context.now())?;
    tell_of_new(made);
    Ok(publisher)
}

/// The key that signs for logs; if there is none, one is made, and told.
pub(in crate::commands) fn log_key(context: &Context) -> Result<LogKey, CliError> {
    let (key, made) = LogKey::find_or_make(&context.home, context.now())?;
    tell_of_new(made);
    Ok(key)
}

fn tell_of_new(made: impl IntoIterator<Item = PathBuf>) {
    for path in made {
        output::note(&format!("made a new key in {}; `r1 key list` says what it is for", path.display()));
    }
}

/// Sees a receipt into the log of this installation; gives the files of the exports that were asked for.
///
/// Unless exports are asked for, this is done only where there are keys for it, and a failure is told, no more.
pub(super) fn publish(context: &Context, created: &Created, exports: &[Export]) -> Result<Vec<ExportedFile>, CliError> {
    if exports.is_empty() {
        let done = Publisher::find(&context.home, context.now()).map_err(CliError::from);
        let done = done.and_then(|found| {
            found.map(|publisher| publisher.publish(&created.signed.bytes).map(drop)).transpose().map_err(Into::into)
        });
        if let Err(err) = done {
            output::print_error(&err);
        }
        return Ok(Vec::new());
    }
    let run = created.report.run.as_ref().ok_or_else(|| CliError::new("the receipt names no run"))?;
    Ok(publisher(context)?.publish(&created.signed.bytes)?.files(exports, run)?)
}
