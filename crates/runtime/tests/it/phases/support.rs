//! Tasks, presets and people of these tests.

use std::path::Path;

use r1_event::{Payload, RunId};
use r1_protocol::data::{Actor, ActorKind, EventData, Via};
use r1_receipt::key::SecretKey;
use r1_runtime::Keyring;
use r1_runtime::agent::command::{Command, Decision, Resolution, Scope};
use r1_runtime::agent::{PhasePlan, RunState};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::NewRun;
use r1_runtime::control::receipt::{Created, Request, create};
use r1_runtime::gate::Preset;
use r1_runtime::source::Progress;
use serde_json::Value;

use crate::engine::stage::Stage;

/// A gate at each border that says yes, and those of a test.
pub(crate) fn with_gates(own: &str) -> Preset {
    preset(&format!(
        "preset: test\ncomposite: {{ threshold: 0.5 }}\ngates:\n  - {{ id: always, threshold: 1, blocker: true, \
         command: 'true', at: [PLAN.entry, PLAN.exit, EXECUTE.entry, EXECUTE.exit, VERIFY.entry, VERIFY.exit, \
         COMMIT.entry, COMMIT.exit] }}\n{own}"
    ))
}

pub(super) fn preset(yaml: &str) -> Preset {
    Preset::parse(Path::new("gates.yaml"), yaml.as_bytes()).unwrap()
}

/// A task that goes through phases.
pub(crate) fn phased(stage: &Stage, preset: Preset, scenario: &str) -> NewRun {
    let mut new = stage.new_run(scenario);
    new.spec.phases =
        Some(PhasePlan { preset, reviewer: None, criteria: Vec::new(), is_git: false, commits_own_changes: true });
    new
}

pub(super) fn any_operator() -> Actor {
    Actor { kind: ActorKind::Operator, id: Some("ada".into()), via: Some(Via::Cli), ..Actor::default() }
}

pub(super) fn operator() -> Caller {
    Caller::new(any_operator())
}

pub(super) fn answer(approval_id: &str, decision: Decision, comment: &str, edited_input: Option<Value>) -> Command {
    Command::Resolve(Resolution {
        approval_id: approval_id.into(),
        decision,
        comment: comment.into(),
        scope: Scope::Once,
        subject_hash: None,
        edited_input,
    })
}

/// The first request that waits.
pub(super) async fn pending(stage: &Stage, run: &RunId) -> String {
    stage.until(run, "approval.requested").await;
    let state = stage.state(run).await;
    let (id, _) = state.approvals().next().expect("an approval is pending");
    id.to_owned()
}

/// All events of a type.
pub(super) async fn events<T: EventData>(stage: &Stage, run: &RunId) -> Vec<T> {
    let records = stage.records(run).await;
    let read = |record| match RunState::read(record).unwrap().1 {
        Payload::Typed(typed) => T::read(&typed),
        _ => None,
    };
    records.iter().filter_map(read).collect()
}

pub(super) async fn receipt(stage: &Stage, run: &RunId) -> Created {
    let key = SecretKey::from_seed([7; 32]);
    create(&stage.store, &Request::whole(run.clone()), &key, &Keyring::default(), Progress::default()).await.unwrap()
}
