//! No tool leads out of the workspace.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::stage::Stage;

/// Every way of naming a file outside, as each tool would take it.
fn attempts(path: &str) -> Vec<(&'static str, Value)> {
    let (begin, end) = ("*** Begin Patch\n", "*** End Patch\n");
    vec![
        ("file_read", json!({ "path": path })),
        ("file_write", json!({ "path": path, "content": "owned" })),
        ("edit", json!({ "path": path, "old_string": "secret", "new_string": "owned" })),
        ("multi_edit", json!({ "edits": [{ "path": path, "old_string": "secret", "new_string": "owned" }] })),
        ("apply_patch", json!({ "patch": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-secret\n+owned\n") })),
        ("apply_patch", json!({ "patch": format!("{begin}*** Delete File: {path}\n{end}") })),
        (
            "apply_patch",
            json!({ "patch": format!("{begin}*** Update File: mine\n*** Move to: {path}\n-mine\n+x\n{end}") }),
        ),
        ("grep", json!({ "pattern": "secret", "path": path })),
        ("glob", json!({ "pattern": "*", "path": path })),
    ]
}

#[tokio::test]
async fn no_tool_reads_or_changes_a_file_outside() {
    let stage = Stage::new().await;
    let outside = stage.outside().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "secret\n").unwrap();
    stage.write("mine", "mine\n");
    symlink(&outside, stage.at("link")).unwrap();
    symlink("../outside", stage.at("relative")).unwrap();
    symlink(outside.join("file"), stage.at("file_link")).unwrap();
    symlink(outside.join("new"), stage.at("dangling")).unwrap();
    symlink("/proc/self/root", stage.at("magic")).unwrap();
    let absolute = outside.join("file").display().to_string();
    for path in [
        "../outside/file",
        "sub/../../outside/file",
        &absolute,
        &format!("/proc/self/root{absolute}"),
        &format!("magic{absolute}"),
        "link/file",
        "relative/file",
        "file_link",
        "dangling",
        "link/new",
    ] {
        for (tool, input) in attempts(path) {
            let result = stage.call(tool, input).await;
            let text = match &result {
                Ok(output) => output.output.to_string(),
                Err(error) => error.message.clone(),
            };
            assert!(result.is_err(), "{tool} {path}: {text}");
            assert!(!text.contains("secret\n"), "{tool} {path}: {text}");
        }
    }
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "secret\n");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(stage.read("mine"), "mine\n");
    // What goes through the whole workspace does not go through links.
    let found = stage.call("grep", json!({ "pattern": "secret" })).await.unwrap();
    assert!(found.output.as_str().unwrap().starts_with("no line matches"), "{:?}", found.output);
    let found = stage.call("glob", json!({ "pattern": "**" })).await.unwrap();
    assert_eq!(found.output, json!("mine\n"));
}

#[tokio::test]
async fn a_second_name_of_a_file_outside_is_not_written() {
    let stage = Stage::new().await;
    let file = stage.outside().join("file");
    fs::write(&file, "secret\n").unwrap();
    fs::hard_link(&file, stage.at("second")).unwrap();
    for (tool, input) in [
        ("file_write", json!({ "path": "second", "content": "owned" })),
        ("edit", json!({ "path": "second", "old_string": "secret", "new_string": "owned" })),
        ("apply_patch", json!({ "patch": "*** Begin Patch\n*** Delete File: second\n*** End Patch" })),
    ] {
        let error = stage.call(tool, input).await.unwrap_err();
        assert!(error.message.contains("2 hard links"), "{}", error.message);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "secret\n");
}

#[tokio::test]
async fn what_git_runs_programs_from_is_not_edited() {
    let stage = Stage::new().await;
    stage.write(".git/config", "[core]\n");
    for path in [".git/config", ".git/hooks/pre-commit", ".GIT/config"] {
        let error = stage.call("file_write", json!({ "path": path, "content": "x" })).await.unwrap_err();
        assert!(error.message.contains("belongs to git"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_directory_swapped_for_a_link_after_the_yes_leads_nowhere() {
    let stage = Stage::new().await;
    let outside = stage.outside().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "same\n").unwrap();
    stage.write("dir/file", "same\n");
    let input = json!({ "path": "dir/file", "old_string": "same", "new_string": "owned" });
    let call = stage.prepared("edit", input).await.unwrap();
    fs::rename(stage.at("dir"), stage.at("aside")).unwrap();
    symlink(&outside, stage.at("dir")).unwrap();
    let error = stage.run("edit", &call).await.unwrap_err();
    assert!(error.message.contains("`dir` is a symbolic link"), "{}", error.message);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "same\n");
}
