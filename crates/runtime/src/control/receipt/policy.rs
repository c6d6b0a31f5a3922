//! The gates that a verifier demands, as a preset places them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use r1_receipt::GatePolicy;
use serde::Deserialize;

/// Where each gate stands unless a preset says otherwise.
const PLACES: &[(&str, &[&str])] = &[
    ("policy", &["PLAN.entry", "EXECUTE.entry", "VERIFY.entry", "COMMIT.entry"]),
    ("scope", &["PLAN.exit", "EXECUTE.exit", "COMMIT.exit"]),
    ("syntax", &["EXECUTE.exit"]),
    ("build", &["EXECUTE.exit"]),
    ("secrets", &["EXECUTE.exit", "COMMIT.entry"]),
    ("tests", &["VERIFY.exit"]),
    ("lint", &["VERIFY.exit"]),
    ("review", &["VERIFY.exit"]),
    ("composite", &["VERIFY.exit"]),
];

/// The gates of every preset that comes with R1; they differ in thresholds only.
const BUILT_IN: &[&str] = &["policy", "scope", "syntax", "secrets", "tests", "lint", "review", "composite"];

/// As much of a preset as says which gates stand where.
#[derive(Deserialize)]
struct Preset {
    composite: Option<serde_json::Value>,
    gates: Vec<Gate>,
}

#[derive(Deserialize)]
struct Gate {
    id: String,
    at: Option<Vec<String>>,
}

/// Reads the gates of a preset: `default`, `strict`, `fast`, or a file.
pub fn gate_policy(name: &str) -> Result<GatePolicy, PolicyError> {
    let mut policy = GatePolicy::default();
    if ["default", "strict", "fast"].contains(&name) {
        BUILT_IN.iter().for_each(|gate| demand(&mut policy, gate, None));
        return Ok(policy);
    }
    let path = Path::new(name).to_owned();
    let text = fs::read_to_string(&path).map_err(|source| PolicyError::Io { path: path.clone(), source })?;
    let preset: Preset = serde_saphyr::from_str(&text)
        .map_err(|err| PolicyError::Malformed { path: path.clone(), why: err.to_string() })?;
    for Gate { id, at } in &preset.gates {
        if at.is_none() && !PLACES.iter().any(|(known, _)| known == id) {
            let why = format!("the gate `{id}` is none of the built-in ones and says no place (`at`)");
            return Err(PolicyError::Malformed { path, why });
        }
        demand(&mut policy, id, at.as_deref());
    }
    if preset.composite.is_some() {
        demand(&mut policy, "composite", None);
    }
    Ok(policy)
}

fn demand(policy: &mut GatePolicy, gate: &str, at: Option<&[String]>) {
    match at {
        Some(places) => places.iter().for_each(|place| policy.demand(place, gate)),
        None => {
            let usual = PLACES.iter().filter(|(known, _)| *known == gate).flat_map(|(_, places)| *places);
            usual.for_each(|place| policy.demand(*place, gate));
        }
    }
}

/// A preset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read the gates of {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no preset.
    #[error("{} is no preset of gates: {why}", path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}
