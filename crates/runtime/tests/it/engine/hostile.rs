//! Answers of a model that no receipt could hold.

use r1_event::{Kind, Payload, RunId};
use r1_runtime::Keyring;
use r1_runtime::control::receipt::{Request, create};
use r1_runtime::provider::{ProviderSpec, Scenario, ScriptedCall, ScriptedTurn};
use r1_runtime::source::Progress;

use super::stage::Stage;

fn call(tool: &str, id: Option<String>) -> ScriptedCall {
    ScriptedCall { id, tool: tool.into(), input: serde_json::Map::new() }
}

/// Plays a turn with these calls and one after it; gives the run and how it ended, once its receipt holds.
async fn play(stage: &Stage, calls: Vec<ScriptedCall>) -> (RunId, Payload) {
    let says = |text: &str| ScriptedTurn { text: text.into(), ..ScriptedTurn::default() };
    let turns = vec![ScriptedTurn { tool_calls: calls, ..says("I call") }, says("done")];
    let mut new = stage.new_run("turns: []");
    new.spec.provider = ProviderSpec::scripted(Scenario { turns, ..Scenario::default() });
    new.spec.max_attempts = 1;
    let run = stage.play(new).await;
    let key = r1_receipt::key::SecretKey::from_seed([7; 32]);
    create(&stage.store, &Request::whole(run.clone()), &key, &Keyring::default(), Progress::default()).await.unwrap();
    let last = stage.records(&run).await.last().unwrap().header().unwrap().kind;
    assert!(matches!(last, Kind::RunCompleted | Kind::RunFailed), "{last:?}");
    let end = stage.last_of(&run, last).await;
    (run, end)
}

#[tokio::test]
async fn stoke_16_an_answer_that_no_receipt_could_hold_fails_its_turn_and_says_why() {
    let cases: [(Vec<ScriptedCall>, &str); 3] = [
        (vec![call(&"e".repeat(257), None)], "names a tool with 257 bytes"),
        (vec![call("echo", Some("c".repeat(257)))], "an id of 257 bytes"),
        ((0..257).map(|_| call("echo", None)).collect(), "257 tool calls"),
    ];
    for (calls, why) in cases {
        let stage = Stage::new();
        let (run, Payload::RunFailed(end)) = play(&stage, calls).await else { panic!("{why}") };
        stage.check(&run).await;
        assert_eq!(end.error_type, "model_error", "{why}");
        assert!(end.error.contains(why), "{}", end.error);
    }
}

#[tokio::test]
async fn stoke_16_the_longest_answer_that_is_taken_has_a_receipt() {
    // Each of these is six in a receipt.
    let odd = |n: usize| Some(format!("{n:03}{}", "\u{1}".repeat(253)));
    let calls = (0..256).map(|n| call(&"\u{1}".repeat(256), odd(n))).collect();
    let (_, end) = play(&Stage::new(), calls).await;
    assert!(matches!(end, Payload::RunCompleted(_)), "{end:?}");
}
