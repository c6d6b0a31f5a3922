//! `r1 skill new` with a person at the terminal.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::terminal::{CTRL_C, CTRL_D, Terminal};

/// What each question begins with, in order.
const ASKED: [&str; 9] = [
    "What is it called?",
    "What does it do",
    "When should an agent reach for it?",
    "What must be known before?",
    "Which steps, in order?",
    "Which tools may it use?",
    "What are examples?",
    "What must it not do?",
    "How does one see that it worked?",
];

/// The same answers as a person gives below, after all corrections.
const ANSWERS: &str = "
skill.name: fix-tests
skill.description: Fixes failing tests, one at a time
skill.when: A test fails.
skill.inputs: []
skill.steps: [Run it., Fix it.]
skill.tools: shell edit
skill.examples: []
skill.limits: Never delete a test.
skill.check: All tests pass.
";

/// Answers everything; an answer of several lines ends with an empty one.
fn answer_all(terminal: &mut Terminal) {
    let answers: [&[&str]; 9] = [
        &["fix-tests"],
        &["Fixes red tests"],
        &["A test fails.", ""],
        &[""],
        &["1. Run it.", "2. Fix it.", ""],
        &["shell, edit"],
        &[""],
        &["Never delete a test.", ""],
        &["All tests pass.", ""],
    ];
    for (question, lines) in ASKED.iter().zip(answers) {
        terminal.until(question);
        lines.iter().for_each(|line| terminal.enter(line));
    }
    terminal.until("Enter writes it");
}

/// The decisions of the last run.
fn decisions(sandbox: &Sandbox) -> Vec<Value> {
    let log = sandbox.ok(&["log", "show", "last", "--json"]);
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["type"] == "skill.authoring_decision").map(|event| event["data"].clone()).collect()
}

fn assert_nothing_was_made(sandbox: &Sandbox) {
    assert!(!sandbox.path("skills").exists(), "no folder, no file");
    assert!(!sandbox.home().join("r1.db").exists(), "no run");
}

#[test]
fn stoke_27_a_person_is_asked_at_the_terminal_and_corrects_what_they_said() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, &["skill", "new", "skills"]);
    answer_all(&mut terminal);
    assert!(!sandbox.path("skills").exists(), "nothing is written before the person says so");
    terminal.enter("10");
    terminal.until("type nothing, or one of the numbers");
    terminal.until("Enter writes it");
    terminal.enter("2");
    terminal.until(ASKED[1]);
    terminal.enter("Fixes failing tests, one at a time");
    let preview = terminal.until("Enter writes it");
    assert!(preview.contains("│ Fixes failing tests, one at a time") && !preview.contains("red tests"), "{preview}");
    terminal.enter("");
    let (last, code) = terminal.finish();
    assert_eq!(code, 0, "{last}");
    assert!(
        last.contains("skills/fix-tests/SKILL.md\n") && last.contains("how it was made: `r1 log show run_"),
        "{last}"
    );

    let decisions = decisions(&sandbox);
    let ids: Vec<_> = decisions.iter().map(|decision| decision["question_id"].as_str().unwrap()).collect();
    let all = ["name", "description", "when", "inputs", "steps", "tools", "examples", "limits", "check", "description"];
    assert_eq!(ids, all.map(|id| format!("skill.{id}")));
    for (step, decision) in decisions.iter().enumerate() {
        assert_eq!((&decision["step"], &decision["mode"]), (&step.into(), &"operator".into()), "{decision}");
        assert_eq!((&decision["confidence"], &decision["confirmed"]), (&1000.into(), &true.into()), "{decision}");
        assert_eq!(decision["revision_of"].is_string(), step == 9, "only the last one is a correction: {decision}");
    }
    assert_eq!(decisions[4]["answer"], "1. Run it.\n2. Fix it.");
    assert_eq!(decisions[4]["interpretation"], r#"["Run it.","Fix it."]"#);

    sandbox.ok(&["receipt", "create", "last", "-o", "run.receipt.json"]);
    let verified = sandbox.json(&["receipt", "verify", "run.receipt.json", "--json"]);
    assert_eq!((&verified["verdict"], &verified["types"]["SKILL_AUTHORING_DECISION"]), (&"VALID".into(), &10.into()));

    // A file with the same answers makes the same bytes.
    fs::write(sandbox.path("answers.yaml"), ANSWERS).unwrap();
    sandbox.ok(&["skill", "new", "again", "--answers", "answers.yaml"]);
    let read = |directory: &str| fs::read_to_string(sandbox.path(directory).join("fix-tests/SKILL.md")).unwrap();
    assert_eq!(read("skills"), read("again"));
}

#[test]
fn an_answer_that_will_not_do_is_asked_for_again_and_not_recorded() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, &["skill", "new", "skills"]);
    terminal.until(ASKED[0]);
    terminal.enter("Fix Tests");
    terminal.until("a name has 1 to 64 of a-z, 0-9 and single hyphens between them");
    terminal.until(ASKED[0]);
    terminal.enter("fix-tests");
    terminal.until(ASKED[1]);
    terminal.enter("   ");
    terminal.until("say something");
    terminal.until(ASKED[1]);
    terminal.enter("Fixes tests");
    for (question, line) in [(ASKED[2], "A test fails."), (ASKED[3], "its name")] {
        terminal.until(question);
        terminal.enter(line);
        terminal.enter("");
    }
    terminal.until(ASKED[4]);
    terminal.enter("");
    terminal.until("name at least one, each on a line of its own");
    terminal.until(ASKED[4]);
    for line in ["Fix it.", "", "", "", "", "It is green.", "", ""] {
        terminal.enter(line);
    }
    let (last, code) = terminal.finish();
    assert_eq!(code, 0, "{last}");
    assert_eq!(decisions(&sandbox).len(), 9, "one for each question");
    assert!(fs::read_to_string(sandbox.path("skills/fix-tests/SKILL.md")).unwrap().contains("1. Fix it."));
}

#[test]
fn a_wizard_that_is_left_midway_writes_nothing_and_records_nothing() {
    for (keys, code, words) in [(CTRL_C, 130, ""), (CTRL_D, 2, "the answers ended too early; nothing was written")] {
        let sandbox = Sandbox::new();
        let mut terminal = Terminal::start(&sandbox, &["skill", "new", "skills"]);
        terminal.until(ASKED[0]);
        terminal.enter("fix-tests");
        terminal.until(ASKED[1]);
        terminal.press(keys);
        let (last, exit) = terminal.finish();
        assert_eq!(exit, code, "{last}");
        assert!(last.contains(words), "{last}");
        assert_nothing_was_made(&sandbox);
    }
    // Also with everything answered: only the last word counts.
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, &["skill", "new", "skills"]);
    answer_all(&mut terminal);
    terminal.press(CTRL_C);
    assert_eq!(terminal.finish().1, 130);
    assert_nothing_was_made(&sandbox);
}

#[test]
fn stoke_27_what_a_model_proposes_counts_when_the_person_agrees() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("few.yaml"), "skill.name: x\nskill.description: does x").unwrap();
    let ids = ["when", "inputs", "steps", "tools", "examples", "limits", "check"];
    let answers: Vec<_> =
        ids.iter().map(|id| format!(r#""skill.{id}":{{"answer":"my {id}","confidence":700}}"#)).collect();
    fs::write(sandbox.path("scenario.yaml"), format!("turns: [{{ text: 'Here: {{{}}}' }}]", answers.join(",")))
        .unwrap();
    let args = ["skill", "new", "skills", "--answers", "few.yaml", "--auto", "--scenario", "scenario.yaml"];
    let mut terminal = Terminal::start(&sandbox, &args);
    for (id, question) in ids.iter().zip(&ASKED[2..]) {
        terminal.until(question);
        terminal.until(&format!("  my {id}"));
        terminal.until("sure by 700 of 1000; Enter takes it, n asks you");
        if *id == "check" {
            terminal.enter("n");
            terminal.until(question);
            terminal.enter("The tests are green.");
        }
        terminal.enter("");
    }
    terminal.until("Enter writes it");
    terminal.enter("");
    let (last, code) = terminal.finish();
    assert_eq!(code, 0, "{last}");
    let decisions = decisions(&sandbox);
    let [.., taken, refused, corrected] = &decisions[..] else { panic!("{decisions:?}") };
    let told = |decision: &Value| json!([decision["question_id"], decision["mode"], decision["confirmed"]]);
    assert_eq!(told(taken), json!(["skill.limits", "llm-best-judgment", true]));
    assert_eq!(told(refused), json!(["skill.check", "llm-best-judgment", false]));
    assert_eq!(told(corrected), json!(["skill.check", "operator", true]));
    assert!(corrected["revision_of"].is_string() && taken["revision_of"].is_null(), "{decisions:?}");
    let skill = fs::read_to_string(sandbox.path("skills/x/SKILL.md")).unwrap();
    assert!(skill.contains("The tests are green.") && !skill.contains("my check"), "{skill}");
}
