//! Resume, retry, fork; and a replay that finds what was changed.

use std::time::Duration;

use r1_event::{Kind, Payload, RunId, Seq};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::go_on::{Changes, GoOnError, fork, resume, retry};
use r1_runtime::replay::{DivergenceKind, Report};

use super::stage::Stage;

#[tokio::test]
async fn ep_21_a_failed_run_is_resumed_with_its_conversation() {
    let stage = Stage::new();
    let scenario = "turns: [{tool_calls: [{tool: once}], cost_micros_usd: 7}, {text: no, failures: [{kind: status, status: 400}]}]";
    let failed = stage.play(stage.new_run(scenario)).await;
    let changes = Changes { message: Some("once more".into()), ..Changes::default() };
    let run = resume(&stage.engine, &failed, changes, &Caller::default()).await.unwrap();
    assert_eq!(stage.types(&run).await[..3], ["run.resumed_from_event", "run.queued", "user.message"]);
    let state = stage.state(&run).await;
    assert_eq!(state.spent.prior_cost_micros_usd, 7);
    let heard = format!("{:?}", state.conversation.messages());
    assert!(heard.contains("do it") && heard.contains("once more"), "{heard}");
    stage.work(&run).await.unwrap();
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_21_an_answer_that_was_cut_short_is_asked_for_again() {
    let stage = Stage::new();
    let failed = stage.play(stage.new_run("turns: [{text: no, failures: [{kind: status, status: 400}]}]")).await;
    let resumed = resume(&stage.engine, &failed, Changes::default(), &Caller::default()).await.unwrap();
    assert!(goes_on(&stage, &resumed).await.contains(&"turn.started".into()), "after a failure");

    let done = stage.play(stage.new_run("turns: [{text: done}]")).await;
    let types = stage.types(&done).await;
    for cut in ["turn.started", "run.started", "turn.completed"] {
        let at = Seq::new(types.iter().position(|name| name == cut).unwrap() as u64 + 1).unwrap();
        let forked = fork(&stage.engine, &done, at, Changes::default(), &Caller::default()).await.unwrap();
        let types = goes_on(&stage, &forked).await;
        assert_eq!(types.last().unwrap(), "run.finished", "behind {cut}");
        assert_eq!(types.contains(&"turn.started".into()), cut != "turn.completed", "behind {cut}");
    }
}

/// What is written of a run that nobody sends anything to.
async fn goes_on(stage: &Stage, run: &RunId) -> Vec<String> {
    let worked = tokio::time::timeout(Duration::from_secs(60), stage.work(run)).await;
    worked.expect("it does not wait for anyone").unwrap();
    stage.types(run).await
}

#[tokio::test]
async fn ep_21_a_completed_run_goes_on_only_with_a_message() {
    let stage = Stage::new();
    let done = stage.play(stage.new_run("turns: [{text: done}]")).await;
    let refused = resume(&stage.engine, &done, Changes::default(), &Caller::default()).await;
    assert!(matches!(refused, Err(GoOnError::Completed { .. })));
    let again = retry(&stage.engine, &done, Changes::default(), &Caller::default()).await.unwrap();
    stage.work(&again).await.unwrap();
    assert_eq!(stage.state(&again).await.conversation.messages().len(), 2, "a retry knows nothing of the first run");
    stage.check(&again).await;
}

#[tokio::test]
async fn ep_21_a_fork_shares_the_beginning_and_goes_its_own_way() {
    let stage = Stage::new();
    let run = stage.play(stage.new_run("turns: [{tool_calls: [{tool: once}]}, {text: first}]")).await;
    let types = stage.types(&run).await;
    let at = types.iter().position(|name| name == "tool.completed").unwrap() as u64 + 1;
    let changes = Changes { message: Some("another way".into()), ..Changes::default() };
    let at = Seq::new(at).unwrap();
    let forked = fork(&stage.engine, &run, at, changes, &Caller::default()).await.unwrap();
    assert_eq!(stage.types(&forked).await[1], "run.branched_from");
    let heard = format!("{:?}", stage.state(&forked).await.conversation.messages());
    let shared = heard.contains("do it") && heard.contains("call_0_0");
    assert!(shared && heard.contains("another way") && !heard.contains("first"), "{heard}");
    stage.work(&forked).await.unwrap();
    stage.check(&forked).await;
    assert_eq!(stage.types(&run).await, types, "the source stays as it was");
}

#[tokio::test]
async fn log_20_a_changed_result_is_found_at_the_turn_that_heard_it() {
    let stage = Stage::new();
    let run = stage.play(stage.new_run("turns: [{tool_calls: [{tool: echo, input: {a: 1}}]}, {text: done}]")).await;
    let forged = rewrite(&stage, &run, |payload| {
        if let Payload::ToolCallCompleted(done) = payload {
            done.result = r1_protocol::json::to_raw(&serde_json::json!({ "a": 2 }));
        }
    })
    .await;
    let divergence = forged.divergence.expect("a changed result is noticed");
    assert_eq!(divergence.kind, DivergenceKind::Differs);
    assert_eq!(divergence.expected.unwrap().type_name, "turn.started");
    let paths: Vec<_> = divergence.differences.iter().map(|difference| difference.path.as_str()).collect();
    assert_eq!(paths, ["/prompt_hash"]);
}

#[tokio::test]
async fn log_20_a_changed_prompt_or_text_is_found_where_it_stands() {
    let stage = Stage::new();
    let run = stage.play(stage.new_run("turns: [{text: done}]")).await;
    let forged = rewrite(&stage, &run, |payload| {
        if let Payload::RunStarted(started) = payload {
            started.system_prompt = "be bad".into();
        }
    })
    .await;
    assert_eq!(forged.divergence.unwrap().seq, Seq::FIRST);

    let forged = rewrite(&stage, &run, |payload| {
        if let Payload::AssistantMessageCompleted(message) = payload {
            message.text = "never said".into();
        }
    })
    .await;
    let divergence = forged.divergence.unwrap();
    assert_eq!(divergence.expected.unwrap().type_name, "turn.completed");
    assert_eq!(divergence.differences[0].path, "/text");
}

/// What a replay says of the same run in another store, with its chain in order and some payloads changed.
async fn rewrite(stage: &Stage, run: &r1_event::RunId, change: impl Fn(&mut Payload)) -> Report {
    let other = Stage::new();
    let mut writer = r1_runtime::RunWriter::open(other.store.clone(), run.clone(), "forger", None).await.unwrap();
    let mut batch = writer.batch();
    for record in stage.records(run).await {
        let (place, mut payload) = r1_runtime::agent::RunState::read(&record).unwrap();
        change(&mut payload);
        batch.push(place.ts, payload).unwrap();
    }
    writer.append_batch(batch).await.unwrap();
    assert_eq!(writer.chain().terminal(), Some(Kind::RunCompleted));
    writer.close().await.unwrap();
    other.replay(run).await
}
