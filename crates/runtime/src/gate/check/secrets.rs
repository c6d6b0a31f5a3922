//! Is there a secret in what is new?

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::{Found, Question};
use crate::gate::outcome::Reason;
use crate::gate::tree::Added;

/// Findings that are known and meant: a hash at the beginning of each line, the rest is for people.
const ALLOWED: &str = ".stoke/secrets.allow";

/// Stands for the path of what is in the message.
const MESSAGE: &str = "commit message";

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    let context = question.context;
    let allowed = allowed(&context.workspace)?;
    let mut added = question.tree.added().await?;
    if let Some(message) = &context.commit_message {
        added.push(Added { path: MESSAGE.into(), line: 1, text: message.clone().into_bytes() });
    }
    let (mut found, mut known) = (Vec::new(), Vec::new());
    for Added { path, line, text } in &added {
        for finding in context.redactor.findings(text) {
            let hash = finding_hash(path, text.get(finding.place.clone()).unwrap_or_default());
            let before = text.get(..finding.place.start).unwrap_or_default();
            let line = line + before.iter().filter(|byte| **byte == b'\n').count();
            let entry = format!("{hash}  {path}:{line} ({})\n", finding.detector);
            if allowed.contains(&hash) { known.push(entry) } else { found.push(entry) }
        }
    }
    let mut evidence = format!("{} findings, {} allowed by {ALLOWED}\n", found.len(), known.len());
    evidence.extend(found.iter().map(String::as_str));
    evidence.extend(known.iter().map(|entry| format!("allowed: {entry}")));
    Ok(Found::score(if found.is_empty() { 1000 } else { 0 }, Reason::Finding, evidence))
}

/// Names a finding without showing it: the same secret at another place is another finding.
fn finding_hash(path: &str, secret: &[u8]) -> String {
    let hash = Sha256::new().chain_update(path.as_bytes()).chain_update([0]).chain_update(secret).finalize();
    r1_event::id::to_hex(&hash)
}

fn allowed(workspace: &Path) -> Result<BTreeSet<String>, String> {
    match fs::read_to_string(workspace.join(ALLOWED)) {
        Ok(text) => Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(err) => Err(format!("cannot read {ALLOWED}: {err}")),
    }
}
