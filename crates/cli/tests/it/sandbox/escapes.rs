//! What must stay out of reach, tried in each layer that claims to keep it so.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::symlink;

use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, SandboxMode, SandboxUnavailable, WorkspaceAccess};

use super::world::{SECRET, World, run, text};

/// Each promise once per layer.
macro_rules! in_each_layer {
    ($($layer:ident = $value:expr => [$($promise:ident),+ $(,)?];)+) => {
        $(mod $layer {
            use super::SandboxLayer;
            $(#[tokio::test]
            async fn $promise() { super::$promise($value).await; })+
        })+
    };
}

in_each_layer! {
    bwrap = SandboxLayer::Bwrap => [
        files_outside_cannot_be_read, files_outside_cannot_be_changed, the_workspace_can_be_changed,
        a_read_only_workspace_stays_as_it_is, no_environment_of_others_is_seen, the_environment_is_an_allow_list,
        the_network_is_off, the_network_is_on_if_allowed, home_is_hidden, the_machines_guarded_files_are_hidden,
        temporary_files_are_private_and_stay_for_the_run, the_supervisor_is_no_way_out,
    ];
    landlock = SandboxLayer::Landlock => [
        files_outside_cannot_be_read, files_outside_cannot_be_changed, the_workspace_can_be_changed,
        a_read_only_workspace_stays_as_it_is, no_environment_of_others_is_seen, the_environment_is_an_allow_list,
        the_network_is_off, the_network_is_on_if_allowed, home_is_hidden, the_machines_guarded_files_are_hidden,
        temporary_files_are_private_and_stay_for_the_run, the_supervisor_is_no_way_out,
        local_services_cannot_be_called,
    ];
    none = SandboxLayer::None => [the_workspace_can_be_changed, the_environment_is_an_allow_list];
}

async fn files_outside_cannot_be_read(layer: SandboxLayer) {
    let world = World::new();
    let secret = world.root().join("secret");
    symlink(&secret, world.workspace().join("link")).unwrap();
    symlink(world.root(), world.workspace().join("up")).unwrap();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let secret = secret.display();
    for attempt in [
        format!("cat {secret}"),
        "cat ../secret".to_owned(),
        "cat link".to_owned(),
        "cat up/secret".to_owned(),
        format!("cat /proc/1/root{secret}"),
        format!("cat /proc/$PPID/root{secret}"),
        "cat /proc/self/cwd/../secret".to_owned(),
        "cat /proc/$PPID/cwd/../secret".to_owned(),
        format!("ln {secret} stolen && cat stolen"),
        format!("cp {secret} stolen && cat stolen"),
        "for process in /proc/[0-9]*; do cat $process/cwd/../secret $process/root/etc/shadow; done".to_owned(),
        format!("mkdir -p {0} 2>/dev/null; cat {secret}", world.root().display()),
    ] {
        let seen = run(&sandbox, &attempt).await;
        assert!(!text(&seen.stdout).contains(SECRET), "{attempt}: {seen:?}");
        assert_ne!(seen.finished.exit_code, 0, "{attempt}: {seen:?}");
    }
}

async fn files_outside_cannot_be_changed(layer: SandboxLayer) {
    let world = World::new();
    let secret = world.root().join("secret");
    symlink(world.root(), world.workspace().join("up")).unwrap();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    for attempt in [
        format!("echo gone > {}", secret.display()),
        format!("truncate -s 0 {}", secret.display()),
        format!("rm -f {}", secret.display()),
        "echo gone > up/secret".to_owned(),
        "echo gone > ../secret".to_owned(),
        "touch up/new ../new /usr/new /etc/new".to_owned(),
        "mv ../workspace ../moved".to_owned(),
    ] {
        // The attempt may seem to succeed inside, on files that are there only for it.
        let _ = run(&sandbox, &attempt).await;
        assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET, "{attempt}");
        assert!(!world.root().join("new").exists(), "{attempt}");
        assert!(world.workspace().is_dir(), "{attempt}");
    }
}

async fn the_workspace_can_be_changed(layer: SandboxLayer) {
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let seen = run(&sandbox, "mkdir a && echo 1 > a/b && mv a/b c && ln c d && ls").await;
    assert_eq!((seen.finished.exit_code, &*text(&seen.stdout)), (0, "a\nc\nd\n"), "{seen:?}");
    assert_eq!(fs::read_to_string(world.workspace().join("d")).unwrap(), "1\n");
}

async fn a_read_only_workspace_stays_as_it_is(layer: SandboxLayer) {
    let mut world = World::new();
    world.config.access = WorkspaceAccess::ReadOnly;
    fs::write(world.workspace().join("file"), "old").unwrap();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let seen = run(&sandbox, "cat file; echo new > file; rm file; touch other").await;
    assert_eq!(text(&seen.stdout), "old");
    assert_ne!(seen.finished.exit_code, 0);
    assert_eq!(fs::read_to_string(world.workspace().join("file")).unwrap(), "old");
    assert!(!world.workspace().join("other").exists());
}

/// Cargo sets it for every test; the programs that it and we started have it too.
const OURS: &str = "CARGO_MANIFEST_DIR";

async fn no_environment_of_others_is_seen(layer: SandboxLayer) {
    assert!(std::env::var(OURS).is_ok(), "the test would prove nothing");
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let seen = run(&sandbox, &format!("cat /proc/*/environ /proc/*/task/*/environ | grep -a {OURS}")).await;
    assert!(seen.stdout.is_empty(), "{} bytes", seen.stdout.len());
}

async fn the_environment_is_an_allow_list(layer: SandboxLayer) {
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let seen = run(&sandbox, "tr '\\0' '\\n' < /proc/$$/environ | cut -d= -f1 | sort").await;
    let request = super::world::bash("");
    let told: Vec<String> = sandbox.environment(&request).into_keys().collect();
    let mut really: Vec<String> = text(&seen.stdout).lines().map(str::to_owned).collect();
    // The shell's own additions.
    really.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(&&**name));
    assert_eq!(really, told);
    assert!(!told.contains(&OURS.to_owned()));
}

async fn the_network_is_off(layer: SandboxLayer) {
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let (tcp, udp) = listeners();
    let _ = run(&sandbox, &call(&tcp, &udp)).await;
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

async fn the_network_is_on_if_allowed(layer: SandboxLayer) {
    let mut world = World::new();
    world.config.network = true;
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let (tcp, udp) = listeners();
    let seen = run(&sandbox, &call(&tcp, &udp)).await;
    assert!(tcp.accept().is_ok(), "{seen:?}");
    assert!(udp.recv(&mut [0; 8]).is_ok(), "{seen:?}");
}

fn listeners() -> (TcpListener, UdpSocket) {
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    (tcp, udp)
}

fn call(tcp: &TcpListener, udp: &UdpSocket) -> String {
    let (tcp, udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    format!("echo tcp > /dev/tcp/127.0.0.1/{tcp}; echo udp > /dev/udp/127.0.0.1/{udp}")
}

async fn home_is_hidden(layer: SandboxLayer) {
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let home = std::env::var("HOME").unwrap();
    let seen =
        run(&sandbox, &format!("ls -A {home} /home /root; [ $HOME != {home} ] && cd && touch mine && ls -A")).await;
    assert_eq!(text(&seen.stdout), "mine\n", "{seen:?}");
}

async fn the_machines_guarded_files_are_hidden(layer: SandboxLayer) {
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let seen =
        run(&sandbox, "cat /etc/shadow /etc/gshadow /etc/ssh/*; cat /etc/passwd > /dev/null && echo usable").await;
    assert_eq!(text(&seen.stdout), "usable\n");
}

async fn temporary_files_are_private_and_stay_for_the_run(layer: SandboxLayer) {
    let world = World::new();
    let (Some(sandbox), Some(other)) = (world.sandbox(layer).await, world.sandbox(layer).await) else { return };
    let name = super::world::marker("temporary");
    run(&sandbox, &format!("echo kept > $TMPDIR/{name}")).await;
    assert_eq!(text(&run(&sandbox, &format!("cat $TMPDIR/{name}")).await.stdout), "kept\n");
    assert_eq!(text(&run(&other, &format!("cat $TMPDIR/{name} /tmp/{name}")).await.stdout), "");
    assert!(!std::env::temp_dir().join(name).exists());
}

async fn the_supervisor_is_no_way_out(layer: SandboxLayer) {
    let world = World::new();
    let Some(sandbox) = world.sandbox(layer).await else { return };
    // Either the kernel refuses, or the program ends with its supervisor.
    let seen = run(&sandbox, "kill -9 $PPID || exit 3; sleep 1000").await;
    let expected = if layer == SandboxLayer::Landlock { [3, 3] } else { [137, -1] };
    assert!(expected.contains(&seen.finished.exit_code), "{seen:?}");
}

async fn local_services_cannot_be_called(layer: SandboxLayer) {
    let mut world = World::new();
    world.config.network = true;
    let Some(sandbox) = world.sandbox(layer).await else { return };
    let script = "use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0) or exit 5; exit 0";
    let seen = run(&sandbox, &format!("perl -e '{script}'")).await;
    assert_eq!(seen.finished.exit_code, 5, "{seen:?}");
}

#[tokio::test]
async fn a_required_sandbox_that_is_not_there_is_an_error() {
    let world = World::new();
    let config = SandboxConfig {
        mode: SandboxMode::Require,
        bwrap: Some("/nonexistent/bwrap".into()),
        supervisor: None,
        ..world.config.clone()
    };
    assert_eq!(Sandbox::detect(config).await.unwrap_err(), SandboxUnavailable::NoLayer);
}

#[tokio::test]
async fn the_strongest_layer_that_works_is_taken_and_named() {
    let world = World::new();
    let strongest = Sandbox::detect(world.config.clone()).await.unwrap();
    let without_bwrap = SandboxConfig { bwrap: Some("/nonexistent/bwrap".into()), ..world.config.clone() };
    let next = Sandbox::detect(without_bwrap).await.unwrap();
    assert_ne!(next.layer(), SandboxLayer::Bwrap);
    if world.sandbox(SandboxLayer::Bwrap).await.is_some() {
        assert_eq!(strongest.layer(), SandboxLayer::Bwrap);
    }
}

#[tokio::test]
async fn a_working_directory_outside_is_refused() {
    let world = World::new();
    symlink(world.root(), world.workspace().join("up")).unwrap();
    let Some(sandbox) = world.sandbox(SandboxLayer::None).await else { return };
    for cwd in ["..", "/", "up", "a/../..", "missing", "/tmp"] {
        let request = r1_runtime::sandbox::CommandRequest { cwd: cwd.to_owned(), ..super::world::bash("pwd") };
        let answer = sandbox.capture(request, &tokio_util::sync::CancellationToken::new(), 100).await;
        assert!(answer.is_err(), "{cwd}: {answer:?}");
    }
}
