//! Tools that change files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use r1_protocol::data::{
    ArtifactCreated, ArtifactStatus, ToolEditApplied, ToolEditProposed, ToolMultiEditApplied, ToolMultiEditProposed,
};
use r1_runtime::artifact;
use r1_runtime::tool::Subject;
use serde_json::json;

use super::stage::{SECRET, Stage};

#[tokio::test]
async fn an_edit_is_a_patch_that_is_shown_before_it_is_made() {
    let stage = Stage::new().await;
    stage.write("src/a.rs", "fn a() {}\nfn b() {}\n");
    let input = json!({ "path": "src/a.rs", "old_string": "fn b() {}", "new_string": "fn b() { a() }" });
    assert_eq!(stage.tool("edit").subject(&input).unwrap(), Subject::Edit { paths: vec!["src/a.rs".into()] });
    let call = stage.prepared("edit", input).await.unwrap();
    assert_eq!(stage.read("src/a.rs"), "fn a() {}\nfn b() {}\n", "nothing is changed before it is allowed");
    assert_eq!(stage.types(), ["artifact.created"]);
    let created = stage.events::<ArtifactCreated>().remove(0);
    assert_eq!((created.status, created.path.as_deref()), (Some(ArtifactStatus::Proposed), Some("src/a.rs")));
    let digest = created.digest.strip_prefix("blake3:").unwrap().parse().unwrap();
    let diff = artifact::read(&stage.store, digest).await.unwrap();
    assert_eq!(
        std::str::from_utf8(&diff).unwrap(),
        "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n\
         @@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn b() { a() }\n"
    );
    let output = stage.run("edit", &call).await.unwrap();
    assert_eq!(output.summary, "edit src/a.rs (+1 −1)");
    assert_eq!(stage.read("src/a.rs"), "fn a() {}\nfn b() { a() }\n");
    assert_eq!(
        stage.types(),
        ["artifact.created", "tool.edit.proposed", "tool.edit.applied", "artifact.updated", "artifact.updated"]
    );
    let proposed = stage.events::<ToolEditProposed>().remove(0);
    assert_eq!((proposed.patch_artifact_id.as_str(), proposed.auto_apply), (call.prepared.patches[0].as_str(), true));
    let applied = stage.events::<ToolEditApplied>().remove(0);
    let path = stage.context.workspace.path("src/a.rs").unwrap();
    let revision = stage.context.workspace.revision(&path).unwrap().unwrap();
    assert_eq!(applied.result_revision, Some(revision.to_string()));
}

#[tokio::test]
async fn exactly_what_was_shown_is_applied_or_nothing() {
    let stage = Stage::new().await;
    stage.write("a", "one\n");
    let input = json!({ "path": "a", "old_string": "one", "new_string": "two" });
    let call = stage.prepared("edit", input).await.unwrap();
    stage.write("a", "someone else: one\n");
    let error = stage.run("edit", &call).await.unwrap_err();
    assert!(error.message.contains("`a` has changed since"), "{}", error.message);
    assert_eq!(stage.read("a"), "someone else: one\n");
    assert_eq!(stage.types(), ["artifact.created", "tool.edit.proposed"]);
}

#[tokio::test]
async fn a_second_attempt_finds_the_work_done() {
    let stage = Stage::new().await;
    stage.write("a", "one\n");
    let input = json!({ "path": "a", "old_string": "one", "new_string": "two" });
    let mut call = stage.prepared("edit", input).await.unwrap();
    stage.run("edit", &call).await.unwrap();
    call.attempt = 2;
    stage.run("edit", &call).await.unwrap();
    assert_eq!(stage.read("a"), "two\n");
}

#[tokio::test]
async fn a_text_that_is_not_clear_is_refused_with_its_count() {
    let stage = Stage::new().await;
    stage.write("a", "x\nx\nx\n");
    let edit = |old: &str, all: bool| json!({ "path": "a", "old_string": old, "new_string": "y", "replace_all": all });
    let error = stage.call("edit", edit("x", false)).await.unwrap_err();
    assert!(error.message.contains("occurs 3 times"), "{}", error.message);
    let error = stage.call("edit", edit("z", false)).await.unwrap_err();
    assert!(error.message.contains("0 matches"), "{}", error.message);
    assert!(stage.types().is_empty());
    stage.call("edit", edit("x", true)).await.unwrap();
    assert_eq!(stage.read("a"), "y\ny\ny\n");
}

#[tokio::test]
async fn a_new_file_is_a_file_write_and_an_existing_one_an_edit() {
    let stage = Stage::new().await;
    let write = |content: &str| json!({ "path": stage.at("new/file").to_str().unwrap(), "content": content });
    stage.call("file_write", write("a\n")).await.unwrap();
    assert_eq!(stage.types()[1..3], ["tool.file_write.proposed", "tool.file_write.applied"]);
    fs::set_permissions(stage.at("new/file"), fs::Permissions::from_mode(0o700)).unwrap();
    stage.call("file_write", write("b\n")).await.unwrap();
    assert_eq!(stage.types()[6..8], ["tool.edit.proposed", "tool.edit.applied"]);
    assert_eq!(stage.read("new/file"), "b\n");
    assert_eq!(fs::metadata(stage.at("new/file")).unwrap().permissions().mode() & 0o777, 0o700);
    let events = stage.types().len();
    let output = stage.call("file_write", write("b\n")).await.unwrap();
    assert_eq!((output.summary.as_str(), stage.types().len()), ("no change", events));
}

#[tokio::test]
async fn several_edits_are_made_together_or_not_at_all() {
    let stage = Stage::new().await;
    stage.write("a", "one\n");
    stage.write("b", "two\n");
    let edits = |last: &str| {
        json!({ "path": "a", "edits": [
            { "old_string": "one", "new_string": "1" },
            { "old_string": "1", "new_string": "first" },
            { "path": "b", "old_string": last, "new_string": "second" },
        ]})
    };
    let error = stage.call("multi_edit", edits("three")).await.unwrap_err();
    assert!(error.message.starts_with("`b`: "), "{}", error.message);
    assert_eq!((stage.read("a"), stage.types().len()), ("one\n".into(), 0));
    stage.call("multi_edit", edits("two")).await.unwrap();
    assert_eq!((stage.read("a"), stage.read("b")), ("first\n".into(), "second\n".into()));
    let proposed = stage.events::<ToolMultiEditProposed>().remove(0);
    assert_eq!(proposed.paths, Some(vec!["a".into(), "b".into()]));
    let applied = stage.events::<ToolMultiEditApplied>().remove(0);
    assert_eq!(applied.patch_artifact_ids, proposed.patch_artifact_ids);
    assert_eq!(stage.types().iter().filter(|name| *name == "artifact.updated").count(), 4);
}

#[tokio::test]
async fn a_patch_in_either_form_creates_changes_renames_and_deletes() {
    let marked = "*** Begin Patch\n*** Add File: new/file\n+hello\n*** Update File: a.py\n*** Move to: b.py\n\
        @@ def g():\n-    return 1\n+    return 2\n*** Delete File: gone\n*** End Patch\n";
    let unified = "diff --git a/a.py b/b.py\nsimilarity index 80%\nrename from a.py\nrename to b.py\n--- a/a.py\n\
        +++ b/b.py\n@@ -3,2 +3,2 @@\n def g():\n-    return 1\n+    return 2\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
        diff --git a/new/file b/new/file\nnew file mode 100644\n--- /dev/null\n+++ b/new/file\n@@ -0,0 +1 @@\n+hello\n";
    for patch in [marked, unified] {
        let stage = Stage::new().await;
        stage.write("a.py", "def f():\n    return 1\ndef g():\n    return 1\n");
        stage.write("gone", "x\n");
        let input = json!({ "patch": patch });
        let Subject::Edit { paths } = stage.tool("apply_patch").subject(&input).unwrap() else { panic!() };
        assert_eq!(paths, ["a.py", "b.py", "gone", "new/file"]);
        stage.call("apply_patch", input).await.unwrap();
        assert_eq!(stage.read("b.py"), "def f():\n    return 1\ndef g():\n    return 2\n");
        assert_eq!(stage.read("new/file"), "hello\n");
        assert!(!stage.at("a.py").exists() && !stage.at("gone").exists());
    }
}

#[tokio::test]
async fn a_patch_that_does_not_fit_says_which_part_and_changes_nothing() {
    let stage = Stage::new().await;
    stage.write("a", "1\n2\n3\n");
    let patch = |text: &str| json!({ "patch": text });
    let twice = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -7,1 +7,1 @@\n-nothing like it\n+x\n";
    let error = stage.call("apply_patch", patch(twice)).await.unwrap_err();
    assert!(error.message.contains("hunk 2 does not fit"), "{}", error.message);
    let error = stage.call("apply_patch", patch("not a patch")).await.unwrap_err();
    assert!(error.message.contains("*** Begin Patch"), "{}", error.message);
    assert_eq!((stage.read("a"), stage.types().len()), ("1\n2\n3\n".into(), 0));
}

#[tokio::test]
async fn a_patch_with_a_secret_is_marked_and_not_rewritten() {
    let stage = Stage::new().await;
    let input = json!({ "path": ".env", "content": format!("VALUE={SECRET}\n") });
    let call = stage.prepared("file_write", input).await.unwrap();
    assert!(call.prepared.contains_secrets);
    let created = stage.events::<ArtifactCreated>().remove(0);
    assert_eq!(created.contains_secrets, Some(true));
    stage.run("file_write", &call).await.unwrap();
    assert_eq!(stage.read(".env"), format!("VALUE={SECRET}\n"));
}
