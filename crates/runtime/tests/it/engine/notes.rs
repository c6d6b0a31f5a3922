//! Whoever asks learns which event answered, and the note of it is written together with the event.

use r1_event::{RunId, Seq};
use r1_protocol::data::{Actor, ActorKind, Object};
use r1_runtime::agent::command::{Command, Recorded, Refusal};
use r1_runtime::control::caller::{Caller, Effect, NoteSlot};
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::create::create;
use r1_runtime::control::go_on::{Changes, resume};
use r1_store::{Document, DocumentChange, Expect};
use serde_json::{Value, json};

use super::stage::{Stage, type_of};

const WAITS: &str = "turns: [{tool_calls: [{tool: wait}]}, {text: done}]";

fn cancel() -> Command {
    Command::cancel("")
}

fn say(text: &str) -> Command {
    Command::Message { text: text.into(), client_message_id: Some("m".into()), artifact_ids: Vec::new() }
}

/// Someone whose note waits under `key`.
async fn caller(stage: &Stage, key: &str) -> Caller {
    let document = Document::new(key, b"{}".to_vec());
    let put = DocumentChange::Put { collection: "answers".into(), document, expect: Expect::Absent };
    assert!(stage.store.change_documents(vec![put]).await.unwrap());
    let mut body = Object::new();
    body.insert("request_hash".into(), "1234".into());
    let note = NoteSlot { collection: "answers".into(), key: key.into(), revision: 1, body };
    let actor = Actor { kind: ActorKind::Operator, id: Some("ada".into()), ..Default::default() };
    Caller { note: Some(note), ..Caller::new(actor) }
}

async fn noted(stage: &Stage, key: &str) -> Effect {
    let document = stage.store.document("answers", key).await.unwrap().unwrap();
    let body: Object = serde_json::from_slice(&document.body).unwrap();
    assert_eq!(body["request_hash"], "1234", "what the note said before is kept");
    Effect::noted_in(&body).unwrap()
}

/// Type and data of the event that an effect names.
async fn event(stage: &Stage, effect: &Effect) -> (String, Value) {
    let run: RunId = effect.run_id.parse().unwrap();
    let records = stage.records(&run).await;
    let record = &records[usize::try_from(effect.seq).unwrap() - 1];
    let facts = r1_protocol::RunFacts::of_first(&records[0], None).unwrap();
    let envelope = facts.envelope(record, None, r1_protocol::Thinking::Shown).unwrap().to_bytes();
    let envelope: Value = serde_json::from_slice(&envelope).unwrap();
    (type_of(record), envelope["data"].clone())
}

#[tokio::test]
async fn ep_27_a_new_run_is_noted_with_its_first_event() {
    let stage = Stage::new();
    let caller = caller(&stage, "k").await;
    let run = create(&stage.engine, stage.new_run(WAITS), true, &caller).await.unwrap();
    assert_eq!(noted(&stage, "k").await, Effect::new(&run, Seq::FIRST));
    let again = create(&stage.engine, stage.new_run(WAITS), true, &caller).await;
    assert!(again.is_err(), "the note has moved, so nothing is done a second time");
    let (_, data) = event(&stage, &Effect::new(&run, Seq::FIRST)).await;
    assert_eq!(data["actor"]["id"], "ada");
}

#[tokio::test]
async fn ep_27_what_is_asked_of_a_run_without_a_worker_is_noted() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run(WAITS)).await;
    let sent = command(&stage.engine, &run, say("hello"), &caller(&stage, "say").await).await.unwrap();
    assert_eq!(noted(&stage, "say").await, sent.effect);
    assert_eq!(event(&stage, &sent.effect).await.0, "user.message");
    let ended = command(&stage.engine, &run, cancel(), &caller(&stage, "end").await).await.unwrap();
    let (type_name, data) = event(&stage, &noted(&stage, "end").await).await;
    assert_eq!((type_name.as_str(), data["actor"]["id"].as_str()), ("run.cancelled", Some("ada")));
    let again = command(&stage.engine, &run, cancel(), &caller(&stage, "again").await).await.unwrap();
    assert_eq!((again.was_so, again.effect), (true, ended.effect));
    let same = command(&stage.engine, &run, say("hello"), &Caller::default()).await.unwrap();
    assert_eq!((same.was_so, same.effect), (true, sent.effect), "also after the run has ended");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_27_a_worker_notes_what_it_did_for_whoever_asked() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run(WAITS)).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    let caller = caller(&stage, "say").await;
    let sent = command(&stage.engine, &run, say("hello"), &caller).await.unwrap();
    assert_eq!(noted(&stage, "say").await, sent.effect);
    let (type_name, data) = event(&stage, &sent.effect).await;
    assert_eq!((type_name.as_str(), data["actor"]["id"].as_str()), ("user.message", Some("ada")));
    let late = self::caller(&stage, "late").await;
    let document = Document::new("late", b"{}".to_vec());
    let taken_over = DocumentChange::Put { collection: "answers".into(), document, expect: Expect::Anything };
    assert!(stage.store.change_documents(vec![taken_over]).await.unwrap());
    let moved = Command::Record { events: vec![external("external.build")] };
    let refused = command(&stage.engine, &run, moved, &late).await;
    assert!(matches!(refused, Err(CommandError::Refused(Refusal::Superseded))), "{refused:?}");
    let without_note = Command::Record { events: vec![external("external.test")] };
    let answer = command(&stage.engine, &run, without_note, &Caller::default()).await.unwrap();
    assert_eq!(event(&stage, &answer.effect).await.0, "external.test");
    stage.world.go_on.notify_one();
    work.await.unwrap().unwrap();
    assert!(!stage.types(&run).await.contains(&"external.build".into()), "a note that moved lets nothing happen");
    stage.check(&run).await;
}

#[tokio::test]
async fn two_who_ask_at_once_are_both_answered() {
    let stage = Stage::new();
    let mut new = stage.new_run(WAITS);
    new.held = true;
    let run = stage.create(new).await;
    let tell = |number: u64| {
        let (engine, run) = (stage.engine.clone(), run.clone());
        let event = Recorded { type_name: "external.tick".into(), data: json!({ "number": number }), blobs: vec![] };
        let record = Command::Record { events: vec![event] };
        tokio::spawn(async move { command(&engine, &run, record, &Caller::default()).await })
    };
    let asked: Vec<_> = (0..16).map(tell).collect();
    let mut places = Vec::new();
    for answer in asked {
        places.push(answer.await.unwrap().unwrap().effect.seq);
    }
    places.sort_unstable();
    assert_eq!(places, (3..19).collect::<Vec<_>>(), "behind the first two events, each in a place of its own");
}

#[tokio::test]
async fn a_run_that_goes_on_in_another_is_noted() {
    let stage = Stage::new();
    let done = stage.play(stage.new_run("turns: [{text: done}]")).await;
    let changes = Changes { message: Some("more".into()), ..Changes::default() };
    let run = resume(&stage.engine, &done, changes, &caller(&stage, "k").await).await.unwrap();
    assert_eq!(noted(&stage, "k").await, Effect::new(&run, Seq::FIRST));
}

fn external(type_name: &str) -> Recorded {
    Recorded { type_name: type_name.into(), data: json!({}), blobs: Vec::new() }
}
