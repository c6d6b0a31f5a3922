//! The review: by a model of another family, of the files that are there.

use r1_runtime::gate::{GateRule, Reason, gate_id};

use super::project::{Project, said};

const FINE: &str = "turns: [{text: '{\"score\": 850, \"summary\": \"good\"}'}]";

#[tokio::test]
async fn stoke_23_a_review_allows_or_blocks_by_the_reviewers_score() {
    let mut project = Project::new().await;
    project.write("src/a.rs", "fn a() {}\n");
    project.reviewer("gpt-5", FINE);
    let outcome = project.outcome(gate_id::REVIEW, None).await;
    assert_eq!((said(&outcome), outcome.score), ("allow passed".into(), Some(850)), "{}", outcome.evidence);
    assert!(outcome.evidence.contains("gpt-5 (openai)") && outcome.evidence.contains("good"));
    project.reviewer("gpt-5", "turns: [{text: '{\"score\": 799}'}]");
    assert_eq!(project.said(gate_id::REVIEW, None).await, "block below_threshold");
}

#[tokio::test]
async fn stoke_23_a_reviewer_reads_goal_diff_and_evidence_without_secrets() {
    let mut project = Project::new().await;
    project.write("src/a.rs", "const KEY: &str = \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\";\n");
    project.earlier("tests", Some(1000));
    project.context.earlier[0].evidence = "12 passed".into();
    for seen in ["make it better", "+const KEY", "12 passed", "[redacted:token:"] {
        project.reviewer("gpt-5", &format!("turns: [{{when: '{seen}', text: '{{\"score\": 1000}}'}}]"));
        assert_eq!(project.said(gate_id::REVIEW, None).await, "allow passed", "{seen}");
    }
    project.reviewer("gpt-5", "turns: [{when: 'ghp_16C7e42F', text: '{\"score\": 1000}'}]");
    assert_eq!(project.said(gate_id::REVIEW, None).await, "escalate gate_error");
}

#[tokio::test]
async fn stoke_23_only_another_family_reviews() {
    let mut project = Project::new().await;
    assert_eq!(project.said(gate_id::REVIEW, None).await, "escalate no_cross_family_reviewer");
    project.reviewer("claude-opus-4-1", FINE);
    assert_eq!(project.said(gate_id::REVIEW, None).await, "escalate same_family");
    // Nobody knows the lineage of either: then who serves them counts.
    project.context.author.model = "house-model".into();
    project.context.author.provider = "scripted".into();
    project.reviewer("other-house-model", FINE);
    assert_eq!(project.said(gate_id::REVIEW, None).await, "escalate same_family");
}

#[tokio::test]
async fn stoke_23_no_answer_and_no_score_are_no_pass() {
    let mut project = Project::new().await;
    let answers = [
        "turns: [{text: 'looks good to me'}]",
        "turns: [{text: ''}]",
        "turns: [{text: '{\"score\": 2000}'}]",
        "turns: [{text: '{\"score\": 1000}', stop_reason: max_tokens}]",
        "turns: [{text: '{\"score\": 1000}', stop_reason: refusal}]",
        "turns: [{text: '{\"score\": 1000}', failures: [{kind: status, status: 401}]}]",
        "turns: []",
    ];
    for answer in answers {
        project.reviewer("gpt-5", answer);
        let outcome = project.outcome(gate_id::REVIEW, None).await;
        assert_eq!((said(&outcome), outcome.score), ("escalate gate_error".into(), None), "{answer}");
        let came = !answer.contains("failures") && answer != "turns: []";
        assert_eq!(outcome.review.is_some(), came, "an answer that came was paid for: {answer}");
    }
    project.reviewer("gpt-5", "turns: [{text: '{\"score\": 1000}', delay_ms: 60000}]");
    let hasty = GateRule { timeout_ms: 50, ..project.rule(gate_id::REVIEW, None) };
    assert_eq!(project.ask(&hasty, "VERIFY.exit", "VERIFY>COMMIT").await.reason, Reason::GateError);
}

#[tokio::test]
async fn stoke_23_an_overloaded_reviewer_is_asked_again() {
    let mut project = Project::new().await;
    project.reviewer("gpt-5", "turns: [{text: '{\"score\": 900}', failures: [{kind: status, status: 503}]}]");
    assert_eq!(project.said(gate_id::REVIEW, None).await, "allow passed");
}

#[tokio::test]
async fn stoke_23_files_that_change_during_the_review_make_it_void() {
    let mut project = Project::new().await;
    project.reviewer("gpt-5", "turns: [{text: '{\"score\": 1000}', delay_ms: 300}]");
    let late = project.dir.path().join("late.txt");
    let rule = project.rule(gate_id::REVIEW, None);
    // Files go on changing for as long as the review takes, so whenever it looked, they are others afterwards.
    let writer = async {
        for round in 0u64.. {
            std::fs::write(&late, round.to_string()).unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let outcome = tokio::select! {
        outcome = project.ask(&rule, "VERIFY.exit", "VERIFY>COMMIT") => outcome,
        () = writer => unreachable!("the writer has no end"),
    };
    assert_eq!(said(&outcome), "block tree_changed");
}
