//! What agents and operators remember, on a whole engine.

use r1_event::RunId;
use r1_event::payload::Payload;
use r1_protocol::data::{Actor, ActorKind, EventData, MemoryRead, MemoryWrite};
use r1_runtime::Keyring;
use r1_runtime::agent::RunState;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::go_on::{Changes, resume};
use r1_runtime::control::memory::{self, OperateError, Owner};
use r1_runtime::control::receipt::{self, Request};
use r1_runtime::control::redact;
use r1_runtime::engine::Claim;
use r1_runtime::memory::{Held, MemoryError, Tier, Value, diff_hash, fingerprint};
use r1_runtime::source::Progress;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::engine::stage::Stage;
use crate::phases::support::{phased, with_gates};

fn operator() -> Caller {
    Caller::new(Actor { kind: ActorKind::Operator, id: Some("tester".into()), ..Actor::default() })
}

fn here(stage: &Stage) -> Owner {
    Owner::workspace(&stage.workspace())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

async fn data<E: EventData>(stage: &Stage, run: &RunId) -> Vec<E> {
    let records = stage.records(run).await;
    let read = |record| match RunState::read(record).unwrap().1 {
        Payload::Typed(typed) => E::read(&typed),
        _ => None,
    };
    records.iter().filter_map(read).collect()
}

/// The result of a call, as the model hears it.
async fn result(stage: &Stage, run: &RunId, call_id: &str) -> serde_json::Value {
    let records = stage.records(run).await;
    let payloads = records.iter().map(|record| RunState::read(record).unwrap().1);
    let mut results = payloads.filter_map(|payload| match payload {
        Payload::ToolCallCompleted(done) if done.call_id == call_id => Some(r1_protocol::json::from_raw(&done.result)),
        Payload::ToolCallFailed(failed) if failed.call_id == call_id => Some(failed.error.into()),
        _ => None,
    });
    results.next_back().unwrap()
}

/// A receipt of the run holds: every read found what the last write had put there.
async fn holds_in_a_receipt(stage: &Stage, run: &RunId) {
    let key = r1_receipt::key::SecretKey::from_seed([7; 32]);
    let keyring = Keyring::default();
    let made = receipt::create(&stage.store, &Request::whole(run.clone()), &key, &keyring, Progress::default()).await;
    assert_eq!(made.unwrap().report.verdict().to_string(), "VALID");
}

#[tokio::test]
async fn stoke_26_an_agent_remembers_and_the_next_run_of_the_workspace_knows() {
    let stage = Stage::new();
    let me = operator();
    memory::set(&stage.engine, &here(&stage), Tier::L0, Some("name"), text("Ada"), None, &me).await.unwrap();
    let first = r#"
turns:
  - tool_calls:
      - { id: a, tool: memory_put, input: { tier: L1, key: plan, value: { steps: [1, 2] } } }
  - tool_calls:
      - { id: b, tool: memory_put, input: { tier: L1, key: plan, value: { steps: [1, 2, 3] } } }
      - { id: c, tool: memory_put, input: { tier: L3, value: tests run with ./test, alias: how to test } }
  - tool_calls:
      - { id: d, tool: memory_get, input: { tier: L1, key: plan } }
      - { id: e, tool: memory_get, input: { tier: L1, key: nothing } }
      - { id: f, tool: memory_list, input: { tier: L3 } }
  - text: done
"#;
    let run = stage.play(stage.new_run(first)).await;
    stage.check(&run).await;
    holds_in_a_receipt(&stage, &run).await;
    assert_eq!(result(&stage, &run, "d").await, json!({ "found": true, "value": { "steps": [1, 2, 3] } }));
    assert_eq!(result(&stage, &run, "e").await, json!({ "found": false }));
    let key = format!("sha256:{}", fingerprint(b"tests run with ./test"));
    assert_eq!(
        result(&stage, &run, "f").await,
        json!({ "entries": [{ "alias": "how to test", "key": key }, { "key": key, "size": 21 }] }),
    );

    // Calls of one turn run side by side, so their writes come in any order.
    let writes: Vec<MemoryWrite> = data(&stage, &run).await;
    let of_call = |id: &str| writes.iter().find(|write| write.call_id.as_deref() == Some(id)).unwrap();
    let [old, new] = [r#"{"steps":[1,2]}"#, r#"{"steps":[1,2,3]}"#].map(str::as_bytes);
    assert_eq!(of_call("a").diff_hash, diff_hash(b"", old).to_string());
    assert_eq!(of_call("a").prior_fingerprint, None);
    assert_eq!(of_call("b").diff_hash, diff_hash(old, new).to_string());
    assert_eq!(of_call("b").prior_fingerprint, Some(fingerprint(old).to_string()));
    assert_eq!((of_call("b").store.as_str(), of_call("c").store.as_str()), ("episodic", "procedural"));

    // Another run: it is told who it is before its first turn, and finds what the first one learned.
    let second = r#"
turns:
  - when: do it
    tool_calls:
      - { id: a, tool: memory_get, input: { tier: L3, key: how to test } }
      - { id: b, tool: memory_get, input: { tier: L0, key: name } }
      - { id: c, tool: memory_get, input: { tier: L1, key: plan } }
  - text: done
"#;
    let run = stage.play(stage.new_run(second)).await;
    stage.check(&run).await;
    holds_in_a_receipt(&stage, &run).await;
    assert_eq!(result(&stage, &run, "a").await["value"], "tests run with ./test");
    assert_eq!(result(&stage, &run, "b").await["value"], "Ada");
    assert_eq!(result(&stage, &run, "c").await["found"], false);
    let types = stage.types(&run).await;
    let place = |name: &str| types.iter().position(|found| found == name).unwrap();
    assert!(place("run.started") < place("memory.read") && place("memory.read") < place("turn.started"), "{types:?}");
    assert_eq!(types.iter().filter(|name| *name == "memory.read").count(), 1 + 2 + 1 + 1);
    let reads: Vec<MemoryRead> = data(&stage, &run).await;
    assert_eq!((reads[0].by.as_str(), reads[0].key.as_str(), reads[0].call_id.as_ref()), ("runtime", "name", None));
    assert!(stage.state(&run).await.told_first().contains("- name: Ada"));
}

#[tokio::test]
async fn stoke_26_identity_is_not_written_during_a_run() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - tool_calls: [{ id: a, tool: memory_put, input: { tier: L0, key: name, value: Eve } }]
  - tool_calls: [{ id: b, tool: wait }]
  - text: done
"#;
    let run = stage.create(stage.new_run(scenario)).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    let refused = result(&stage, &run, "a").await;
    assert!(refused.as_str().unwrap().starts_with("append_only_violation"), "{refused}");
    let me = operator();
    let set = memory::set(&stage.engine, &here(&stage), Tier::L0, Some("name"), text("Eve"), None, &me).await;
    assert!(matches!(set, Err(OperateError::Memory(MemoryError::AppendOnly { .. }))), "{set:?}");
    stage.world.go_on.notify_one();
    work.await.unwrap().unwrap();
    stage.check(&run).await;
    memory::set(&stage.engine, &here(&stage), Tier::L0, Some("name"), text("Eve"), None, &me).await.unwrap();
    assert_eq!(data::<MemoryWrite>(&stage, &run).await, []);
}

#[tokio::test]
async fn stoke_26_the_working_set_of_a_run_ends_with_its_phase() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - tool_calls:
      - { id: a, tool: memory_put, input: { tier: L1, key: k, value: kept } }
      - { id: b, tool: memory_put, input: { tier: L2, key: k, value: dropped } }
  - tool_calls: [{ id: c, tool: memory_get, input: { tier: L2, key: k } }]
  - text: That is the plan.
  - tool_calls:
      - { id: d, tool: memory_get, input: { tier: L1, key: k } }
      - { id: e, tool: memory_get, input: { tier: L2, key: k } }
      - { id: f, tool: memory_list, input: { tier: L2 } }
  - text: Done.
  - text: It is there.
  - text: Nothing to commit.
"#;
    let run = stage.play(phased(&stage, with_gates(""), scenario)).await;
    assert_eq!(stage.types(&run).await.last().unwrap(), "run.finished");
    assert_eq!(result(&stage, &run, "c").await["value"], "dropped", "in its own phase");
    assert_eq!(result(&stage, &run, "d").await["value"], "kept");
    assert_eq!(result(&stage, &run, "e").await, json!({ "found": false }));
    assert_eq!(result(&stage, &run, "f").await, json!({ "entries": [] }));
    stage.check(&run).await;
}

#[tokio::test]
async fn stoke_26_two_equal_writes_of_knowledge_store_one_blob() {
    let stage = Stage::new();
    let long = "long ".repeat(20_000);
    let scenario = format!(
        "turns:\n  - tool_calls: [{{ id: a, tool: memory_put, input: {{ tier: L3, value: '{long}' }} }}]\n  - text: done\n"
    );
    let mut held = Vec::new();
    for _ in 0..2 {
        let run = stage.play(stage.new_run(&scenario)).await;
        stage.check(&run).await;
        held.extend(data::<MemoryWrite>(&stage, &run).await);
    }
    let [first, second] = held.as_slice() else { panic!("{held:?}") };
    assert_eq!((&first.key, &first.fingerprint), (&second.key, &second.fingerprint));
    assert!(matches!(Held::from_json(first.value.as_ref().unwrap()), Some(Held::Blob { size: 100_000, .. })));
    assert_eq!((&second.value, &second.prior_fingerprint), (&None, &first.fingerprint));
    let listed = memory::list(&stage.store, &here(&stage), Tier::L3, "").await.unwrap();
    assert_eq!(listed.len(), 1);
    let read = memory::get(&stage.engine, &here(&stage), Tier::L3, &first.key, &operator()).await.unwrap().unwrap();
    assert_eq!(read.value.bytes(), long.as_bytes());
}

#[tokio::test]
async fn an_operator_writes_to_an_open_task_and_only_reads_a_finished_one() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - tool_calls: [{ id: a, tool: memory_put, input: { tier: L1, key: k, value: mine } }]
  - tool_calls: [{ id: b, tool: wait }]
  - tool_calls: [{ id: c, tool: memory_get, input: { tier: L1, key: k } }]
  - text: done
"#;
    let run = stage.create(stage.new_run(scenario)).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    // From another process, while this one works on the run.
    let (elsewhere, owner, me) = (stage.successor(), Owner::Run(run.clone()), operator());
    let wrote = memory::set(&elsewhere, &owner, Tier::L1, Some("k"), text("yours"), None, &me).await.unwrap();
    assert_eq!(wrote.effect.run_id, run.as_str());
    stage.world.go_on.notify_one();
    work.await.unwrap().unwrap();
    stage.check(&run).await;
    holds_in_a_receipt(&stage, &run).await;
    assert_eq!(result(&stage, &run, "c").await["value"], "yours");
    let history = memory::history(&stage.store, &owner, Tier::L1, "k").await.unwrap();
    assert_eq!(history.iter().map(|version| version.by.as_str()).collect::<Vec<_>>(), ["agent", "operator"]);

    let late = memory::set(&elsewhere, &owner, Tier::L1, Some("k"), text("late"), None, &me).await;
    assert!(matches!(late, Err(OperateError::ReadOnly { .. })), "{late:?}");
    let read = memory::get(&elsewhere, &owner, Tier::L1, "k", &me).await.unwrap().unwrap();
    assert_eq!(read.value, text("yours"));
}

#[tokio::test]
async fn what_is_remembered_has_no_secrets_and_is_fingerprinted_as_it_is_stored() {
    let stage = Stage::new();
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let scenario = format!(
        "turns:\n  - tool_calls: [{{ id: a, tool: memory_put, input: {{ tier: L1, key: k, value: 'use {secret}' }} }}]\n  - text: done\n"
    );
    let run = stage.play(stage.new_run(&scenario)).await;
    stage.check(&run).await;
    let me = operator();
    let bytes = Value::of_bytes([b"\xff\x00".as_slice(), secret.as_bytes()].concat());
    memory::set(&stage.engine, &here(&stage), Tier::L0, Some("raw"), bytes, None, &me).await.unwrap();
    let plain = Value::of_bytes((0..=255).collect::<Vec<u8>>());
    memory::set(&stage.engine, &here(&stage), Tier::L0, Some("plain"), plain.clone(), None, &me).await.unwrap();
    let other = stage.play(stage.new_run("turns: [{ text: done }]")).await;
    stage.check(&other).await;
    for run in [&run, &other] {
        let log: Vec<_> = stage.records(run).await.iter().filter_map(|record| record.payload.clone()).collect();
        assert!(!log.iter().any(|payload| payload.windows(secret.len()).any(|found| found == secret.as_bytes())));
    }
    let writes: Vec<MemoryWrite> = data(&stage, &run).await;
    let Some(Held::Here(kept)) = Held::from_json(writes[0].value.as_ref().unwrap()) else { panic!("{writes:?}") };
    assert!(kept.bytes().starts_with(b"use [redacted:"));
    assert_eq!(writes[0].fingerprint, Some(kept.fingerprint().to_string()));
    for read in data::<MemoryRead>(&stage, &other).await {
        let Some(Held::Here(kept)) = Held::from_json(read.value.as_ref().unwrap()) else { panic!("{read:?}") };
        assert_eq!(read.fingerprint, Some(kept.fingerprint().to_string()), "{}", read.key);
        assert!(read.key != "plain" || kept == plain);
    }
}

#[tokio::test]
async fn knowledge_that_is_removed_is_gone_with_its_aliases() {
    let stage = Stage::new();
    let (me, owner) = (operator(), here(&stage));
    let wrote = memory::set(&stage.engine, &owner, Tier::L3, None, text("v"), Some("a"), &me).await.unwrap();
    let read = memory::get(&stage.engine, &owner, Tier::L3, "a", &me).await.unwrap().unwrap();
    assert_eq!((read.key.as_str(), &read.value), (wrote.key.as_str(), &text("v")));
    memory::remove(&stage.engine, &owner, Tier::L3, &wrote.key, &me).await.unwrap();
    assert_eq!(memory::list(&stage.store, &owner, Tier::L3, "").await.unwrap(), []);
    assert_eq!(memory::get(&stage.engine, &owner, Tier::L3, "a", &me).await.unwrap(), None);
    let gone = memory::remove(&stage.engine, &owner, Tier::L3, &wrote.key, &me).await;
    assert!(matches!(gone, Err(OperateError::Memory(MemoryError::Missing { .. }))), "{gone:?}");

    // Written again it is stored again.
    memory::set(&stage.engine, &owner, Tier::L3, None, text("v"), None, &me).await.unwrap();
    let read = memory::get(&stage.engine, &owner, Tier::L3, &wrote.key, &me).await.unwrap().unwrap();
    assert_eq!(read.value, text("v"));
    let ops: Vec<_> = memory::history(&stage.store, &owner, Tier::L3, &wrote.key).await.unwrap();
    assert_eq!(ops.iter().map(|version| version.op.as_str()).collect::<Vec<_>>(), ["set", "delete", "set"]);
}

#[tokio::test]
async fn runs_that_hold_lasting_memory_are_not_pruned_for_their_age() {
    let stage = Stage::new();
    let learns = "turns:\n  - tool_calls: [{ tool: memory_put, input: { tier: L3, value: v } }]\n  - text: done\n";
    let first = stage.play(stage.new_run(learns)).await;
    let second = stage.play(stage.new_run(learns)).await;
    let later = r1_event::UnixNanos(r1_runtime::world::now().0 + 1_000_000_000);
    let plans = r1_runtime::control::prune::plan_older(&stage.store, later).await.unwrap().plans;
    let planned: Vec<_> = plans.iter().map(|plan| &plan.run_id).collect();
    assert_eq!(planned, [&second], "the first one is {first}");
}

#[tokio::test]
async fn memory_of_one_workspace_is_not_that_of_another() {
    let stage = Stage::new();
    let me = operator();
    memory::set(&stage.engine, &here(&stage), Tier::L0, Some("name"), text("Ada"), None, &me).await.unwrap();
    let other = Owner::Workspace("/somewhere/else".into());
    assert_eq!(memory::list(&stage.store, &other, Tier::L0, "").await.unwrap(), []);
    for (owner, tier) in [(&other, Tier::L1), (&Owner::Run("run_x".parse().unwrap()), Tier::L3)] {
        assert!(memory::list(&stage.store, owner, tier, "").await.is_err());
    }
}

#[tokio::test]
async fn what_a_log_tells_is_remembered_by_whoever_goes_on() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - tool_calls: [{ id: a, tool: memory_put, input: { tier: L1, key: k, value: kept } }]
  - tool_calls: [{ id: b, tool: wait }]
  - tool_calls: [{ id: c, tool: memory_get, input: { tier: L1, key: k } }]
  - text: done
"#;
    let run = stage.create(stage.new_run(scenario)).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    stage.expire(&run).await;
    stage.successor().work(&run, Claim::default(), CancellationToken::new()).await.unwrap();
    stage.check(&run).await;
    holds_in_a_receipt(&stage, &run).await;
    assert_eq!(result(&stage, &run, "c").await["value"], "kept");

    // A new run that goes on from it knows it too, and what an operator says to the old one is told to the new one.
    let caller = Caller::default();
    let changes = Changes { message: Some("go on".into()), ..Changes::default() };
    let next = resume(&stage.engine, &run, changes, &caller).await.unwrap();
    assert_eq!(stage.state(&next).await.memory.entries(Tier::L1).len(), 1);
    let owner = Owner::Run(run);
    let wrote = memory::set(&stage.engine, &owner, Tier::L1, Some("k"), text("new"), None, &operator()).await.unwrap();
    assert_eq!(wrote.effect.run_id, next.as_str());
}

#[tokio::test]
async fn what_is_erased_from_a_log_is_no_longer_known() {
    let stage = Stage::new();
    let (me, owner) = (operator(), here(&stage));
    let wrote = memory::set(&stage.engine, &owner, Tier::L3, None, text("private"), None, &me).await.unwrap();
    let request = redact::Request {
        run: wrote.effect.run_id.parse().unwrap(),
        seqs: vec![r1_event::Seq::new(wrote.effect.seq).unwrap()],
        by: "operator:tester".into(),
        reason: "private".into(),
    };
    redact::redact(&stage.store, &request, "r1-test", None, r1_runtime::world::now()).await.unwrap();
    assert_eq!(memory::get(&stage.engine, &owner, Tier::L3, &wrote.key, &me).await.unwrap(), None);
    assert_eq!(memory::list(&stage.store, &owner, Tier::L3, "").await.unwrap(), []);
    // Whoever learns it again stores it again.
    memory::set(&stage.engine, &owner, Tier::L3, None, text("private"), None, &me).await.unwrap();
    let read = memory::get(&stage.engine, &owner, Tier::L3, &wrote.key, &me).await.unwrap();
    assert_eq!(read.map(|read| read.value), Some(text("private")));
}
