//! Files that are not what a patch starts from.

use r1_runtime::patch::{Conflict, HunkFit, PathConflict};
use r1_runtime::workspace::Revision;
use serde_json::{Value, json};

use crate::error::CliError;

/// What stands in the way, file by file, and what can be done about it.
pub(super) fn error(conflict: &Conflict, allowed_offset: bool) -> CliError {
    let told: Vec<_> = conflict.paths.iter().map(told).collect();
    let could_move = conflict.paths.iter().all(|path| !path.hunks.is_empty() && path.hunks.iter().all(fits));
    let hint = if could_move && !allowed_offset {
        "every hunk still has exactly one place: `--allow-offset` puts them there"
    } else {
        "undo what came later first: `r1 patch list RUN` shows what the run itself changed"
    };
    CliError::new("the patch does not fit; nothing was changed").because(told.join("\n")).hint(hint).failed()
}

pub(super) fn as_json(conflict: &Conflict) -> Value {
    let path = |path: &PathConflict| {
        let hunk = |fit: &HunkFit| json!({ "hunk": fit.hunk, "places": fit.places, "fits": fits(fit) });
        json!({
            "path": path.path.to_string(),
            "expected": path.expected.map(|revision| revision.to_string()),
            "actual": path.actual.map(|revision| revision.to_string()),
            "hunks": path.hunks.iter().map(hunk).collect::<Vec<_>>(),
        })
    };
    json!({ "paths": conflict.paths.iter().map(path).collect::<Vec<_>>() })
}

fn told(path: &PathConflict) -> String {
    let mut told = format!("{}: expected {}, found {}", path.path, short(path.expected), short(path.actual));
    for fit in &path.hunks {
        let places = match fit.places {
            0 => "fits nowhere".to_owned(),
            1 => "would still fit".to_owned(),
            places => format!("fits in {places} places"),
        };
        told.push_str(&format!("\n  hunk {} {places}", fit.hunk));
    }
    told
}

const fn fits(fit: &HunkFit) -> bool {
    fit.places == 1
}

/// Enough of a revision to tell it from others.
fn short(revision: Option<Revision>) -> String {
    revision.map_or_else(|| "no file".into(), |revision| revision.to_string().chars().take(19).collect())
}
