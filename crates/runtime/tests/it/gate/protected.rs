//! Protected files that git does not see.

use r1_runtime::gate::{Outcome, gate_id};

use super::project::{Project, said};

/// Ignores what projects usually do.
async fn project() -> Project {
    let mut project = Project::new().await;
    project.write(".gitignore", ".env\n.claude/\n/node_modules/\n/large/\n").write("app/main.py", "").commit();
    project.write(".env", "KEY=old\n").write("app/.env", "KEY=app\n").write(".claude/settings.json", "{}");
    project.write("node_modules/x/.env", "KEY=theirs\n").write(".stoke/ledger/node", "R1's own");
    project.begin_task().await;
    project
}

async fn looked(project: &Project) -> Outcome {
    project.ask(&project.rule(gate_id::SCOPE, None), "EXECUTE.exit", "EXECUTE>VERIFY").await
}

#[tokio::test]
async fn stoke_23_a_protected_file_that_git_ignores_blocks_when_it_changes() {
    let project = project().await;
    let outcome = looked(&project).await;
    assert_eq!(said(&outcome), "allow nothing_to_check", "{}", outcome.evidence);
    for (path, before) in [(".env", "KEY=old\n"), ("app/.env", "KEY=app\n"), (".claude/settings.json", "{}")] {
        project.write(path, "other");
        let outcome = looked(&project).await;
        assert_eq!(said(&outcome), "block protected_path", "{path}");
        assert_eq!(outcome.evidence, format!("protected, though git does not see it: {path}\n"));
        std::fs::remove_file(project.dir.path().join(path)).unwrap();
        assert_eq!(said(&looked(&project).await), "block protected_path", "{path} is gone");
        project.write(path, before);
        assert_eq!(said(&looked(&project).await), "allow nothing_to_check", "{path} is back");
    }
    project.write(".claude/hooks/new.sh", "");
    assert_eq!(said(&looked(&project).await), "block protected_path", "a new one");
}

#[tokio::test]
async fn stoke_23_what_git_would_run_is_protected_and_what_it_keeps_is_not() {
    let project = project().await;
    project.git(&["config", "user.name", "t"]).git(&["branch", "other"]);
    project.write("app/main.py", "print()\n").git(&["add", "app"]);
    assert_eq!(said(&looked(&project).await), "allow nothing_to_check");
    project.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    let outcome = looked(&project).await;
    assert_eq!(said(&outcome), "block protected_path");
    assert!(outcome.evidence.contains(".git/hooks/pre-commit"), "{}", outcome.evidence);
}

#[tokio::test]
async fn stoke_23_packages_and_what_r1_writes_itself_do_not_matter() {
    let project = project().await;
    project.write("node_modules/y/.env.example", "").write("node_modules/x/CLAUDE.md", "");
    project.write(".stoke/ledger/other", "").write(".stoke/r1.session.json", "{}");
    let outcome = looked(&project).await;
    assert_eq!(said(&outcome), "allow nothing_to_check", "{}", outcome.evidence);
}

#[tokio::test]
async fn stoke_23_a_protected_file_that_git_sees_is_named_once() {
    let project = project().await;
    project.write("CLAUDE.md", "obey\n");
    let outcome = looked(&project).await;
    assert_eq!(
        (said(&outcome).as_str(), outcome.evidence.as_str()),
        ("block protected_path", "protected: CLAUDE.md\n")
    );
}
