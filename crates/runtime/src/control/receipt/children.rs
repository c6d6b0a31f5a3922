//! The receipts of child runs, found through their parent's.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use r1_receipt::verify::ChildRun;
use r1_receipt::{Options, Reason, Receipt, Report, Verdict, verify};

use super::{file_name, read_file};

/// A child run that a receipt names, and what became of looking for its receipt.
#[derive(Clone, Debug)]
pub struct Child {
    /// The run.
    pub run_id: String,
    /// The file, if it was found.
    pub path: Option<PathBuf>,
    /// What its receipt comes to, as the parent names it.
    pub verdict: Verdict,
    /// Place of the parent's event in the parent's receipt.
    pub event_index: usize,
}

/// Checks the receipts of all child runs, and of theirs, in `directory`.
///
/// Each is looked for by the name that `r1 receipt create` gives it, and must be the very receipt and the very
/// log that its parent names: another log is `log_mismatch`, another receipt of the same log `graph_mismatch`.
#[must_use]
pub fn check_children(report: &Report, directory: &Path, options: &Options<'_>) -> Vec<Child> {
    let mut children = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<ChildRun> = report.children.iter().rev().cloned().collect();
    while let Some(child) = open.pop() {
        // A run cannot be its own ancestor, but a forged receipt may say so.
        if !seen.insert(child.run_id.clone()) {
            continue;
        }
        let path = directory.join(file_name(&child.run_id));
        let (path, verdict) = match read_file(&path) {
            Err(_) => (None, Verdict::of(Some(Reason::Io))),
            Ok(bytes) => {
                let own = verify(&bytes, &Options { log: None, ..*options });
                open.extend(own.children.iter().rev().cloned());
                (Some(path), compare(&child, &own, &bytes))
            }
        };
        children.push(Child { run_id: child.run_id, path, verdict, event_index: child.event_index });
    }
    children
}

fn compare(child: &ChildRun, own: &Report, bytes: &[u8]) -> Verdict {
    let (Some(run), Ok(receipt)) = (&own.run, Receipt::read(bytes)) else { return own.verdict() };
    let names = (child.run_id.as_str(), child.size, child.root_blake3.as_str(), child.root_sha256.as_str());
    if names != (&run.run_id, run.size, &run.root_blake3, &run.root_sha256) {
        return Verdict::of(Some(Reason::LogMismatch));
    }
    match &child.receipt_digest {
        Some(digest) if *digest != receipt.digest().to_string() => Verdict::of(Some(Reason::GraphMismatch)),
        Some(_) | None => own.verdict(),
    }
}
