//! Tools that look, remember, and run git.

use r1_protocol::data::{
    ArtifactCreated, ToolFileReadCompleted, ToolGitCompleted, ToolGlobCompleted, ToolGrepCompleted,
    ToolTodoWriteUpdated,
};
use r1_runtime::artifact;
use r1_runtime::tool::{Failure, MAX_OUTPUT, Subject};
use serde_json::{Value, json};

use super::stage::Stage;

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn a_file_is_shown_with_line_numbers() {
    let stage = Stage::new().await;
    stage.write("a", "one\r\ntwo\nthree");
    let output = stage.call("file_read", json!({ "path": "a" })).await.unwrap();
    assert_eq!(text(&output.output), "     1\tone\n     2\ttwo\n     3\tthree\n");
    let output = stage.call("file_read", json!({ "path": "a", "offset": 2, "limit": 1 })).await.unwrap();
    assert_eq!(text(&output.output), "     2\ttwo\n[1 more lines; go on with offset 3]");
    let completed = stage.events::<ToolFileReadCompleted>().remove(1);
    assert_eq!((completed.size_bytes, completed.lines), (14, 3));
    assert_eq!((completed.start_line, completed.end_line, completed.snippet_artifact_id), (Some(2), Some(2), None));
}

#[tokio::test]
async fn what_is_too_long_to_show_is_kept_whole() {
    let stage = Stage::new().await;
    let content: String = (0..3000).map(|n| format!("line {n} \"quoted\" {}\n", "x".repeat(40))).collect();
    stage.write("a", &content);
    let output = stage.call("file_read", json!({ "path": "a", "limit": 3000 })).await.unwrap();
    assert!(serde_json::to_vec(&output.output).unwrap().len() <= MAX_OUTPUT);
    assert!(text(&output.output).contains("more lines; go on with offset"));
    let created = stage.events::<ArtifactCreated>().remove(0);
    assert_eq!(output.artifact_id, Some(created.artifact_id));
    let digest = created.digest.strip_prefix("blake3:").unwrap().parse().unwrap();
    assert_eq!(artifact::read(&stage.store, digest).await.unwrap(), content);
    assert_eq!(stage.types(), ["artifact.created", "tool.file_read.completed"]);
}

#[tokio::test]
async fn what_is_no_text_or_not_there_is_said_so() {
    let stage = Stage::new().await;
    stage.write("binary", [0x7f, b'E', 0]);
    stage.write("dir/file", "");
    for (path, expected) in [
        ("binary", "`binary` is not a text file (3 bytes)"),
        ("nothing", "`nothing` does not exist"),
        ("dir", "`dir` is a directory, not a file"),
        ("dir/file/x", "`dir/file/x` leads through something that is not a directory"),
    ] {
        let error = stage.call("file_read", json!({ "path": path })).await.unwrap_err();
        assert_eq!(error.message, expected);
    }
    let output = stage.call("file_read", json!({ "path": "dir/file" })).await.unwrap();
    assert_eq!(text(&output.output), "[the file is empty]");
}

#[tokio::test]
async fn files_are_found_by_name_in_the_order_of_their_paths() {
    let stage = Stage::new().await;
    for path in ["b.rs", "a/c.rs", "a.rs", "a/target/x.rs", ".github/d.rs", ".git/e.rs", "a/f.txt"] {
        stage.write(path, "");
    }
    stage.write(".gitignore", "target/\n");
    let found = |stage: &Stage| stage.events::<ToolGlobCompleted>().pop().unwrap().matches;
    let output = stage.call("glob", json!({ "pattern": "*.rs" })).await.unwrap();
    assert_eq!(text(&output.output), ".github/d.rs\na.rs\na/c.rs\nb.rs\n");
    assert_eq!(found(&stage), [".github/d.rs", "a.rs", "a/c.rs", "b.rs"]);
    stage.call("glob", json!({ "pattern": "**/*.rs", "path": "a" })).await.unwrap();
    assert_eq!(found(&stage), ["a/c.rs"]);
    stage.call("glob", json!({ "pattern": "*.rs", "path": "a/target" })).await.unwrap();
    assert_eq!(found(&stage), ["a/target/x.rs"], "whoever names an ignored directory means it");
    stage.write(".gitignore", "/a/target/\n");
    stage.call("glob", json!({ "pattern": "*.rs", "path": "a" })).await.unwrap();
    assert_eq!(found(&stage), ["a/c.rs"], "rules count from where they are written");
    stage.call("glob", json!({ "pattern": "a/*" })).await.unwrap();
    assert_eq!(found(&stage), ["a/c.rs", "a/f.txt"]);
    let output = stage.call("glob", json!({ "pattern": "*.zig" })).await.unwrap();
    assert_eq!(text(&output.output), "no file matches `*.zig`");
}

#[tokio::test]
async fn of_many_files_the_first_thousand_are_listed_and_all_counted() {
    let stage = Stage::new().await;
    for n in 0..1100 {
        stage.write(&format!("{n:04}"), "");
    }
    stage.call("glob", json!({ "pattern": "*" })).await.unwrap();
    let completed = stage.events::<ToolGlobCompleted>().remove(0);
    assert_eq!((completed.matches.len(), completed.match_count, completed.truncated), (1000, 1100, true));
    assert_eq!((completed.matches[0].as_str(), completed.matches[999].as_str()), ("0000", "0999"));
}

#[tokio::test]
async fn lines_are_found_in_text_files_that_are_not_ignored() {
    let stage = Stage::new().await;
    stage.write("a.rs", "fn one() {}\nfn Two() {}\n");
    stage.write("sub/b.txt", "fn three()\n");
    stage.write("binary", b"fn four()\0\n");
    stage.write("ignored/c.rs", "fn five()\n");
    stage.write(".gitignore", "ignored\n");
    let output = stage.call("grep", json!({ "pattern": r"fn \w+\(" })).await.unwrap();
    assert_eq!(text(&output.output), "a.rs:1:fn one() {}\na.rs:2:fn Two() {}\nsub/b.txt:1:fn three()\n");
    let completed = stage.events::<ToolGrepCompleted>().remove(0);
    assert_eq!((completed.match_count, completed.files_searched, completed.truncated), (3, 4, false));
    let found = |stage: &Stage| {
        let completed = stage.events::<ToolGrepCompleted>().pop().unwrap();
        completed.matches.into_iter().map(|found| format!("{}:{}", found.path, found.line)).collect::<Vec<_>>()
    };
    stage.call("grep", json!({ "pattern": "two", "ignore_case": true, "glob": "*.rs" })).await.unwrap();
    assert_eq!(found(&stage), ["a.rs:2"]);
    stage.call("grep", json!({ "pattern": "()", "literal": true, "path": "sub/b.txt" })).await.unwrap();
    assert_eq!(found(&stage), ["sub/b.txt:1"]);
    let error = stage.call("grep", json!({ "pattern": "(" })).await.unwrap_err();
    assert!(error.message.contains("not a usable regular expression"), "{}", error.message);
}

#[tokio::test]
async fn of_many_matches_the_first_are_listed_and_all_counted() {
    let stage = Stage::new().await;
    stage.write("a", format!("{}\n", "x".repeat(2000)).repeat(600));
    let output = stage.call("grep", json!({ "pattern": "x" })).await.unwrap();
    assert!(serde_json::to_vec(&output.output).unwrap().len() <= MAX_OUTPUT);
    let completed = stage.events::<ToolGrepCompleted>().remove(0);
    assert_eq!((completed.matches.len(), completed.match_count, completed.truncated), (500, 600, true));
    assert_eq!(completed.matches[0].text.len(), 1024);
}

#[tokio::test]
async fn the_list_of_things_to_do_is_replaced_whole() {
    let stage = Stage::new().await;
    let todos = json!({ "todos": [
        { "content": "read", "status": "completed" },
        { "content": "write", "status": "in_progress" },
    ]});
    assert_eq!(stage.tool("todo_write").subject(&todos).unwrap(), Subject::Internal);
    let output = stage.call("todo_write", todos).await.unwrap();
    assert_eq!(output.summary, "1 of 2 done");
    let updated = stage.events::<ToolTodoWriteUpdated>().remove(0);
    assert_eq!(updated.todos[1].content, "write");
    let wrong = json!({ "todos": [{ "content": "x", "status": "soon" }] });
    assert!(stage.tool("todo_write").subject(&wrong).is_err());
}

#[tokio::test]
async fn git_tells_where_the_head_was_and_is() {
    let stage = Stage::new().await;
    let git = async |args: &[&str]| stage.call("git", json!({ "args": args })).await;
    git(&["init", "-q"]).await.unwrap();
    git(&["config", "user.email", "a@example.com"]).await.unwrap();
    git(&["config", "user.name", "A"]).await.unwrap();
    stage.write("a", "one\n");
    git(&["add", "a"]).await.unwrap();
    git(&["commit", "-q", "-m", "first"]).await.unwrap();
    stage.write("a", "two\n");
    git(&["commit", "-q", "-a", "-m", "second"]).await.unwrap();
    let output = git(&["log", "--format=%s"]).await.unwrap();
    assert_eq!(text(&output.output), "second\nfirst\n");
    let completed = stage.events::<ToolGitCompleted>();
    let [.., first, second, log] = completed.as_slice() else { panic!() };
    assert_eq!((&first.head_before, first.exit_code), (&None, 0));
    assert!(first.head_after.as_ref().is_some_and(|head| head.len() >= 40));
    assert_eq!(second.head_before, first.head_after);
    assert_ne!(second.head_after, second.head_before);
    assert_eq!((&log.argv, &log.head_before), (&vec!["git".into(), "log".into(), "--format=%s".into()], &None));
    let error = git(&["show", "nothing"]).await.unwrap_err();
    assert_eq!((error.failure, error.message.as_str()), (Failure::Tool, "exit status 128"));
    assert!(text(&error.output.unwrap()).contains("nothing"));
}

#[tokio::test]
async fn policy_hears_which_git_commands_only_look() {
    let stage = Stage::new().await;
    let subject = |args: &[&str]| stage.tool("git").subject(&json!({ "args": args })).unwrap();
    let Subject::Command { argv, reads_only, .. } = subject(&["status"]) else { panic!() };
    assert_eq!((argv, reads_only), (vec!["git".to_owned(), "status".to_owned()], true));
    let Subject::Command { reads_only, .. } = subject(&["push"]) else { panic!() };
    assert!(!reads_only);
}

#[tokio::test]
async fn input_that_a_tool_does_not_take_is_refused_with_what_is_wrong() {
    let stage = Stage::new().await;
    for name in ["file_read", "file_write", "edit", "multi_edit", "apply_patch", "glob", "grep", "todo_write", "git"] {
        let spec = stage.tool(name).spec();
        assert_eq!((spec.name.as_str(), spec.input_schema["type"].as_str()), (name, Some("object")));
        let error = stage.tool(name).subject(&json!({ "wrong": 1 })).unwrap_err();
        assert!(error.to_string().contains("wrong") || error.to_string().contains("missing"), "{name}: {error}");
        jsonschema::meta::validate(&spec.input_schema).unwrap();
    }
}
