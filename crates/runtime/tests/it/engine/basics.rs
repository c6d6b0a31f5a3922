//! A run from its prompt to its answer.

use r1_event::{Kind, Payload};
use r1_runtime::control::caller::Caller;
use r1_runtime::engine::Outcome;

use super::stage::Stage;

#[tokio::test]
async fn a_run_asks_acts_and_answers() {
    let stage = Stage::new();
    let run = stage
        .create(stage.new_run("turns: [{text: looking, tool_calls: [{tool: echo, input: {a: 1}}]}, {text: done}]"))
        .await;
    assert_eq!(stage.work(&run).await.unwrap(), Outcome::Ended(Kind::RunCompleted));
    assert_eq!(
        stage.types(&run).await,
        [
            "run.queued",
            "user.message",
            "run.started",
            "turn.started",
            "assistant.text_delta",
            "assistant.text_complete",
            "assistant.tool_call_proposed",
            "turn.completed",
            "cost.tick",
            "tool.invoked",
            "tool.started",
            "tool.completed",
            "turn.started",
            "assistant.text_delta",
            "assistant.text_complete",
            "assistant.final_answer",
            "turn.completed",
            "cost.tick",
            "run.finished",
        ]
    );
    let Payload::RunCompleted(end) = stage.last_of(&run, Kind::RunCompleted).await else { panic!() };
    assert_eq!((end.final_text.as_str(), end.turn_count, end.tool_call_count), ("done", 2, 1));
    stage.check(&run).await;
}

#[tokio::test]
async fn calls_of_one_turn_run_side_by_side_and_the_model_hears_all_of_them() {
    let stage = Stage::new();
    let run = stage
        .play(stage.new_run(
            "turns: [{tool_calls: [{tool: echo, input: {n: 1}}, {tool: break}, {tool: once}, {tool: nobody}, \
             {tool: echo, input: {bad: nope}}, {tool: defect}]}, {text: ok, when: it broke}]",
        ))
        .await;
    let types = stage.types(&run).await;
    let count = |name: &str| types.iter().filter(|found| *found == name).count();
    assert_eq!((count("tool.invoked"), count("tool.completed"), count("tool.failed")), (6, 2, 4));
    assert_eq!(count("error.tool_unavailable"), 1);
    assert_eq!(types.last().unwrap(), "run.finished");
    let told = format!("{:?}", stage.state(&run).await.conversation.messages()[2]);
    for word in ["it broke", "there is no tool `nobody`", "a defect of its own", "nope"] {
        assert!(told.contains(word), "{word} is missing in {told}");
    }
    stage.check(&run).await;
}

#[tokio::test]
async fn what_people_say_meanwhile_is_heard_in_the_next_turn() {
    use r1_runtime::agent::command::Command;
    use r1_runtime::control::command::command;
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{tool_calls: [{tool: wait}]}, {text: done, when: hurry}]")).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    let message =
        Command::Message { text: "hurry".into(), client_message_id: Some("m1".into()), artifact_ids: Vec::new() };
    command(&stage.engine, &run, message.clone(), &Caller::default()).await.unwrap();
    // The same message again is no second message.
    assert!(command(&stage.engine, &run, message, &Caller::default()).await.unwrap().was_so);
    stage.world.go_on.notify_one();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCompleted));
    stage.check(&run).await;
}

#[tokio::test]
async fn thinking_is_kept_with_its_signature() {
    let stage = Stage::new();
    let run = stage
        .play(stage.new_run(
            "turns: [{thinking: hm, thinking_signature: sig, text: a, tool_calls: [{tool: echo}]}, {text: done}]",
        ))
        .await;
    let said = format!("{:?}", stage.state(&run).await.conversation.messages()[1]);
    assert!(said.contains("hm") && said.contains("sig"), "{said}");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_long_conversation_is_compacted_and_says_so() {
    let stage = Stage::new();
    let big = "x".repeat(4_000);
    let call = format!("{{tool_calls: [{{tool: echo, input: {{text: {big}}}}}]}}");
    let turns = vec![call; 12].join(", ");
    let mut new = stage.new_run(&format!("turns: [{turns}, {{text: done}}]"));
    new.spec.context_tokens = 12_000;
    let run = stage.play(new).await;
    let types = stage.types(&run).await;
    assert!(types.iter().any(|name| name == "run.context_truncated"), "{types:?}");
    assert_eq!(types.last().unwrap(), "run.finished");
    stage.check(&run).await;
}

#[tokio::test]
async fn an_attachment_reaches_the_model() {
    use r1_runtime::control::create::Attachment;
    let stage = Stage::new();
    let mut new = stage.new_run("turns: [{text: seen, when: photo.png}]");
    new.attachments.push(Attachment { name: "photo.png".into(), mime: "image/png".into(), content: "PNG".into() });
    let run = stage.play(new).await;
    assert_eq!(stage.types(&run).await[2..4], ["artifact.created", "user.attachment"]);
    assert_eq!(stage.state(&run).await.final_text, "seen");
    stage.check(&run).await;
}
