use r1_event::payload;
use r1_protocol::data::{
    ApprovalRequested, ApprovalResolved, AssistantTextComplete, AssistantTextDelta, AssistantToolCallProposed,
    CostBudgetWarning, ErrorUpstream, GapRunDisconnected, GateDecision, GrepMatch, PolicyToolBlocked, Todo,
    ToolEditProposed, ToolGrepCompleted, ToolShellExited, ToolShellOutputChunk, ToolTodoWriteUpdated, typed,
};
use serde_json::json;

use super::*;

/// Plays events a tenth of a second apart and gives what stands on the screen in the end.
fn shown(look: Look, events: Vec<Payload>) -> String {
    let mut live = Live::new("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap(), look);
    live.learn_patch("art_1".into(), DIFF.into());
    let mut out = String::new();
    for (event, tenth) in events.iter().zip(0..) {
        out.push_str(&live.take(UnixNanos(tenth * 100_000_000), event));
    }
    anstream::adapter::strip_str(&out).to_string()
}

const DIFF: &str = "diff --git a/add.sh b/add.sh\nindex 1..2 100644\n--- a/add.sh\n+++ b/add.sh\n@@ -1,3 +1,3 @@\n #!/bin/sh\n-echo $(($1 - $2))\n+echo $(($1 + $2))\n # end\n";

fn look(width: usize) -> Look {
    Look { width: Some(width), ..Look::default() }
}

fn begun() -> Vec<Payload> {
    vec![
        Payload::RunStarted(Box::new(RunStarted {
            goal: "make the test pass".into(),
            provider_id: "scripted".into(),
            model_id: "demo".into(),
            workspace: Some(json::to_raw(&json!({ "path": "/home/me/project", "mode": "in_place" }))),
            ..Default::default()
        })),
        Payload::UserMessageAppended(payload::UserMessageAppended {
            content: "make the test pass".into(),
            ..Default::default()
        }),
    ]
}

fn turn(index: u64) -> Payload {
    Payload::TurnStarted(payload::TurnStarted { turn_index: Some(index), ..Default::default() })
}

fn turn_done() -> Payload {
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        input_tokens: 1_200,
        output_tokens: 80,
        cost_micros_usd: Some(12_300),
        ..Default::default()
    }))
}

fn delta(block_index: u64, delta: &str) -> Payload {
    AssistantTextDelta { block_index, delta: delta.into(), ..Default::default() }.to_payload()
}

fn said(block_index: u64, text: &str) -> Payload {
    AssistantTextComplete { block_index, text: text.into(), ..Default::default() }.to_payload()
}

fn proposed(id: &str, tool: &str, input: Value) -> Payload {
    let Value::Object(input) = input else { panic!("{input}") };
    AssistantToolCallProposed { tool_call_id: id.into(), tool_name: tool.into(), input, ..Default::default() }
        .to_payload()
}

fn invoked(id: &str, tool: &str, kind: &str) -> Payload {
    Payload::ToolCallScheduled(payload::ToolCallScheduled {
        call_id: id.into(),
        tool: tool.into(),
        kind: Some(kind.into()),
        attempt: 1,
        ..Default::default()
    })
}

fn chunk(id: &str, data: &str) -> Payload {
    ToolShellOutputChunk { tool_call_id: id.into(), data: data.into(), stream: "stdout".into(), ..Default::default() }
        .to_payload()
}

fn exited(id: &str, exit_code: i64) -> Payload {
    ToolShellExited { tool_call_id: id.into(), exit_code, ..Default::default() }.to_payload()
}

fn completed(id: &str, summary: &str) -> Payload {
    Payload::ToolCallCompleted(payload::ToolCallCompleted {
        call_id: id.into(),
        summary: Some(summary.into()),
        duration_ms: 12,
        attempt: 1,
        ..Default::default()
    })
}

fn failed(id: &str, error: &str, error_type: &str) -> Payload {
    Payload::ToolCallFailed(payload::ToolCallFailed {
        call_id: id.into(),
        error: error.into(),
        error_type: error_type.into(),
        duration_ms: 1_250,
        attempt: 1,
        ..Default::default()
    })
}

fn finished() -> Payload {
    Payload::RunCompleted(payload::RunCompleted { final_text: "done".into(), ..Default::default() })
}

#[test]
fn a_run_reads_like_a_story() {
    let mut events = begun();
    events.extend([
        turn(0),
        delta(0, "I'll look at the script and run "),
        delta(0, "the test first, to see how it fa"),
        delta(0, "ils before I touch anything."),
        said(0, "I'll look at the script and run the test first, to see how it fails before I touch anything."),
        proposed("c1", "shell", json!({ "command": "sh test.sh" })),
        turn_done(),
        invoked("c1", "shell", "shell"),
        chunk("c1", "FAIL: 2 + 2 is 0\nexpected"),
        chunk("c1", " 4\n"),
        exited("c1", 1),
        failed("c1", "exit status 1", "tool"),
        turn(1),
        proposed("c2", "edit", json!({ "path": "add.sh", "old": "-", "new": "+" })),
        turn_done(),
        ApprovalRequested {
            approval_id: "apr_1".into(),
            tool_call_id: Some("c2".into()),
            tool_name: Some("edit".into()),
            kind: "edit".into(),
            patch_artifact_ids: Some(vec!["art_1".into()]),
            policy_reason: "edits in place are asked for".into(),
            ..Default::default()
        }
        .to_payload(),
        ApprovalResolved {
            approval_id: "apr_1".into(),
            decision: "approved".into(),
            by: "operator".into(),
            comment: "looks right".into(),
            ..Default::default()
        }
        .to_payload(),
        invoked("c2", "edit", "edit"),
        ToolEditProposed { tool_call_id: "c2".into(), patch_artifact_id: "art_1".into(), ..Default::default() }
            .to_payload(),
        completed("c2", "add.sh: +1 −1"),
        turn(2),
        said(0, "Fixed: it subtracted.\n\nThe test passes now."),
        turn_done(),
        finished(),
    ]);
    insta::assert_snapshot!(shown(look(60), events));
}

#[test]
fn parallel_calls_stay_apart() {
    let mut events = begun();
    events.extend([
        turn(0),
        proposed("c1", "shell", json!({ "command": "make slow" })),
        proposed("c2", "read", json!({ "path": "src/lib.rs" })),
        proposed("c3", "shell", json!({ "command": "make\nmake check" })),
        turn_done(),
        invoked("c1", "shell", "shell"),
        invoked("c2", "read", "file_read"),
        invoked("c3", "shell", "shell"),
        chunk("c1", "slow 1\n"),
        chunk("c3", "check 1\n"),
        completed("c2", "32 lines"),
        chunk("c1", "slow 2\n"),
        exited("c3", 0),
        completed("c3", ""),
        exited("c1", 0),
        completed("c1", ""),
    ]);
    insta::assert_snapshot!(shown(look(60), events));
}

#[test]
fn long_output_is_capped_and_its_end_is_shown() {
    let lines = |from: u32, to: u32| (from..=to).map(|n| format!("line {n}\n")).collect::<String>();
    let mut events = vec![turn(0), proposed("c1", "shell", json!({ "command": "seq" })), turn_done()];
    events.extend([invoked("c1", "shell", "shell"), chunk("c1", &lines(1, 10)), chunk("c1", &lines(11, 128))]);
    events.extend([chunk("c1", "no newline at the end"), exited("c1", 0), completed("c1", "")]);
    let short = shown(Look { output_lines: 3, ..look(60) }, events.clone());
    insta::assert_snapshot!(short);
    assert_eq!(shown(Look { verbose: true, ..look(60) }, events).matches("line").count(), 129);
}

#[test]
fn trouble_is_told_and_what_was_void_is_not_told_twice() {
    let upstream = ErrorUpstream {
        provider: "anthropic".into(),
        status: 529,
        message: "Overloaded".into(),
        retriable: true,
        attempt: 1,
        max_attempts: 3,
        ..Default::default()
    };
    let mut events = begun();
    events.extend([
        turn(0),
        delta(0, "Half an ans"),
        upstream.to_payload(),
        Payload::TurnFailed(payload::TurnFailed { will_retry: Some(true), ..Default::default() }),
        Payload::SideEffectRecorded(payload::SideEffectRecorded {
            name: "retry.delay_ms".into(),
            value: json::to_raw(&1200),
            ..Default::default()
        }),
        delta(0, "A whole answer."),
        said(0, "A whole answer."),
        proposed("c1", "shell", json!({ "command": "rm -rf /" })),
        turn_done(),
        PolicyToolBlocked {
            tool_call_id: "c1".into(),
            tool_name: "shell".into(),
            reason: "nothing outside of the workspace".into(),
            policy_id: Some("no-rm".into()),
            ..Default::default()
        }
        .to_payload(),
        CostBudgetWarning {
            threshold_pct: 80,
            cumulative_cost_micros_usd: 80_000,
            task_budget_micros_usd: 100_000,
            ..Default::default()
        }
        .to_payload(),
        GapRunDisconnected::default().to_payload(),
        Payload::RunResumed(payload::RunResumed { at_seq: 17, pending_calls: 1, ..Default::default() }),
        Payload::RunFailed(payload::RunFailed {
            error: "the model could not be reached".into(),
            error_type: "model_unreachable".into(),
            ..Default::default()
        }),
    ]);
    insta::assert_snapshot!(shown(look(60), events));
}

#[test]
fn a_question_shows_exactly_what_would_run() {
    let long = "printf '%s' ".to_owned() + &"x".repeat(80);
    let ask = |approval_id: &str, argv: Option<Vec<String>>, input: Value| ApprovalRequested {
        approval_id: approval_id.into(),
        tool_name: Some("github.create_issue".into()),
        input: input.as_object().cloned(),
        argv,
        cwd: Some("/home/me/project".into()),
        policy_reason: "programs are asked for".into(),
        approver: Some("human".into()),
        ..Default::default()
    };
    let shell = vec!["/bin/sh".into(), "-c".into(), long];
    let plain = vec!["git".into(), "commit".into(), "-m".into(), "it's done".into()];
    let events = vec![
        ask("a1", Some(shell), Value::Null).to_payload(),
        ask("a2", Some(plain), Value::Null).to_payload(),
        ask("a3", None, json!({ "title": "A bug", "body": "two\nlines" })).to_payload(),
        ApprovalResolved {
            approval_id: "a3".into(),
            decision: "rejected".into(),
            by: "operator".into(),
            comment: "not now".into(),
            ..Default::default()
        }
        .to_payload(),
    ];
    insta::assert_snapshot!(shown(look(60), events));
}

#[test]
fn lists_and_matches_are_shown_in_part() {
    let hit = |line| GrepMatch { path: "a.rs".into(), line, text: "  let x = 1;".into() };
    let todo = |content: &str, status: &str| Todo { content: content.into(), status: status.into() };
    let events = vec![
        turn(0),
        proposed("c1", "grep", json!({ "pattern": "let", "path": "src" })),
        turn_done(),
        invoked("c1", "grep", "grep"),
        ToolGrepCompleted {
            tool_call_id: "c1".into(),
            matches: (1..=9).map(hit).collect(),
            match_count: 9,
            ..Default::default()
        }
        .to_payload(),
        completed("c1", "9 matches in 1 file"),
        turn(1),
        proposed("c2", "todo_write", json!({ "todos": [] })),
        turn_done(),
        invoked("c2", "todo_write", "todo_write"),
        ToolTodoWriteUpdated {
            tool_call_id: "c2".into(),
            todos: vec![todo("look", "completed"), todo("mend", "in_progress"), todo("check", "pending")],
            ..Default::default()
        }
        .to_payload(),
        completed("c2", "3 things to do"),
    ];
    insta::assert_snapshot!(shown(look(60), events));
}

#[test]
fn thoughts_and_unknown_events_are_for_those_who_ask() {
    let events = vec![
        turn(0),
        Payload::ReasoningEmitted(payload::ReasoningEmitted { content: "Is it so?".into(), ..Default::default() }),
        Payload::Typed(typed("external.ci", &json!({ "build": 7 }))),
        Payload::Typed(typed("external.ci", &json!({ "build": 8 }))),
    ];
    assert_eq!(shown(look(60), events.clone()), "");
    insta::assert_snapshot!(shown(Look { verbose: true, thinking: true, ..look(60) }, events));
}

#[test]
fn phases_and_verdicts_stand_on_the_screen_and_what_the_model_is_told_of_them_does_not() {
    let decision = |gate_id: &str, verdict: &str, reason_code: &str, score| {
        GateDecision {
            round: 4,
            phase: "VERIFY".into(),
            boundary: "exit".into(),
            gate_id: gate_id.into(),
            verdict: verdict.into(),
            reason_code: reason_code.into(),
            threshold: 1000,
            score,
            ..Default::default()
        }
        .to_payload()
    };
    let seen = json!({ "gate": "VERIFY.exit/tests", "round": 4, "excerpt": "one\n\u{1b}[2Jtwo" });
    let of = format!("sha256:{}", "ab".repeat(32));
    let input = json!({ "gate_decision": of, "gate": "VERIFY.exit/review" });
    let actor = data::Actor { id: Some("ada".into()), ..Default::default() };
    let step = |from: &str, to: &str| {
        data::PhaseTransition { round: 3, from: from.into(), to: to.into(), ..Default::default() }.to_payload()
    };
    let events = vec![
        step("EXECUTE", "VERIFY"),
        Payload::UserMessageAppended(payload::UserMessageAppended {
            content: "Phase VERIFY. Check it.".into(),
            by: Some("system".into()),
            ..Default::default()
        }),
        decision("lint", "allow", "advisory", Some(850)),
        Payload::SideEffectRecorded(payload::SideEffectRecorded {
            name: GATE_EVIDENCE.into(),
            value: json::to_raw(&seen),
            ..Default::default()
        }),
        decision("tests", "block", "below_threshold", Some(500)),
        decision("review", "escalate", "no_cross_family_reviewer", None),
        data::PhaseTransitionRefused {
            round: 4,
            from: "VERIFY".into(),
            to: "COMMIT".into(),
            missing: vec!["VERIFY.exit/review".into(), "VERIFY.exit/tests".into()],
            ..Default::default()
        }
        .to_payload(),
        ApprovalRequested {
            approval_id: "appr_1".into(),
            kind: "gate".into(),
            summary: "override VERIFY.exit/review: escalate no_cross_family_reviewer of VERIFY>COMMIT".into(),
            policy_reason: "the gate cannot decide by itself".into(),
            input: input.as_object().cloned(),
            approver: Some("human".into()),
            ..Default::default()
        }
        .to_payload(),
        ApprovalResolved {
            approval_id: "appr_1".into(),
            decision: "approved".into(),
            by: "operator".into(),
            comment: "read it myself".into(),
            actor: Some(actor.clone()),
            ..Default::default()
        }
        .to_payload(),
        data::GateOverride { of, actor, reason: "read it myself".into(), ..Default::default() }.to_payload(),
        step("VERIFY", "COMMIT"),
    ];
    let text = shown(look(72), events);
    for line in [
        "▸ VERIFY from EXECUTE, round 3",
        "  ✓ VERIFY.exit/lint advisory (850 of 1000)",
        "  ✗ VERIFY.exit/tests below threshold (500 of 1000)",
        "    │ one",
        "  ? VERIFY.exit/review no cross family reviewer",
        "✗ VERIFY>COMMIT refused in round 4: VERIFY.exit/review, VERIFY.exit/tests",
        "! VERIFY.exit/review overridden by ada: read it myself",
        "▸ COMMIT from VERIFY, round 3",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
    assert!(!text.contains("Check it.") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn what_is_interjected_begins_a_line_and_what_streams_in_loses_no_word() {
    let mut live = Live::new("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap(), look(60));
    let mut out: String =
        [turn(0), delta(0, "It was a dark and st")].iter().map(|event| live.take(UnixNanos(0), event)).collect();
    out.push_str(&live.interject("stopping"));
    out.push_str(&live.interject("really"));
    out.push_str(&live.take(UnixNanos(0), &delta(0, "ormy night")));
    out.push_str(&live.take(UnixNanos(0), &said(0, "It was a dark and stormy night")));
    let plain = anstream::adapter::strip_str(&out).to_string();
    assert_eq!(plain, "● It was a dark and\n\n! stopping\n! really\n\n● stormy night\n");
}

#[test]
fn nothing_a_tool_prints_can_drive_the_terminal() {
    let events = vec![
        turn(0),
        delta(0, "\x1b[2J\u{202e}text "),
        said(0, "\x1b[2J\u{202e}text "),
        proposed("c1", "shell", json!({ "command": "printf '\x1b]0;x\x07'" })),
        turn_done(),
        invoked("c1", "shell", "shell"),
        chunk("c1", "10%\r100%\x1b[31m\x07 done\n"),
        exited("c1", 0),
        completed("c1", "\x1b[2J"),
    ];
    let mut live = Live::new("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap(), look(60));
    let out: String = events.iter().map(|event| live.take(UnixNanos(0), event)).collect();
    let plain = anstream::adapter::strip_str(&out).to_string();
    assert!(!out.contains(['\x07', '\u{202e}', '\r']), "{out:?}");
    assert!(plain.contains("\\u{1b}[2J") && plain.contains("100%\\u{1b}[31m"), "{plain}");
}
