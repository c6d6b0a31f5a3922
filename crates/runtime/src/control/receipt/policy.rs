//! The gates that a verifier demands, as a preset places them.

use std::path::Path;

use r1_receipt::GatePolicy;

use crate::gate::{Preset, PresetError};

/// The gates of the verifier's own preset: `default`, `strict`, `fast`, a name in the project's `.stoke/gates.d/`, or
/// a file.
pub fn gate_policy(project: &Path, choice: &str) -> Result<GatePolicy, PresetError> {
    let mut policy = GatePolicy::default();
    for rule in Preset::load(project, Some(choice))?.rules() {
        rule.at.iter().for_each(|boundary| policy.demand(boundary.to_string(), rule.id.clone()));
    }
    Ok(policy)
}
