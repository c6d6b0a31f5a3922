//! The end of a task in a working tree that was not clean when it began.

use r1_runtime::gate::Reason;

use super::project::{Project, git, said};

const FINE: &str = "allow nothing_to_check";

/// A task begins where someone has been at work: a committed file is changed, and another one is new.
async fn dirty() -> Project {
    let mut project = Project::new().await;
    project.write("src/a.rs", "fn a() {}\n").write("src/b.rs", "fn b() {}\n").commit();
    project.write("README.md", "# A project, half rewritten\n").write("notes.txt", "buy milk\n");
    project.begin_task().await;
    project
}

#[tokio::test]
async fn stoke_23_what_was_there_before_the_task_need_not_be_committed() {
    let mut project = dirty().await;
    project.write("src/a.rs", "fn a() { b() }\n").write("src/new.rs", "fn new() {}\n");
    std::fs::remove_file(project.dir.path().join("src/b.rs")).unwrap();
    project.verify().await;
    let outcome = project.at_the_end().await;
    assert_eq!((said(&outcome).as_str(), outcome.reason), ("block tree_changed", Reason::TreeChanged));
    for file in ["src/a.rs", "src/b.rs", "src/new.rs"] {
        assert!(outcome.evidence.contains(&format!("not committed: {file}\n")), "{}", outcome.evidence);
    }
    assert!(!outcome.evidence.contains("notes.txt") && !outcome.evidence.contains("README.md"));

    project.git(&["add", "src/a.rs", "src/new.rs"]).git(&["commit", "--quiet", "--message", "two of three"]);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), "block tree_changed", "{}", outcome.evidence);
    project.git(&["rm", "--quiet", "--cached", "src/b.rs"]).git(&["commit", "--quiet", "--message", "the third"]);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), FINE, "{}", outcome.evidence);
    assert!(outcome.evidence.contains("3 files that the task changed are committed as verified"));
}

#[tokio::test]
async fn stoke_23_what_was_there_before_and_the_task_changed_must_be_committed() {
    let mut project = dirty().await;
    project.write("notes.txt", "buy milk and bread\n").write("README.md", "# A project, all rewritten\n");
    project.verify().await;
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), "block tree_changed");
    assert!(outcome.evidence.contains("not committed: README.md\nnot committed: notes.txt\n"), "{}", outcome.evidence);
    project.commit();
    assert_eq!(said(&project.at_the_end().await), FINE);
}

#[tokio::test]
async fn stoke_23_what_was_there_before_may_be_committed_as_it_was() {
    let mut project = dirty().await;
    project.write("src/a.rs", "fn a() { b() }\n");
    project.verify().await;
    project.commit();
    assert_eq!(said(&project.at_the_end().await), FINE, "all of it at once: the commit is the verified tree");

    let mut project = dirty().await;
    project.write("src/a.rs", "fn a() { b() }\n");
    project.verify().await;
    project.git(&["commit", "--quiet", "--all", "--message", "what was known"]);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), FINE, "{}", outcome.evidence);
    assert!(outcome.evidence.contains("committed too, though the task did not change it: README.md"));
}

#[tokio::test]
async fn stoke_23_nothing_is_committed_that_was_not_verified() {
    let mut project = dirty().await;
    project.write("src/a.rs", "fn a() { b() }\n");
    project.verify().await;
    let finished = std::fs::read_to_string(project.dir.path().join("src/a.rs")).unwrap();
    project.write("src/a.rs", "fn a() { evil() }\n").git(&["commit", "--quiet", "--message", "x", "src/a.rs"]);
    project.write("src/a.rs", &finished);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), "block tree_changed");
    assert!(outcome.evidence.contains("committed otherwise than verified: src/a.rs"), "{}", outcome.evidence);

    project.git(&["commit", "--quiet", "--message", "as verified", "src/a.rs"]);
    assert_eq!(said(&project.at_the_end().await), FINE);
    // A third version of the user's file: neither that of the last commit nor that which was there.
    project.write("README.md", "# Nobody looked at this\n").git(&["commit", "--quiet", "--message", "y", "README.md"]);
    project.write("README.md", "# A project, half rewritten\n").write("late.rs", "fn late() {}\n");
    project.git(&["add", "late.rs"]).git(&["commit", "--quiet", "--message", "z"]);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), "block tree_changed");
    for file in ["README.md", "late.rs"] {
        assert!(outcome.evidence.contains(&format!("committed, but never verified: {file}")), "{}", outcome.evidence);
    }
}

#[tokio::test]
async fn stoke_23_files_that_appear_after_the_look_and_stay_uncommitted_do_not_matter() {
    let mut project = dirty().await;
    project.write("src/a.rs", "fn a() { b() }\n");
    project.verify().await;
    project.write("report.xml", "<tests/>").git(&["commit", "--quiet", "--message", "a", "src/a.rs"]);
    assert_eq!(said(&project.at_the_end().await), FINE);
}

#[tokio::test]
async fn stoke_23_a_task_that_changes_nothing_has_nothing_to_commit() {
    let mut project = dirty().await;
    project.verify().await;
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), FINE, "{}", outcome.evidence);
}

#[tokio::test]
async fn stoke_23_a_changed_file_that_is_put_back_as_it_was_committed_needs_no_commit() {
    let mut project = dirty().await;
    project.write("README.md", "# A project\n");
    project.verify().await;
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), FINE, "{}", outcome.evidence);
}

#[tokio::test]
async fn stoke_23_before_the_first_commit_of_a_repository_too_the_change_is_committed() {
    let mut project = Project::new().await;
    std::fs::remove_dir_all(project.dir.path().join(".git")).unwrap();
    git(project.dir.path(), &["init", "--quiet"]);
    project.begin_task().await;
    project.write("src/a.rs", "fn a() {}\n");
    project.verify().await;
    assert_eq!(said(&project.at_the_end().await), "block tree_changed");
    project.git(&["add", "src/a.rs"]).git(&["commit", "--quiet", "--message", "first"]);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), FINE, "{}", outcome.evidence);
}

#[tokio::test]
async fn stoke_23_only_the_workspace_counts_where_the_repository_is_larger() {
    let mut project = Project::new().await;
    project.write("inner/a.rs", "fn a() {}\n").commit();
    project.write("README.md", "# Outside, half rewritten\n").write("inner/notes.txt", "buy milk\n");
    project.context.workspace = project.dir.path().join("inner");
    project.begin_task().await;
    project.write("inner/a.rs", "fn a() { b() }\n");
    project.verify().await;
    assert_eq!(said(&project.at_the_end().await), "block tree_changed");
    project.git(&["commit", "--quiet", "--message", "a", "inner/a.rs"]);
    let outcome = project.at_the_end().await;
    assert_eq!(said(&outcome), FINE, "{}", outcome.evidence);
}
