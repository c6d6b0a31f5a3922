//! Presets: their tables, their files, and how each is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use r1_runtime::gate::{
    Boundary, Composite, GateRule, NotApplicable, Phase, Preset, PresetError, Scope, Side, Transition,
};

const OWN: &str = "
preset: own
composite: {threshold: 0.75, weights: {policy: 0, smoke: 2.5}}
gates:
  - {id: policy, threshold: 1, blocker: true}
  - {id: scope, threshold: 0.5}
  - {id: build, threshold: 1.0, command: make, timeout_s: 0.5}
  - {id: smoke, threshold: 0.333, at: [VERIFY.exit, EXECUTE.exit], command: ./smoke, when_not_applicable: escalate}
scope: {allow: [src/]}
";

#[test]
fn stoke_24_built_in_presets_are_those_of_the_table() {
    let table = [
        ("default", 800, "syntax 1000B 2000, tests 1000B 2000, lint 900 1000, review 800B 1500, scope 1000B 1000"),
        ("strict", 950, "syntax 1000B 2000, tests 1000B 2000, lint 1000B 1500, review 900B 2000, scope 1000B 1000"),
        ("fast", 600, "syntax 1000B 2000, tests 1000B 2000, lint 500 500, review 500 500, scope 800 1000"),
    ];
    for (name, threshold, gates) in table {
        let preset = Preset::builtin(name).unwrap();
        let row = |rule: &GateRule| {
            let blocker = if rule.blocker { "B" } else { "" };
            format!("{} {}{blocker} {}", rule.id, rule.threshold, preset.composite.weights[&rule.id])
        };
        let rows: Vec<_> = preset.gates.iter().map(row).collect();
        assert_eq!(rows.join(", "), format!("{gates}, secrets 1000B 0, policy 1000B 0"));
        assert_eq!((preset.name.as_str(), preset.composite.threshold), (name, threshold));
        let protected = [".stoke/", ".git/", ".env*", ".claude/", "CLAUDE.md", "r1.toml"];
        assert_eq!(preset.scope.protected, protected);
    }
}

#[test]
fn stoke_24_gates_stand_where_the_table_places_them() {
    let preset = Preset::builtin("default").unwrap();
    let required = |text: &str| {
        let transition: Transition = text.parse().unwrap();
        preset.required(transition).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(required("START>PLAN"), "PLAN.entry/policy");
    assert_eq!(required("PLAN>EXECUTE"), "EXECUTE.entry/policy PLAN.exit/scope");
    assert_eq!(
        required("EXECUTE>VERIFY"),
        "EXECUTE.exit/scope EXECUTE.exit/secrets EXECUTE.exit/syntax VERIFY.entry/policy"
    );
    assert_eq!(
        required("VERIFY>COMMIT"),
        "COMMIT.entry/policy COMMIT.entry/secrets VERIFY.exit/composite VERIFY.exit/lint VERIFY.exit/review VERIFY.exit/tests"
    );
    assert_eq!(required("COMMIT>END"), "COMMIT.exit/scope");
    assert_eq!(required("VERIFY>EXECUTE"), "EXECUTE.entry/policy");
}

#[test]
fn stoke_24_a_file_gives_the_whole_configuration_in_thousandths() {
    let preset = parse(OWN).unwrap();
    let weights = [("policy", 0), ("scope", 1000), ("smoke", 2500), ("syntax", 1000)];
    let weights: BTreeMap<_, _> = weights.map(|(id, weight)| (id.to_owned(), weight)).into();
    assert_eq!(preset.composite, Composite { threshold: 750, weights });
    let smoke = preset.rule("smoke").unwrap();
    assert_eq!((smoke.threshold, smoke.blocker, smoke.timeout_ms), (333, false, 600_000));
    assert_eq!(smoke.when_not_applicable, NotApplicable::Escalate);
    assert_eq!(smoke.at.iter().map(ToString::to_string).collect::<Vec<_>>(), ["EXECUTE.exit", "VERIFY.exit"]);
    // `build` is another name of `syntax`.
    let build = preset.rule("syntax").unwrap();
    assert_eq!((build.command.as_deref(), build.timeout_ms), (Some("make"), 500));
    assert_eq!(preset.scope.allow, ["src/"]);
    assert_eq!(preset.scope.protected, Preset::builtin("fast").unwrap().scope.protected);
    // What says the same has the same name, whatever it looks like.
    let other =
        OWN.replace("0.75", "0.750").replace("at: [VERIFY.exit, EXECUTE.exit]", "at: [EXECUTE.exit, VERIFY.exit]");
    assert_eq!(parse(&other).unwrap().hash(), preset.hash());
    assert_ne!(parse(&OWN.replace("0.75", "0.751")).unwrap().hash(), preset.hash());
    assert_eq!(preset.hash().len(), 64);
}

#[test]
fn stoke_24_a_preset_in_a_log_is_read_back() {
    let preset = parse(OWN).unwrap();
    let stored = serde_json::to_value(&preset).unwrap();
    assert_eq!(serde_json::from_value::<Preset>(stored).unwrap(), preset);
}

#[test]
fn stoke_24_what_is_no_preset_is_refused_and_says_why() {
    let gate = |n: usize| format!("  - {{id: own-{n}, threshold: 1, at: [VERIFY.exit], command: x}}\n");
    let more: String = (0..253).map(gate).collect();
    let cases = [
        (OWN.replace("gates:", "gates: []\nrest:"), "rest"),
        ("preset: x\ncomposite: {threshold: 1}\ngates: []".into(), "`gates` is empty"),
        ("preset: x\ngates: [{id: policy, threshold: 1}]".into(), "composite"),
        ("composite: {threshold: 1}\ngates: [{id: policy, threshold: 1}]".into(), "preset"),
        ("just a text".into(), "invalid type"),
        ("".into(), "invalid type"),
        (OWN.replace("command: ./smoke, ", ""), "no `command`"),
        (OWN.replace("at: [VERIFY.exit, EXECUTE.exit], ", ""), "stands nowhere"),
        (OWN.replace("VERIFY.exit", "VERIFY.leave"), "`VERIFY.leave` is no boundary"),
        (OWN.replace("VERIFY.exit", "START.exit"), "`START.exit` is no boundary"),
        (OWN.replace("  - {id: policy, threshold: 1, blocker: true}\n", ""), "no gate stands at PLAN.entry"),
        (OWN.replace("id: scope", "id: policy"), "twice"),
        (OWN.replace("id: smoke", "id: syntax"), "twice"),
        (OWN.replace("threshold: 0.333", "threshold: 0.3333"), "at most 3 decimals"),
        (OWN.replace("threshold: 0.333", "threshold: 1.001"), "from 0 to 1"),
        (OWN.replace("threshold: 0.333", "threshold: -0.1"), "-0.1"),
        (OWN.replace("threshold: 0.333", "threshold: \"0.3\""), "gates[3].threshold"),
        (OWN.replace("threshold: 0.333", "threshold: .nan"), "gates[3].threshold"),
        (OWN.replace("threshold: 0.75", "threshold: 1.5"), "composite.threshold"),
        (OWN.replace("smoke: 2.5", "smoke: -1"), "composite.weights"),
        (OWN.replace("smoke: 2.5", "smok: 2.5"), "there is no gate `smok`"),
        (OWN.replace("timeout_s: 0.5", "timeout_s: 0"), "timeout_s"),
        (OWN.replace("timeout_s: 0.5", "time: 1"), "unknown field `time`"),
        (OWN.replace("blocker: true", "blocker: 1"), "gates[0].blocker"),
        (OWN.replace("when_not_applicable: escalate", "when_not_applicable: block"), "unknown variant `block`"),
        (OWN.replace("allow: [src/]", "allow: [\"src/[b-a]\"]"), "`src/[b-a]` is no pattern"),
        (OWN.replace("id: smoke", "id: composite"), "under `composite`"),
        (OWN.replace("id: smoke", "id: Smoke/x"), "no name for a gate"),
        (OWN.replace("{id: scope,", "{id: scope, command: x,"), "runs no command"),
        (OWN.replace("command: ./smoke", "command: ' '"), "is empty"),
        (OWN.replace("./smoke", &"x".repeat((16 << 10) + 1)), "`command` of the gate `smoke` has 16385 bytes"),
        (OWN.replace("preset: own", &format!("preset: {}", "x".repeat(257))), "`preset` has 257 bytes"),
        (OWN.replace("scope: {allow", &format!("{more}scope: {{allow")), "there are 257 `gates`"),
        (format!("{OWN}extra: 1\n"), "unknown field `extra`"),
    ];
    for (text, why) in cases {
        match parse(&text) {
            Err(err @ PresetError::BadShape { .. }) => assert!(err.to_string().contains(why), "`{why}` not in: {err}"),
            other => panic!("{other:?}\n{text}"),
        }
    }
}

#[test]
fn stoke_24_missing_broken_and_malformed_files_are_three_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gates.yaml");
    let load = || Preset::load(dir.path(), Some(path.to_str().unwrap()));
    assert!(matches!(load(), Err(PresetError::Missing { .. })));
    for broken in ["gates: [", "a: 1\na: 2\n", "\u{1}", "- a\nb: c\n"] {
        fs::write(&path, broken).unwrap();
        assert!(matches!(load(), Err(PresetError::BadYaml { .. })), "{broken:?}: {:?}", load());
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(load(), Err(PresetError::BadYaml { .. })));
    fs::write(&path, "gates: 1\n").unwrap();
    assert!(matches!(load(), Err(PresetError::BadShape { .. })));
    fs::write(&path, OWN).unwrap();
    assert_eq!(load().unwrap().name, "own");
}

#[test]
fn stoke_24_the_projects_choice_counts_and_a_broken_one_is_never_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let stoke = dir.path().join(".stoke");
    let name = |choice| Preset::load(dir.path(), choice).map(|preset| preset.name);
    assert_eq!(name(None).unwrap(), "default");
    fs::create_dir_all(stoke.join("gates.d")).unwrap();
    fs::write(stoke.join("gates.d/default.yaml"), OWN.replace("preset: own", "preset: house")).unwrap();
    fs::write(stoke.join("gates.d/team.yaml"), OWN).unwrap();
    assert_eq!(name(None).unwrap(), "house");
    assert_eq!(name(Some("strict")).unwrap(), "strict");
    assert_eq!(name(Some("team")).unwrap(), "own");
    assert!(matches!(name(Some("other")), Err(PresetError::Unknown { .. })));

    std::os::unix::fs::symlink("gates.d/team.yaml", stoke.join("gates.yaml")).unwrap();
    assert_eq!(name(None).unwrap(), "own");
    fs::remove_file(stoke.join("gates.d/team.yaml")).unwrap();
    assert!(matches!(name(None), Err(PresetError::Missing { .. })));
    fs::write(stoke.join("gates.d/team.yaml"), "gates: [").unwrap();
    assert!(matches!(name(None), Err(PresetError::BadYaml { .. })));
    fs::remove_file(stoke.join("gates.yaml")).unwrap();
    fs::create_dir(stoke.join("gates.yaml")).unwrap();
    assert!(matches!(name(None), Err(PresetError::Missing { .. })));
    fs::write(stoke.join("gates.d/default.yaml"), "{").unwrap();
    assert!(matches!(name(Some("default")), Err(PresetError::BadYaml { .. })));
}

fn parse(text: &str) -> Result<Preset, PresetError> {
    Preset::parse(Path::new("gates.yaml"), text.as_bytes())
}

fn rule() -> impl Strategy<Value = GateRule> {
    let boundaries = prop::collection::btree_set(prop::sample::select(Boundary::ALL.to_vec()), 1..4);
    let command = "[ -~]{0,12}[!-~]";
    let not_applicable = prop::sample::select(vec![NotApplicable::Allow, NotApplicable::Escalate]);
    ("x[a-z0-9_-]{0,8}", 0..=1000u64, any::<bool>(), boundaries, command, 1..10_000_000u64, not_applicable).prop_map(
        |(id, threshold, blocker, at, command, timeout_ms, when_not_applicable)| GateRule {
            id,
            threshold,
            blocker,
            at: at.into_iter().collect(),
            command: Some(command),
            timeout_ms,
            when_not_applicable,
        },
    )
}

fn preset() -> impl Strategy<Value = Preset> {
    let patterns = || prop::collection::vec("[a-z]{1,6}/\\*\\*", 0..3);
    let rules = prop::collection::btree_map("x[a-z0-9_-]{0,8}", (rule(), 0..100_000_000u64), 1..5);
    ("[ -~]{0,10}[!-~]", prop::option::of("\\PC{0,20}"), 0..=1000u64, rules, patterns(), patterns()).prop_map(
        |(name, description, threshold, rules, allow, protected)| {
            let everywhere =
                GateRule { at: Boundary::ALL.to_vec(), ..Preset::builtin("default").unwrap().gates[6].clone() };
            let mut weights: BTreeMap<_, _> = rules.iter().map(|(id, (_, weight))| (id.clone(), *weight)).collect();
            weights.insert(everywhere.id.clone(), 1);
            let mut gates: Vec<_> = rules.into_iter().map(|(id, (rule, _))| GateRule { id, ..rule }).collect();
            gates.push(everywhere);
            let composite = Composite { threshold, weights };
            Preset { name, description, composite, gates, scope: Scope { allow, protected } }
        },
    )
}

proptest! {
    #[test]
    fn stoke_24_a_preset_written_to_a_file_is_read_back_as_it_was(preset in preset()) {
        let yaml = preset.to_yaml();
        let read = parse(&yaml).unwrap_or_else(|err| panic!("{err}\n{yaml}"));
        prop_assert_eq!(&read, &preset);
        prop_assert_eq!(read.hash(), preset.hash());
    }

    #[test]
    fn stoke_24_any_text_is_a_preset_or_one_of_the_errors(text in "\\PC{0,200}") {
        let elsewhere = matches!(parse(&text), Err(PresetError::Missing { .. } | PresetError::Unknown { .. }));
        prop_assert!(!elsewhere);
    }

    #[test]
    fn stoke_24_a_preset_that_is_read_has_a_gate_at_every_boundary(preset in preset(), gone in 0usize..3) {
        let kept = preset.gates.iter().skip(gone).cloned().collect();
        if let Ok(read) = parse(&Preset { gates: kept, ..preset }.to_yaml()) {
            for phase in [Phase::Plan, Phase::Execute, Phase::Verify, Phase::Commit] {
                for side in [Side::Entry, Side::Exit] {
                    let boundary = Boundary::new(phase, side).unwrap();
                    prop_assert!(read.rules().iter().any(|rule| rule.at.contains(&boundary)));
                }
            }
        }
    }
}
