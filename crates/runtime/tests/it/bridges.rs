//! Sessions of bridges that drive no run: each is told in one operator run, for as long as it goes on.

use std::collections::HashSet;

use futures_util::future::join_all;
use r1_event::{RunId, Seq, UnixNanos};
use r1_protocol::data::BeaconEvent;
use r1_receipt::NodeType;
use r1_runtime::agent::command::{Command, Refusal};
use r1_runtime::control::beacon::{self, IDLE, close_sessions};
use r1_runtime::control::caller::{Caller, Effect};
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::task::TaskError;
use r1_runtime::engine::{Claim, EngineError};
use r1_runtime::world;
use r1_store::{Document, DocumentChange, Expect, PageLimit};
use serde_json::{Value, json};

use crate::engine::stage::Stage;
use crate::outside::{HASH, bridge, event, nodes, typed};

fn session(id: &str) -> Caller {
    Caller { session: Some(id.into()), ..bridge() }
}

fn run_of(effect: &Effect) -> RunId {
    effect.run_id.parse().unwrap()
}

fn some_command() -> Value {
    json!({ "session_ref": "s", "command_kind": "start", "payload_hash": HASH })
}

fn lost() -> r1_protocol::api::ExternalEvent {
    event("device_revoked", &json!({ "reason": "lost" }))
}

/// A moment at which whoever says nothing from now on is idle.
fn later() -> UnixNanos {
    UnixNanos(world::now().0 + i64::try_from(IDLE.as_nanos()).unwrap() + 1)
}

async fn event_id(stage: &Stage, effect: &Effect) -> String {
    let seq = Seq::new(effect.seq).unwrap();
    let record = stage.store.read(&run_of(effect), seq, PageLimit::ONE).await.unwrap().records.remove(0);
    r1_protocol::event_id(record.header().unwrap().ts, record.hash())
}

#[tokio::test]
async fn stoke_27_a_session_is_one_run_in_which_results_name_their_commands() {
    let stage = Stage::new();
    let (one, two) = (session("one"), session("two"));
    let command = beacon::tell(&stage.engine, event("command", &some_command()), &one).await.unwrap();
    let named = event_id(&stage, &command).await;
    let result = event("command_result", &json!({ "command_event": named, "status": "ok" }));
    // Another session knows nothing of it.
    let other = beacon::tell(&stage.engine, lost(), &two).await.unwrap();
    assert_ne!(other.run_id, command.run_id);
    let refused = beacon::tell(&stage.engine, result.clone(), &two).await;
    assert!(matches!(refused, Err(TaskError::Invalid(_))), "{refused:?}");
    // It goes on after a restart, and on another server.
    let answered = beacon::tell(&stage.successor(), result, &one).await.unwrap();
    assert_eq!(answered.run_id, command.run_id);

    let run = run_of(&command);
    assert_eq!(stage.types(&run).await, ["run.queued", "beacon.event", "beacon.event"]);
    let told: Vec<_> = nodes(&stage, &run).await;
    let of_beacon: Vec<_> = told.iter().filter(|node| node.node_type() == NodeType::BeaconLedgerEvent).collect();
    assert!(of_beacon[1].skeleton.preds.contains(&of_beacon[0].id()), "the one before, of the same beacon");
}

#[tokio::test]
async fn stoke_27_two_servers_that_are_told_at_once_agree_on_the_run() {
    let stage = Stage::new();
    let (caller, other) = (session("one"), stage.successor());
    let tell = |server| beacon::tell(server, lost(), &caller);
    let told = join_all((0..12).map(|place| tell(if place % 2 == 0 { &stage.engine } else { &other }))).await;
    let places: HashSet<_> =
        told.into_iter().map(|effect| effect.unwrap()).map(|told| (told.run_id, told.seq)).collect();
    assert_eq!(places.len(), 12);
    let runs: HashSet<_> = places.iter().map(|(run, _)| run.clone()).collect();
    let run: RunId = runs.into_iter().next().unwrap().parse().unwrap();
    assert_eq!(typed::<BeaconEvent>(&stage, &run).await.len(), 12, "all in one run");
}

#[tokio::test]
async fn a_session_that_is_idle_or_gone_ends_its_run_and_another_event_begins_the_next() {
    let stage = Stage::new();
    let caller = session("one");
    let first = run_of(&beacon::tell(&stage.engine, lost(), &caller).await.unwrap());
    close_sessions(&stage.engine, world::now(), |_| true).await.unwrap();
    assert_eq!(stage.types(&first).await.last().unwrap(), "beacon.event", "it goes on");
    close_sessions(&stage.engine, later(), |_| true).await.unwrap();
    assert_eq!(stage.types(&first).await, ["run.queued", "beacon.event", "run.finished"]);

    let second = run_of(&beacon::tell(&stage.engine, lost(), &caller).await.unwrap());
    assert_ne!(first, second);
    close_sessions(&stage.engine, world::now(), |session| session != "one").await.unwrap();
    assert_eq!(stage.types(&second).await.last().unwrap(), "run.finished");
    // Nothing is left of it that a later look would find.
    close_sessions(&stage.engine, later(), |_| false).await.unwrap();
    assert_eq!(stage.store.document("bridge_sessions", "one").await.unwrap(), None);
}

#[tokio::test]
async fn a_run_that_was_named_and_never_begun_is_begun_by_the_next_event() {
    let stage = Stage::new();
    // What a server leaves that dies between the two.
    let named = world::new_run_id(world::now()).unwrap();
    let document = Document::new("one", named.to_string());
    let left = DocumentChange::Put { collection: "bridge_sessions".into(), document, expect: Expect::Absent };
    assert!(stage.store.change_documents(vec![left]).await.unwrap());
    let told = beacon::tell(&stage.engine, lost(), &session("one")).await.unwrap();
    assert_eq!(run_of(&told), named);
}

#[tokio::test]
async fn nobody_works_in_the_run_of_a_session_but_it_can_be_ended() {
    let stage = Stage::new();
    let caller = session("one");
    let run = run_of(&beacon::tell(&stage.engine, lost(), &caller).await.unwrap());
    let message = Command::Message { text: "hello".into(), client_message_id: None, artifact_ids: Vec::new() };
    let refused = command(&stage.engine, &run, message, &Caller::default()).await;
    assert!(matches!(refused, Err(CommandError::Refused(Refusal::Recorded))), "{refused:?}");
    let claimed = stage.engine.claim(&run, Claim { by_operator: true, ..Claim::default() }).await;
    assert!(matches!(claimed, Err(EngineError::Recorded)));
    command(&stage.engine, &run, Command::cancel("enough"), &Caller::default()).await.unwrap();
    let next = run_of(&beacon::tell(&stage.engine, lost(), &caller).await.unwrap());
    assert_ne!(run, next);
}
