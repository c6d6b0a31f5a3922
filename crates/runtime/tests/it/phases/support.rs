//! Presets and people of these tests.

use std::path::Path;

use r1_protocol::data::{Actor, ActorKind, Via};
use r1_runtime::gate::Preset;

pub(super) fn preset(yaml: &str) -> Preset {
    Preset::parse(Path::new("gates.yaml"), yaml.as_bytes()).unwrap()
}

pub(super) fn any_operator() -> Actor {
    Actor { kind: ActorKind::Operator, id: Some("ada".into()), via: Some(Via::Cli), ..Actor::default() }
}
