//! How programs end, and that all of them do.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use r1_runtime::sandbox::{CommandRequest, Ended, SandboxLayer};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::world::{World, alive, bash, marker, run, text, until};

const LAYERS: [SandboxLayer; 3] = [SandboxLayer::Bwrap, SandboxLayer::Landlock, SandboxLayer::None];

#[tokio::test]
async fn exit_codes_and_signals_are_told_exactly() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        for (script, code, signal) in [
            ("exit 0", 0, None),
            ("exit 7", 7, None),
            ("exit 137", 137, None),
            ("kill -9 $$", -1, Some("SIGKILL")),
            ("kill -SEGV $$", -1, Some("SIGSEGV")),
            ("kill -PIPE $$", -1, Some("SIGPIPE")),
        ] {
            let finished = run(&sandbox, script).await.finished;
            assert_eq!((finished.exit_code, finished.signal.as_deref()), (code, signal), "{layer:?}: {script}");
            assert_eq!(finished.ended, Ended::Itself);
        }
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let request = CommandRequest { argv: vec!["no-such-program".to_owned()], ..CommandRequest::default() };
        match sandbox.capture(request, &CancellationToken::new(), 1000).await {
            Ok(seen) => assert_eq!(seen.finished.exit_code, 127, "{layer:?}"),
            Err(err) => assert!(err.to_string().contains("no-such-program"), "{layer:?}: {err}"),
        }
    }
}

#[tokio::test]
async fn standard_input_is_what_was_given_and_otherwise_closed() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        assert_eq!(text(&run(&sandbox, "cat").await.stdout), "");
        let given = vec![b'x'; 300_000];
        let request = CommandRequest { stdin: Some(given.clone().into()), ..bash("cat; echo . >&2") };
        let seen = sandbox.capture(request, &CancellationToken::new(), 1 << 20).await.unwrap();
        assert_eq!((seen.stdout == given, text(&seen.stderr)), (true, ".\n".to_owned()), "{layer:?}");
    }
}

/// A daemon in a session of its own, twice forked, that wants no SIGTERM and keeps the pipe.
fn stubborn(marker: &str) -> String {
    let daemon = format!("trap \"\" TERM; echo ready; while :; do sleep 0.1; done # {marker}");
    format!("trap '' TERM; (setsid bash -c '{daemon}' {marker} &); while :; do sleep 0.1; done # {marker}")
}

#[tokio::test]
async fn ep_15_a_grandchild_that_ignores_sigterm_and_holds_the_pipe_ends_within_seven_seconds() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let marker = marker("stubborn");
        let cancel = CancellationToken::new();
        let (sender, mut output) = mpsc::channel(4);
        let drive = sandbox.run(bash(&stubborn(&marker)), &cancel, sender);
        let stop = async {
            assert_eq!(output.recv().await.unwrap().bytes, "ready\n", "{layer:?}");
            assert!(!alive(&marker).is_empty());
            cancel.cancel();
            Instant::now()
        };
        let (finished, cancelled) = tokio::join!(drive, stop);
        let finished = finished.unwrap();
        assert!(cancelled.elapsed() < Duration::from_secs(7), "{layer:?}: {:?}", cancelled.elapsed());
        assert_eq!((finished.ended, finished.signal.as_deref()), (Ended::Cancelled, Some("SIGKILL")), "{layer:?}");
        assert_eq!(alive(&marker), [""; 0], "{layer:?}");
    }
}

#[tokio::test]
async fn ep_15_a_timeout_ends_the_same_tree() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let marker = marker("late");
        let request = CommandRequest { timeout: Some(Duration::from_secs(1)), ..bash(&stubborn(&marker)) };
        let finished = sandbox.capture(request, &CancellationToken::new(), 100).await.unwrap().finished;
        assert!(matches!(finished.ended, Ended::TimedOut { after_ms: 1000.. }), "{layer:?}: {finished:?}");
        assert!(finished.duration < Duration::from_secs(8), "{layer:?}: {finished:?}");
        assert_eq!(alive(&marker), [""; 0], "{layer:?}");
    }
}

#[tokio::test]
async fn a_program_that_obeys_may_tidy_up_first() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let cancel = CancellationToken::new();
        let (sender, mut output) = mpsc::channel(4);
        let script = "exec 2> /dev/null; trap 'echo tidy; exit 4' TERM; echo ready; while :; do sleep 0.05; done";
        let drive = sandbox.run(bash(script), &cancel, sender);
        let stop = async {
            assert_eq!(output.recv().await.unwrap().bytes, "ready\n");
            cancel.cancel();
            output.recv().await.unwrap().bytes
        };
        let (finished, last_words) = tokio::join!(drive, stop);
        let finished = finished.unwrap();
        assert_eq!(
            (finished.exit_code, finished.ended, &*last_words),
            (4, Ended::Cancelled, &b"tidy\n"[..]),
            "{layer:?}"
        );
        assert!(finished.duration < Duration::from_secs(5), "{layer:?}: {finished:?}");
    }
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let marker = marker("left");
        let script = format!("(trap '' TERM; setsid bash -c 'sleep 1000; : {marker}' &) ; echo done");
        let began = Instant::now();
        let seen = run(&sandbox, &script).await;
        assert_eq!((seen.finished.exit_code, text(&seen.stdout)), (0, "done\n".to_owned()), "{layer:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{layer:?}: the pipe was waited for");
        assert_eq!(alive(&marker), [""; 0], "{layer:?}");
    }
}

#[tokio::test]
async fn dropping_a_run_ends_its_program() {
    for layer in LAYERS {
        let world = World::new();
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let marker = marker("dropped");
        let cancel = CancellationToken::new();
        let (sender, _output) = mpsc::channel(4);
        let drive = sandbox.run(bash(&format!("sleep 1000; : {marker}")), &cancel, sender);
        tokio::select! {
            _ = drive => panic!("it ended by itself"),
            () = until("the program runs", || !alive(&marker).is_empty()) => {}
        }
        until("the program is gone", || alive(&marker).is_empty()).await;
    }
}

#[tokio::test]
async fn killing_r1_leaves_nothing_behind() {
    for layer in LAYERS {
        if World::new().sandbox(layer).await.is_none() {
            continue;
        }
        let marker = marker("orphan");
        let mut r1 = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "sandbox::ends::stands_for_r1", "--nocapture"])
            .env("R1_TEST_LAYER", layer.as_str())
            .env("R1_TEST_MARKER", &marker)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the program runs", || alive(&marker).iter().any(|line| line.contains("trap"))).await;
        kill_process(Pid::from_raw(r1.id().try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
        r1.wait().unwrap();
        until("the program is gone", || alive(&marker).is_empty()).await;
    }
}

/// Not a test of its own: the process that `killing_r1_leaves_nothing_behind` kills.
#[tokio::test]
#[ignore = "started by another test"]
async fn stands_for_r1() {
    let (Ok(layer), Ok(marker)) = (std::env::var("R1_TEST_LAYER"), std::env::var("R1_TEST_MARKER")) else { return };
    let layer = LAYERS.into_iter().find(|known| known.as_str() == layer).unwrap();
    let world = World::new();
    let sandbox = world.sandbox(layer).await.unwrap();
    run(&sandbox, &stubborn(&marker)).await;
}

#[tokio::test]
async fn without_a_supervisor_the_group_ends() {
    let mut world = World::new();
    world.config.supervisor = None;
    let sandbox = world.sandbox(SandboxLayer::None).await.unwrap();
    let marker = marker("group");
    let script = format!("trap '' TERM; (bash -c 'trap \"\" TERM; sleep 1000; : {marker}' &); exit 9 # {marker}");
    let seen = run(&sandbox, &script).await;
    assert_eq!(seen.finished.exit_code, 9);
    until("the group is gone", || alive(&marker).is_empty()).await;
}
