//! Every gate but the review: what it allows, blocks and escalates.

use r1_protocol::data::GateVerdict;
use r1_runtime::gate::{GateRule, NotApplicable, Preset, Scope, Verified, gate_id};
use r1_runtime::policy::{Action, ApprovalMode, Policy, Rule};
use std::sync::Arc;

use super::project::{Project, said};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

#[tokio::test]
async fn stoke_23_syntax_counts_the_files_that_parse() {
    let project = Project::new().await;
    assert_eq!(project.said(gate_id::SYNTAX, None).await, "allow nothing_to_check");
    project.write("picture.bin", "\u{1}\u{2}");
    assert_eq!(project.said(gate_id::SYNTAX, None).await, "allow nothing_to_check");
    let strict = GateRule { when_not_applicable: NotApplicable::Escalate, ..project.rule(gate_id::SYNTAX, None) };
    assert_eq!(said(&project.ask(&strict, "EXECUTE.exit", "EXECUTE>VERIFY").await), "escalate nothing_to_check");

    project.write("a.json", "{\"a\": 1}").write("run.sh", "if true; then echo; fi\n").write("b.toml", "a = 1\n");
    let outcome = project.outcome(gate_id::SYNTAX, None).await;
    assert_eq!((said(&outcome), outcome.score), ("allow passed".into(), Some(1000)), "{}", outcome.evidence);

    project.write("broken.sh", "if true; then\n");
    let outcome = project.outcome(gate_id::SYNTAX, None).await;
    assert_eq!((said(&outcome), outcome.score), ("block below_threshold".into(), Some(750)), "{}", outcome.evidence);
    assert!(outcome.evidence.contains("broken.sh") && outcome.evidence.contains("picture.bin"), "{}", outcome.evidence);
}

#[tokio::test]
async fn stoke_23_a_build_command_decides_alone() {
    let project = Project::new().await;
    project.write("broken.json", "{");
    assert_eq!(project.said(gate_id::SYNTAX, Some("true")).await, "allow passed");
    assert_eq!(project.said(gate_id::SYNTAX, Some("false")).await, "block below_threshold");
    never_allowed(&project, gate_id::SYNTAX).await;
}

#[tokio::test]
async fn stoke_23_tests_count_what_ran_and_what_passed() {
    let mut project = Project::new().await;
    assert_eq!(project.said(gate_id::TESTS, None).await, "escalate not_configured");
    assert_eq!(project.said(gate_id::TESTS, Some("echo '3 passed in 0.01s'")).await, "allow passed");
    let half = project.outcome(gate_id::TESTS, Some("echo '1 failed, 1 passed in 0.01s'; exit 1")).await;
    assert_eq!((said(&half), half.score, half.exit_code), ("block below_threshold".into(), Some(500), Some(1)));
    // What a runner says counts, also if its exit code is lost on the way.
    let lost =
        project.outcome(gate_id::TESTS, Some("echo 'test result: FAILED. 3 passed; 1 failed; 0 ignored;'")).await;
    assert_eq!((said(&lost), lost.score), ("block below_threshold".into(), Some(750)));
    // All passed, and yet it failed: something fell over that no test stands for.
    let after = project.outcome(gate_id::TESTS, Some("echo '3 passed in 0.01s'; exit 1")).await;
    assert_eq!((said(&after), after.score), ("block below_threshold".into(), Some(750)));
    for nothing in ["true", "echo 'no tests ran in 0.01s'; exit 5", "echo 'test result: ok. 0 passed; 0 failed;'"] {
        assert_eq!(project.said(gate_id::TESTS, Some(nothing)).await, "escalate no_tests_ran", "{nothing}");
    }
    // A runner that is not known counts as one test.
    assert_eq!(project.said(gate_id::TESTS, Some("echo fine")).await, "allow passed");
    assert_eq!(project.said(gate_id::TESTS, Some("echo bad; exit 3")).await, "block below_threshold");
    never_allowed(&project, gate_id::TESTS).await;

    project.criterion("test -f README.md").criterion("test -f missing");
    let criteria = project.outcome(gate_id::TESTS, None).await;
    assert_eq!((said(&criteria), criteria.score), ("block below_threshold".into(), Some(500)));
    assert!(criteria.evidence.contains("ac-1: met") && criteria.evidence.contains("ac-2: not met"));
    project.write("missing", "");
    assert_eq!(project.said(gate_id::TESTS, None).await, "allow passed");
}

#[tokio::test]
async fn stoke_23_a_criterion_that_crashes_or_hangs_is_not_met() {
    for crashes in ["kill -9 $$", "no-such-program-anywhere"] {
        let mut project = Project::new().await;
        project.criterion("true").criterion(crashes);
        let outcome = project.outcome(gate_id::TESTS, None).await;
        assert_eq!((said(&outcome), outcome.score), ("block below_threshold".into(), Some(500)), "{crashes}");
        assert!(outcome.evidence.contains("ac-2: not met"), "{}", outcome.evidence);
    }
    let mut project = Project::new().await;
    project.criterion("true").criterion("sleep 1000");
    let rule = GateRule { timeout_ms: 300, ..project.rule(gate_id::TESTS, None) };
    assert_eq!(said(&project.ask(&rule, "VERIFY.exit", "VERIFY>COMMIT").await), "block timeout");
}

#[tokio::test]
async fn stoke_23_lint_counts_changed_files_without_findings() {
    let project = Project::new().await;
    assert_eq!(project.said(gate_id::LINT, None).await, "escalate not_configured");
    for name in ["a.py", "b.py", "c.py", "d.py"] {
        project.write(name, "pass\n");
    }
    assert_eq!(project.said(gate_id::LINT, Some("true")).await, "allow passed");
    let one = project.outcome(gate_id::LINT, Some("echo 'a.py:1:1: E501'; exit 1")).await;
    assert_eq!((said(&one), one.score), ("allow advisory".into(), Some(750)));
    // What stands in a file that did not change is not held against the change.
    let old = project.outcome(gate_id::LINT, Some("echo 'README.md:1: long'; exit 1")).await;
    assert_eq!((said(&old), old.score), ("allow passed".into(), Some(1000)));
    let blind = project.outcome(gate_id::LINT, Some("echo 'cannot read the settings' >&2; exit 2")).await;
    assert_eq!((said(&blind), blind.score), ("allow advisory".into(), Some(0)));
    let strict = GateRule { blocker: true, ..project.rule(gate_id::LINT, Some("echo a.py:1:1: no; exit 1")) };
    assert_eq!(said(&project.ask(&strict, "VERIFY.exit", "VERIFY>COMMIT").await), "block below_threshold");
    never_allowed(&project, gate_id::LINT).await;
}

#[tokio::test]
async fn stoke_23_a_gate_of_ones_own_is_its_command() {
    let project = Project::new().await;
    let own = "licences";
    assert_eq!(project.said(own, Some("true")).await, "allow passed");
    assert_eq!(project.said(own, Some("exit 10")).await, "escalate ask_by_policy");
    assert_eq!(project.said(own, Some("exit 1")).await, "block below_threshold");
    assert_eq!(project.said(own, None).await, "escalate gate_error");
    for broken in ["r1-no-such-program", "./README.md", "bash -c 'kill -SEGV $$'; exit $?"] {
        let outcome = project.outcome(own, Some(broken)).await;
        assert_eq!((said(&outcome).as_str(), outcome.score), ("block below_threshold", Some(0)), "{broken}");
        assert!(outcome.exit_code.is_some_and(|code| code > 125), "{broken}");
    }
    assert_eq!(project.said(own, Some("kill -KILL $$")).await, "escalate gate_error", "it gave no exit code");
    too_slow(&project, own, "block timeout").await;
}

#[tokio::test]
async fn stoke_23_secrets_are_found_in_what_is_new() {
    let mut project = Project::new().await;
    project.write("old.txt", &format!("token = {TOKEN}\n")).commit();
    project.write("fine.txt", "nothing here\n");
    assert_eq!(project.said(gate_id::SECRETS, None).await, "allow passed");

    project.write("src/new.rs", &format!("fn f() {{}}\nconst T: &str = \"{TOKEN}\";\n"));
    let outcome = project.outcome(gate_id::SECRETS, None).await;
    assert_eq!((said(&outcome), outcome.score), ("block finding".into(), Some(0)));
    assert!(outcome.evidence.contains("src/new.rs:2") && !outcome.evidence.contains(TOKEN), "{}", outcome.evidence);

    let hash = outcome.evidence.split_whitespace().find(|word| word.len() == 64).unwrap().to_owned();
    project.write(".stoke/secrets.allow", &format!("# made up\n{hash} an example\n"));
    let allowed = project.outcome(gate_id::SECRETS, None).await;
    assert_eq!((said(&allowed), allowed.score), ("allow passed".into(), Some(1000)));
    assert!(allowed.evidence.contains("findings: 0, allowed by .stoke/secrets.allow: 1"), "{}", allowed.evidence);

    project.context.commit_message = Some(format!("use {TOKEN}"));
    assert_eq!(project.said(gate_id::SECRETS, None).await, "block finding");
    project.context.commit_message = None;
    std::fs::remove_file(project.dir.path().join(".stoke/secrets.allow")).unwrap();
    std::fs::create_dir(project.dir.path().join(".stoke/secrets.allow")).unwrap();
    assert_eq!(project.said(gate_id::SECRETS, None).await, "escalate gate_error");
}

#[tokio::test]
async fn stoke_23_the_rules_say_what_the_next_phase_may_do() {
    let mut project = Project::new().await;
    let rule = |id: &str, action, tool: &str| Rule {
        id: id.into(),
        action,
        tool: Some(tool.into()),
        command: Vec::new(),
        path: None,
        host: None,
        mcp: None,
        approver: Default::default(),
        reason: None,
    };
    let gate = project.rule(gate_id::POLICY, None);
    let entries = [("PLAN.entry", "START>PLAN"), ("EXECUTE.entry", "PLAN>EXECUTE"), ("COMMIT.entry", "VERIFY>COMMIT")];
    for (at, on) in entries {
        assert_eq!(said(&project.ask(&gate, at, on).await), "allow passed", "{on}");
    }
    project.context.rules.policy.rules = vec![rule("hands-off", Action::Deny, "phase.commit")];
    assert_eq!(said(&project.ask(&gate, "COMMIT.entry", "VERIFY>COMMIT").await), "block denied_by_policy");
    assert_eq!(said(&project.ask(&gate, "PLAN.entry", "START>PLAN").await), "allow passed");
    project.context.rules.policy.rules = vec![rule("ask-first", Action::Ask, "git")];
    assert_eq!(said(&project.ask(&gate, "COMMIT.entry", "VERIFY>COMMIT").await), "escalate ask_by_policy");

    let keep = Rule { path: Some("secret/**".into()), ..rule("keep", Action::Deny, "edit") };
    project.context.rules.policy.rules = vec![keep];
    project.context.declared = vec!["src/a.rs".into()];
    assert_eq!(said(&project.ask(&gate, "EXECUTE.entry", "PLAN>EXECUTE").await), "allow passed");
    project.context.declared.push("secret/key".into());
    assert_eq!(said(&project.ask(&gate, "EXECUTE.entry", "PLAN>EXECUTE").await), "block denied_by_policy");

    let no_make = Rule { command: vec!["make".into()], ..rule("no-make", Action::Deny, "shell") };
    project.context.rules.policy.rules = vec![no_make];
    project.write("Makefile", "test:\n\ttrue\n");
    assert_eq!(said(&project.ask(&gate, "VERIFY.entry", "EXECUTE>VERIFY").await), "block denied_by_policy");

    project.context.rules.policy = Policy::default();
    project.context.rules.mode = ApprovalMode::ReadOnly;
    assert_eq!(said(&project.ask(&gate, "EXECUTE.entry", "PLAN>EXECUTE").await), "block denied_by_policy");

    project.context.rules.policy.rules = vec![rule("", Action::Allow, "*")];
    assert_eq!(said(&project.ask(&gate, "PLAN.entry", "START>PLAN").await), "block gate_error");
}

#[tokio::test]
async fn stoke_23_scope_looks_at_changed_and_declared_files() {
    let mut project = Project::new().await;
    let gate = project.rule(gate_id::SCOPE, None);
    let executed = ("EXECUTE.exit", "EXECUTE>VERIFY");
    project.write("src/a.rs", "").write("src/b.rs", "").write("docs/c.md", "");
    assert_eq!(said(&project.ask(&gate, executed.0, executed.1).await), "allow nothing_to_check");
    let careful = GateRule { when_not_applicable: NotApplicable::Escalate, ..gate.clone() };
    assert_eq!(said(&project.ask(&careful, executed.0, executed.1).await), "escalate nothing_to_check");

    allow(&mut project, &["src/"]);
    let outside = project.ask(&gate, executed.0, executed.1).await;
    assert_eq!((said(&outside), outside.score), ("block out_of_scope".into(), Some(666)));
    assert!(outside.evidence.contains("docs/c.md"));
    let advice = GateRule { blocker: false, ..gate.clone() };
    assert_eq!(said(&project.ask(&advice, executed.0, executed.1).await), "allow advisory");
    allow(&mut project, &["src/", "*.md"]);
    assert_eq!(said(&project.ask(&gate, executed.0, executed.1).await), "allow passed");

    project.context.declared = vec!["src/a.rs".into()];
    assert_eq!(said(&project.ask(&gate, "PLAN.exit", "PLAN>EXECUTE").await), "allow passed");
    project.context.declared.push("lib/x.rs".into());
    assert_eq!(said(&project.ask(&gate, "PLAN.exit", "PLAN>EXECUTE").await), "block out_of_scope");
    project.context.declared = vec![".env".into()];
    assert_eq!(said(&project.ask(&gate, "PLAN.exit", "PLAN>EXECUTE").await), "block protected_path");

    // Without a list of the preset's own, what was declared is the list.
    allow(&mut project, &[]);
    project.context.declared = vec!["src/a.rs".into(), "src/b.rs".into()];
    assert_eq!(said(&project.ask(&gate, executed.0, executed.1).await), "block out_of_scope");
    project.context.declared.push("./docs/c.md".into());
    assert_eq!(said(&project.ask(&gate, executed.0, executed.1).await), "allow passed");
}

#[tokio::test]
async fn stoke_23_protected_files_block_also_where_scope_only_advises() {
    for path in [".stoke/gates.yaml", ".env.local", ".claude/settings.json", "CLAUDE.md", "r1.toml"] {
        let project = Project::new().await;
        project.write(path, "x");
        let advice = GateRule { blocker: false, threshold: 0, ..project.rule(gate_id::SCOPE, None) };
        assert_eq!(
            said(&project.ask(&advice, "EXECUTE.exit", "EXECUTE>VERIFY").await),
            "block protected_path",
            "{path}"
        );
    }
}

#[tokio::test]
async fn stoke_23_what_is_committed_must_be_what_was_verified() {
    let mut project = Project::new().await;
    let gate = project.rule(gate_id::SCOPE, None);
    let end = ("COMMIT.exit", "COMMIT>END");
    assert_eq!(said(&project.ask(&gate, end.0, end.1).await), "escalate gate_error");
    project.write("src/a.rs", "fn a() {}\n");
    let tests = project.context.preset.rule(gate_id::TESTS).unwrap();
    let verified = project.ask(&tests, "VERIFY.exit", "VERIFY>COMMIT").await;
    project.context.verified = Some(Verified { gate_id: gate_id::TESTS.into(), inputs_hash: verified.inputs_hash });
    assert_eq!(said(&project.ask(&gate, end.0, end.1).await), "block tree_changed");
    project.commit();
    assert_eq!(said(&project.ask(&gate, end.0, end.1).await), "allow nothing_to_check");
    project.write("src/late.rs", "").commit();
    assert_eq!(said(&project.ask(&gate, end.0, end.1).await), "block tree_changed");
}

#[tokio::test]
async fn stoke_24_the_composite_is_a_weighted_mean_rounded_down() {
    let mut project = Project::new().await;
    let nothing = project.outcome(gate_id::COMPOSITE, None).await;
    assert_eq!(said(&nothing), "escalate not_configured");
    for (id, score) in [("syntax", 1000), ("tests", 0), ("scope", 1000), ("lint", 850), ("review", 800)] {
        project.earlier(id, Some(score));
    }
    // The latest decision that has a score counts.
    project.earlier("tests", Some(1000));
    project.earlier("tests", None);
    let example = project.outcome(gate_id::COMPOSITE, None).await;
    assert_eq!((said(&example), example.score), ("allow passed".into(), Some(940)));
    assert_eq!(example.excluded, Vec::<String>::new());

    project.context.earlier.clear();
    project.earlier("tests", Some(799));
    project.earlier("secrets", Some(1000));
    let below = project.outcome(gate_id::COMPOSITE, None).await;
    assert_eq!((said(&below), below.score), ("block composite_below".into(), Some(799)));
    assert_eq!(below.excluded, ["lint", "review", "scope", "syntax"]);

    // (2 × 800 + 799) / 3 is 799⅔, and that is below 800.
    project.context.earlier.clear();
    project.earlier("tests", Some(800));
    project.earlier("lint", Some(799));
    let almost = project.outcome(gate_id::COMPOSITE, None).await;
    assert_eq!((said(&almost), almost.score), ("block composite_below".into(), Some(799)));
}

#[tokio::test]
async fn stoke_23_evidence_and_command_hold_no_secret() {
    let project = Project::new().await;
    let outcome = project.outcome(gate_id::TESTS, Some(&format!("echo token={TOKEN}"))).await;
    assert!(outcome.evidence.contains("[redacted:") && !outcome.evidence.contains(TOKEN), "{}", outcome.evidence);
    assert!(!outcome.command.unwrap().contains(TOKEN));
}

#[tokio::test]
async fn stoke_23_the_inputs_are_named_by_gate_configuration_and_tree() {
    let project = Project::new().await;
    let hash = async |command| project.outcome(gate_id::TESTS, Some(command)).await.inputs_hash;
    let first = hash("true").await;
    assert_eq!((first.len(), hash("true").await == first), (64, true));
    assert_ne!(hash("false").await, first);
    project.write("new.txt", "x");
    assert_ne!(hash("true").await, first);
}

#[tokio::test]
async fn stoke_23_no_gate_allows_what_it_cannot_look_at() {
    let mut project = Project::new().await;
    project.context.base = r1_runtime::gate::Base::Revision("no-such-revision".into());
    for id in project.context.preset.rules().into_iter().map(|rule| rule.id) {
        let outcome = project.outcome(&id, None).await;
        let verdict = if id == gate_id::POLICY { GateVerdict::Block } else { GateVerdict::Escalate };
        assert_eq!((outcome.verdict, outcome.reason.as_str()), (verdict, "gate_error"), "{id}");
    }
}

#[tokio::test]
async fn stoke_23_a_cancelled_gate_does_not_allow() {
    let project = Project::new().await;
    project.context.cancel.cancel();
    for id in [gate_id::TESTS, gate_id::LINT, gate_id::SYNTAX, "own"] {
        assert_eq!(project.said(id, Some("sleep 60")).await, "escalate gate_error", "{id}");
    }
}

/// A command of a gate of R1's that is not there, crashes or takes too long.
async fn never_allowed(project: &Project, id: &str) {
    let crashed = ["r1-no-such-program", "kill -KILL $$", "bash -c 'kill -SEGV $$'; exit $?", "./README.md"];
    for command in crashed {
        assert_eq!(project.said(id, Some(command)).await, "escalate gate_error", "{id}: {command}");
    }
    too_slow(project, id, if id == gate_id::TESTS { "block timeout" } else { "escalate gate_error" }).await;
}

/// A command that takes too long, of a gate that would let everything else pass.
async fn too_slow(project: &Project, id: &str, expected: &str) {
    let hasty = GateRule { timeout_ms: 50, blocker: false, threshold: 0, ..project.rule(id, Some("sleep 60")) };
    assert_eq!(said(&project.ask(&hasty, "VERIFY.exit", "VERIFY>COMMIT").await), expected, "{id}");
}

fn allow(project: &mut Project, patterns: &[&str]) {
    let preset = Preset::clone(&project.context.preset);
    let scope = Scope { allow: patterns.iter().map(|text| (*text).to_owned()).collect(), ..preset.scope };
    project.context.preset = Arc::new(Preset { scope, ..preset });
}
