//! What bridges tell and wizards decide: events that are checked before they are stored, and chained in receipts.

use std::collections::HashMap;

use r1_event::payload::Payload;
use r1_event::{RunId, Seq};
use r1_protocol::api::ExternalEvent;
use r1_protocol::data::{Actor, ActorKind, ArtifactCreated, BeaconEvent, EventData, Object, SkillAuthoringDecision};
use r1_receipt::{Graph, Node, NodeType};
use r1_runtime::agent::RunState;
use r1_runtime::control::caller::{Caller, Role};
use r1_runtime::control::receipt::{Request, create};
use r1_runtime::control::task::TaskError;
use r1_runtime::control::{beacon, skill, task};
use r1_runtime::skill::{Given, Wizard};
use r1_runtime::source::Progress;
use r1_store::PageLimit;
use serde_json::{Value, json};

use crate::engine::stage::Stage;

pub(crate) const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

pub(crate) fn bridge() -> Caller {
    let actor = Actor { kind: ActorKind::System, id: Some("bridge-1".into()), ..Actor::default() };
    Caller { role: Role::Bridge, ..Caller::new(actor) }
}

/// One event of each kind; `command_event` stands for the command that a result answers.
fn every_kind(command_event: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("registered", json!({ "public_key_hash": HASH })),
        ("claimed", json!({ "challenge_hash": HASH, "sas_verified": true })),
        ("device_attached", json!({ "label": "phone", "device_kind": "mobile" })),
        ("device_revoked", json!({ "reason": "lost" })),
        ("session_opened", json!({ "session_ref": "s1", "token_id": "t1" })),
        ("session_closed", json!({ "session_ref": "s1", "reason": "done" })),
        (
            "token_issued",
            json!({
                "token_id": "t1", "subject_operator_id": "op2", "permissions": ["run", "read"],
                "constitution_hash": HASH, "expires_at": "1777000000000000000",
            }),
        ),
        ("token_used", json!({ "token_id": "t1", "permission": "run" })),
        ("token_revoked", json!({ "token_id": "t1", "reason": "over" })),
        ("delegate_created", json!({ "parent_token_id": "t1", "child_token_id": "t2" })),
        ("command", json!({ "session_ref": "s1", "command_kind": "start", "payload_hash": HASH })),
        ("command_result", json!({ "command_event": command_event, "status": "ok", "result_hash": HASH })),
        ("federation_handshake", json!({ "origin_hub_id": "h1", "peer_hub_id": "h2", "session_ref": "s1" })),
        ("advisory_signed", json!({ "hub_id": "h1", "advisory_hash": HASH })),
        (
            "trust_signal",
            json!({ "issuer_hub_id": "h1", "signal_kind": "vouch", "nonce_hash": HASH, "verdict": "good" }),
        ),
        ("attested", json!({ "build_hash": HASH, "constitution_hash": HASH, "ledger_root_hash": HASH })),
    ]
}

pub(crate) fn event(kind: &str, detail: &Value) -> ExternalEvent {
    let data = json!({
        "kind": kind, "beacon_id": "b1", "operator_id": "op1", "device_id": "d1",
        "chain": [HASH, HASH], "detail": detail,
    });
    ExternalEvent { type_name: BeaconEvent::TYPE.into(), data: object(data) }
}

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

pub(crate) async fn typed<E: EventData>(stage: &Stage, run: &RunId) -> Vec<E> {
    let records = stage.records(run).await;
    let read = |record| match RunState::read(record).unwrap().1 {
        Payload::Typed(typed) => E::read(&typed),
        _ => None,
    };
    records.iter().filter_map(read).collect()
}

pub(crate) async fn nodes(stage: &Stage, run: &RunId) -> Vec<Node> {
    let mut graph = Graph::default();
    let records = stage.records(run).await;
    records.iter().flat_map(|record| graph.push(record).nodes).collect()
}

#[tokio::test]
async fn stoke_16_a_bridge_tells_nothing_that_no_receipt_could_hold() {
    let stage = Stage::new();
    let long = |bytes: usize| "b".repeat(bytes);
    let with = |key: &str, value: Value| {
        let mut told = event("session_opened", &json!({ "session_ref": "s1", "token_id": "t1" }));
        match key.strip_prefix("detail/") {
            Some(key) => told.data["detail"][key] = value,
            None => drop(told.data.insert(key.to_owned(), value)),
        }
        told
    };
    let digests: Vec<_> = std::iter::repeat_n(HASH, 16_000).collect();
    for (key, value) in [
        ("beacon_id", json!(long((64 << 10) + 1))),
        ("detail/session_ref", json!(long((64 << 10) + 1))),
        ("chain", json!(digests)),
    ] {
        let refused = beacon::tell(&stage.engine, with(key, value), &bridge()).await;
        let Err(TaskError::Invalid(details)) = refused else { panic!("{key}: {refused:?}") };
        assert_eq!(details[0].path, format!("/data/{key}"), "{details:?}");
    }
    let told = beacon::tell(&stage.engine, with("beacon_id", json!(long(64 << 10))), &bridge()).await.unwrap();
    receipt(&stage, &told.run_id.parse().unwrap()).await;
}

/// The receipt of what there is of a run: it can be made, and verifies.
async fn receipt(stage: &Stage, run: &RunId) {
    let key = r1_receipt::key::SecretKey::from_seed([7; 32]);
    let (request, keyring) = (Request { partial: true, ..Request::whole(run.clone()) }, r1_runtime::Keyring::default());
    create(&stage.store, &request, &key, &keyring, Progress::default()).await.unwrap();
}

#[tokio::test]
async fn stoke_27_beacon_events_of_every_kind_come_back_as_they_were_told() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{ text: done }]")).await;
    let caller = bridge();
    let mut told = HashMap::new();
    let mut command_event = String::new();
    for place in 0..16 {
        let (kind, detail) = every_kind(&command_event).swap_remove(place);
        let effect = task::tell(&stage.engine, &run, event(kind, &detail), &caller).await.unwrap();
        assert_eq!(effect.run_id, run.as_str());
        if kind == "command" {
            // By the id that the answer tells, which becomes the one of the receipt.
            let record =
                stage.store.read(&run, Seq::new(effect.seq).unwrap(), PageLimit::ONE).await.unwrap().records.remove(0);
            command_event = r1_protocol::event_id(record.header().unwrap().ts, record.hash());
        }
        told.insert(kind, detail);
    }
    stage.work(&run).await.unwrap();
    stage.check(&run).await;
    let found: Vec<BeaconEvent> = typed(&stage, &run).await;
    assert_eq!(found.len(), 16);
    let nodes = nodes(&stage, &run).await;
    let node = |kind: &str| nodes.iter().find(|node| node.body().text("kind") == Some(kind)).unwrap();
    for event in &found {
        assert_eq!((event.beacon_id.as_str(), event.bridge.as_str()), ("b1", "bridge-1"));
        assert_eq!(event.chain, [HASH, HASH]);
        let mut wanted = told[event.kind.as_str()].clone();
        if event.kind == "command_result" {
            wanted["command_event"] = node("command").id().to_string().into();
            assert!(node("command_result").skeleton.preds.contains(&node("command").id()));
        }
        assert_eq!(Value::Object(event.detail.clone()), wanted, "{}", event.kind);
    }
}

#[tokio::test]
async fn stoke_27_what_no_beacon_tells_is_refused() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{ text: done }]")).await;
    let caller = bridge();
    let good = event("device_revoked", &json!({ "reason": "lost" }));
    let mut wrong = vec![
        event("exploded", &json!({})),
        event("device_revoked", &json!({ "reason": "lost", "more": 1 })),
        event("device_revoked", &json!({})),
        event("device_revoked", &json!({ "reason": 3 })),
        event("registered", &json!({ "public_key_hash": "abc" })),
        event("token_issued", &json!({ "token_id": "t" })),
        event("command_result", &json!({ "command_event": format!("sha256:{HASH}"), "status": "ok" })),
    ];
    for (key, value) in [("bridge", json!("another")), ("note", json!("hi")), ("chain", json!("x"))] {
        let mut event = good.clone();
        event.data.insert(key.into(), value);
        wrong.push(event);
    }
    let mut nameless = good.clone();
    nameless.data.remove("operator_id");
    wrong.push(nameless);
    for event in wrong {
        for result in [
            task::tell(&stage.engine, &run, event.clone(), &caller).await,
            beacon::tell(&stage.engine, event.clone(), &caller).await,
        ] {
            assert!(matches!(result, Err(TaskError::Invalid(_))), "{event:?}: {result:?}");
        }
    }
    let operator = Caller::default();
    let settle = |data| ExternalEvent { type_name: "stoke.delegation.settle".into(), data: object(data) };
    for (event, caller) in [
        (good.clone(), &operator),
        (settle(json!({ "contract_id": "c" })), &operator),
        (ExternalEvent { type_name: "external.x".into(), data: Object::new() }, &caller),
        (ExternalEvent { type_name: "gate.decision".into(), data: Object::new() }, &caller),
        (ExternalEvent { type_name: "memory.write".into(), data: Object::new() }, &operator),
    ] {
        let result = task::tell(&stage.engine, &run, event.clone(), caller).await;
        assert!(matches!(result, Err(TaskError::Reserved { .. })), "{event:?}: {result:?}");
    }
    let bad = task::tell(&stage.engine, &run, settle(json!({ "settlement_id": "s" })), &caller).await;
    assert!(matches!(bad, Err(TaskError::Invalid(_))), "{bad:?}");
    task::tell(&stage.engine, &run, settle(json!({ "contract_id": "c", "settlement_id": "s" })), &caller)
        .await
        .unwrap();
    let alone = beacon::tell(&stage.engine, good, &caller).await.unwrap();
    let alone: RunId = alone.run_id.parse().unwrap();
    assert_eq!(typed::<BeaconEvent>(&stage, &alone).await.len(), 1);
    assert_eq!(stage.types(&alone).await, ["run.queued", "beacon.event"]);
}

const ANSWERS: &str = "
- skill.name: fix-tests
  skill.description: Fixes red tests
  skill.when: A test fails.
  skill.inputs: []
  skill.steps: [Run it., Fix it.]
  skill.tools: shell edit
  skill.examples:
  skill.limits: Never delete a test.
  skill.check: All tests pass.
- skill.description: Fixes failing tests
- skill.description: Fixes failing tests, one at a time
";

#[tokio::test]
async fn stoke_27_corrections_of_a_skill_are_chained_in_the_receipt() {
    let stage = Stage::new();
    let mut wizard = Wizard::default();
    Given::parse(ANSWERS).unwrap().answer(&mut wizard).unwrap();
    let caller = Caller::default();
    let made = skill::record(&stage.engine, "/w", &wizard, "fix-tests/SKILL.md", None, &caller).await.unwrap();
    let decisions: Vec<SkillAuthoringDecision> = typed(&stage, &made.run).await;
    assert_eq!(decisions.iter().map(|decision| decision.step).collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
    assert!(decisions.iter().all(|decision| decision.confirmed && decision.confidence == 1000));

    let nodes = nodes(&stage, &made.run).await;
    let of_type = |wanted| nodes.iter().filter(move |node: &&Node| node.node_type() == wanted);
    let chain: Vec<_> = of_type(NodeType::SkillAuthoringDecision).collect();
    assert_eq!(chain.len(), 11);
    for (place, node) in chain.iter().enumerate().skip(1) {
        assert!(node.skeleton.preds.contains(&chain[place - 1].id()));
    }
    let revisions: Vec<_> = decisions.iter().map(|decision| decision.revision_of.clone()).collect();
    assert_eq!(revisions[..9], [const { None }; 9]);
    assert_eq!(revisions[9..], [Some(chain[1].id().to_string()), Some(chain[9].id().to_string())]);
    assert!(chain[9].skeleton.preds.contains(&chain[1].id()));

    let artifacts: Vec<ArtifactCreated> = typed(&stage, &made.run).await;
    let text = wizard.skill().unwrap().render();
    assert_eq!(artifacts.len(), 1);
    assert_eq!((artifacts[0].kind.as_str(), artifacts[0].size_bytes), ("skill", text.len() as u64));
    assert_eq!(of_type(NodeType::Artifact).count(), 1);
    assert!(text.contains("description: \"Fixes failing tests, one at a time\""));
}
