//! What a program may use.

use r1_runtime::sandbox::{Ended, SandboxLayer};

use super::world::{World, alive, marker, run, text, until};

const LAYERS: [SandboxLayer; 3] = [SandboxLayer::Bwrap, SandboxLayer::Landlock, SandboxLayer::None];

#[tokio::test]
async fn a_fork_bomb_is_contained() {
    for layer in LAYERS {
        let mut world = World::new();
        world.config.limits.processes = 100;
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let marker = marker("bomb");
        // One that would end by itself at a thousand: should it get out, the machine of whoever tests survives.
        let bomb = "bomb() { [ $1 -gt 0 ] || sleep 1000; bomb $(($1 - 1)) | bomb $(($1 - 1)) & wait; }; bomb 9";
        let seen = run(&sandbox, &format!(": {marker}; {bomb}; sleep 1000")).await;
        assert_eq!(seen.finished.ended, Ended::TooManyProcesses, "{layer:?}: {:?}", seen.finished);
        assert_eq!(alive(&marker), [""; 0], "{layer:?}");
    }
}

#[tokio::test]
async fn a_fork_bomb_of_sessions_is_contained() {
    for layer in LAYERS {
        let mut world = World::new();
        world.config.limits.processes = 50;
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let marker = marker("sessions");
        let bomb = format!(
            "cat > bomb <<'END'\n: {marker}\n[ $2 -gt 0 ] && for i in 1 2 3; do setsid bash ./bomb {marker} $(($2 - 1)) & done\nsleep 1000\nEND\nbash bomb {marker} 6"
        );
        let seen = run(&sandbox, &bomb).await;
        assert_eq!(seen.finished.ended, Ended::TooManyProcesses, "{layer:?}: {:?}", seen.finished);
        until("the last of the bomb is gone", || alive(&marker).is_empty()).await;
    }
}

#[tokio::test]
async fn a_file_cannot_grow_beyond_its_limit() {
    for layer in LAYERS {
        let mut world = World::new();
        world.config.limits.file_bytes = 1 << 20;
        let Some(sandbox) = world.sandbox(layer).await else { continue };
        let seen = run(&sandbox, "head -c 3000000 /dev/zero > big; echo $?; stat -c %s big").await;
        let told = text(&seen.stdout);
        assert!(told.ends_with("\n1048576\n") && !told.starts_with("0\n"), "{layer:?}: {told}");
    }
}
