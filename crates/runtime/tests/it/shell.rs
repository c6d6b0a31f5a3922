//! The shell tool, with real commands.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_protocol::data::{
    ArtifactCreated, ArtifactKind, SandboxLayer, Stream, ToolShellCommand, ToolShellExited, ToolShellOutputChunk,
};
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};
use r1_runtime::tool::shell::Shell;
use r1_runtime::tool::{Failure, MAX_OUTPUT, Subject, Tool as _};
use serde_json::json;

use crate::tool_stage::ToolStage;

/// One stream put together again, checked on the way.
fn stream(stage: &ToolStage, stream: Stream) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in stage.events::<ToolShellOutputChunk>() {
        if chunk.stream != stream {
            continue;
        }
        assert_eq!(chunk.byte_offset, bytes.len() as u64, "chunks are contiguous");
        let decoded = match chunk.encoding {
            None => chunk.data.into_bytes(),
            Some(_) => STANDARD.decode(chunk.data).unwrap(),
        };
        assert!(!decoded.is_empty());
        bytes.extend(decoded);
    }
    bytes
}

#[tokio::test]
async fn a_command_tells_what_it_is_what_it_says_and_how_it_ended() {
    let stage = ToolStage::new().await;
    let output = stage.run(&Shell::new(), json!({ "command": "echo out; pwd" })).await.unwrap();
    assert!(output.output.as_str().unwrap().starts_with("out\n/"), "{output:?}");
    assert!(output.artifact_id.is_some());
    let command = &stage.events::<ToolShellCommand>()[0];
    assert_eq!(command.argv, ["bash", "-c", "echo out; pwd"]);
    assert_eq!(command.command_string.as_deref(), Some("echo out; pwd"));
    assert_eq!((command.sandbox_layer.clone(), command.network), (SandboxLayer::None, Some(true)));
    assert!(command.env_keys.contains(&"HOME".to_owned()));
    let exited = &stage.events::<ToolShellExited>()[0];
    assert_eq!((exited.exit_code, &exited.signal, exited.truncated), (0, &None, false));
    assert_eq!(exited.stdout_bytes, stream(&stage, Stream::Stdout).len() as u64);
    assert_eq!(stage.artifact().await, stream(&stage, Stream::Stdout));
    let types = stage.types();
    assert_eq!(types.first().unwrap(), "tool.shell.command");
    assert_eq!(types[types.len() - 2..], ["tool.shell.exited", "artifact.created"]);
}

#[tokio::test]
async fn a_failing_command_tells_its_status_and_output() {
    let stage = ToolStage::new().await;
    let err = stage.run(&Shell::new(), json!({ "command": "echo why >&2; exit 7" })).await.unwrap_err();
    assert_eq!((&*err.message, err.failure), ("exit status 7", Failure::Tool));
    assert_eq!(err.output, Some("why\n".into()));
    assert_eq!(stage.events::<ToolShellExited>()[0].stderr_bytes, 4);

    let stage = ToolStage::new().await;
    let err = stage.run(&Shell::new(), json!({ "argv": ["sh", "-c", "kill -9 $$"] })).await.unwrap_err();
    assert_eq!(err.message, "killed by SIGKILL");
    let exited = &stage.events::<ToolShellExited>()[0];
    assert_eq!((exited.exit_code, exited.signal.as_deref()), (-1, Some("SIGKILL")));
    assert_eq!(stage.events::<ArtifactCreated>().len(), 0, "a silent command leaves no artifact");
}

#[tokio::test]
async fn a_command_that_cannot_start_has_no_end() {
    let stage = ToolStage::new().await;
    let err = stage.run(&Shell::new(), json!({ "argv": ["/no/such/program"] })).await.unwrap_err();
    assert_eq!(err.failure, Failure::Spawn);
    assert_eq!(stage.types(), ["tool.shell.command"]);
}

#[tokio::test]
async fn ep_14_random_bytes_and_both_streams_come_through() {
    let stage = ToolStage::new().await;
    let script = "head -c 300000 /dev/urandom | tee random; for i in $(seq 200); do echo out $i; echo err $i >&2; done; \
        printf 'nul\\0é' >&2";
    stage.run(&Shell::new(), json!({ "command": script })).await.unwrap();
    let random = std::fs::read(stage.context.workspace.root().join("random")).unwrap();
    let (stdout, stderr) = (stream(&stage, Stream::Stdout), stream(&stage, Stream::Stderr));
    assert!(stdout.starts_with(&random) && stdout.ends_with(b"out 200\n"));
    assert!(stderr.starts_with(b"err 1\n") && stderr.ends_with("nul\0é".as_bytes()));
    let exited = &stage.events::<ToolShellExited>()[0];
    assert_eq!((exited.stdout_bytes, exited.stderr_bytes), (stdout.len() as u64, stderr.len() as u64));
    assert_eq!(stage.artifact().await.len(), stdout.len() + stderr.len());
}

#[tokio::test]
async fn ep_14_chunks_stop_at_8_mib_and_the_artifact_goes_on() {
    let stage = ToolStage::new().await;
    let output = stage.run(&Shell::new(), json!({ "command": "head -c 9000000 /dev/zero; echo end" })).await.unwrap();
    let exited = &stage.events::<ToolShellExited>()[0];
    assert_eq!((exited.stdout_bytes, exited.truncated), (9_000_004, true));
    let told = stream(&stage, Stream::Stdout).len();
    assert!(told <= 8 << 20 && told > (8 << 20) - (64 << 10), "{told}");
    assert_eq!(stage.artifact().await.len(), 9_000_004);
    assert!(serde_json::to_string(&output.output).unwrap().len() <= MAX_OUTPUT);
    assert!(output.output.as_str().unwrap().ends_with("end\n"));
}

#[tokio::test]
async fn ep_14_a_flood_is_stopped() {
    let stage = ToolStage::new().await;
    let err = stage.run(&Shell::new(), json!({ "command": "yes" })).await.unwrap_err();
    assert!(matches!(err.failure, Failure::OutputLimit { .. }), "{:?}", err.failure);
    let artifact = &stage.events::<ArtifactCreated>()[0];
    assert!(artifact.size_bytes <= 64 << 20 && artifact.size_bytes > 63 << 20, "{}", artifact.size_bytes);
    assert!(stage.types().contains(&"gap.artifact_capped".to_owned()));
}

#[tokio::test]
async fn a_timeout_and_a_cancel_stop_the_command() {
    let stage = ToolStage::new().await;
    let slow = json!({ "command": "echo begun; sleep 1000", "timeout_ms": 300 });
    let err = stage.run(&Shell::new(), slow).await.unwrap_err();
    assert!(matches!(err.failure, Failure::TimedOut { after_ms: 300.. }), "{:?}", err.failure);
    assert_eq!(err.output, Some("begun\n".into()));

    let stage = ToolStage::new().await;
    let shell = Shell::new();
    let began = Instant::now();
    let run = stage.run(&shell, json!({ "command": "echo begun; sleep 1000" }));
    let cancel = async {
        while stage.events::<ToolShellOutputChunk>().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stage.context.cancel.cancel();
    };
    let (answer, ()) = tokio::join!(run, cancel);
    assert_eq!(answer.unwrap_err().failure, Failure::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(100));
    assert_eq!(stage.events::<ToolShellExited>()[0].signal.as_deref(), Some("SIGTERM"));
}

#[tokio::test]
async fn a_secret_is_in_no_chunk_artifact_or_answer_wherever_it_is_cut() {
    let mut secrets = Secrets::default();
    secrets.add("correct-horse-battery-staple");
    let redactor = Redactor::new(RedactionKey::new([7; 32]), &secrets).unwrap();
    let stage = ToolStage::with_redactor(redactor).await;
    let script = "printf correct-horse-; sleep 0.3; printf battery-staple; echo .";
    let output = stage.run(&Shell::new(), json!({ "command": script })).await.unwrap();
    let told = String::from_utf8(stream(&stage, Stream::Stdout)).unwrap();
    assert!(told.starts_with("[redacted:known:") && told.ends_with("].\n"), "{told}");
    assert_eq!(output.output, told);
    assert_eq!(stage.artifact().await, told);
}

#[test]
fn the_subject_is_the_exact_command() {
    let shell = Shell::new();
    let subject = shell.subject(&json!({ "command": "make -j", "cwd": "src" })).unwrap();
    let argv = ["bash", "-c", "make -j"].map(str::to_owned).to_vec();
    assert_eq!(subject, Subject::Command { argv, cwd: "src".into(), reads_only: false });
    for bad in [json!({}), json!({ "command": "a", "argv": ["b"] }), json!({ "argv": [] }), json!({ "cmd": "a" })] {
        assert!(shell.subject(&bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn commits_that_a_command_makes_are_artifacts_and_other_moves_are_not() {
    let stage = ToolStage::new().await;
    let run = async |command: &str| {
        let git = "git() { command git -c user.name=t -c user.email=t@example.org \"$@\"; }";
        let output = stage.run(&Shell::new(), json!({ "command": format!("{git}; {command}") })).await.unwrap();
        output.output.as_str().unwrap().lines().next().unwrap_or_default().to_owned()
    };
    let commits = || -> Vec<_> {
        let all = stage.events::<ArtifactCreated>().into_iter();
        all.filter(|made| made.kind == ArtifactKind::Commit).collect()
    };
    run("echo before there is a repository").await;
    let first = run("git init --quiet && git commit --quiet --allow-empty -m one && git rev-parse HEAD").await;
    let then = run(
        "git commit --quiet --allow-empty -m two && git rev-parse HEAD; git commit --quiet --allow-empty --amend -m 2",
    )
    .await;
    let last = run("git rev-parse HEAD").await;
    run("git checkout --quiet -b side HEAD~1 && git reset --quiet --hard && git merge --quiet -").await;
    let made = commits();
    let ids: Vec<_> = made.iter().map(|made| made.metadata.as_ref().unwrap()["commit"].as_str().unwrap()).collect();
    assert_eq!(ids, [first.as_str(), &then, &last]);
    assert_eq!(made[1].summary, format!("commit {} two", &then[..12]));
    assert_eq!(made[1].tool_call_id.as_deref(), Some("call_1"));
    assert_eq!(made[1].path, None);
    let content = run(&format!("git cat-file commit {then} | sha256sum | cut -d' ' -f1")).await;
    assert_eq!(made[1].sha256, content, "what is kept is the commit as git has it");
    // Whatever an agent puts there, nothing hangs and nothing is made up.
    run("rm .git/logs/HEAD && mkfifo .git/logs/HEAD").await;
    run("rm .git/logs/HEAD && printf '0 %040d x\\tcommit: no such thing\\n' 7 > .git/logs/HEAD").await;
    assert_eq!(commits().len(), 3);
}
